package command

import (
	"fmt"
	"strings"
)

// Bounds of a diff.
const (
	diffContext = 3
	diffLines   = 50
	diffCells   = 4 << 20 // of the table of common lines; more is shown as replaced whole
)

// change is one line of a diff; a zero number means that the line is not on that side.
type change struct {
	old, new int
	text     string
}

// diff shows how a text has changed, line by line.
func diff(old, new string) string {
	if old == new {
		return "(no changes)"
	}
	changes := compare(splitLines(old), splitLines(new))
	width := len(fmt.Sprint(max(len(splitLines(old)), len(splitLines(new)))))
	var rows []string
	shown := -1
	for i, c := range changes {
		if !near(changes, i) {
			continue
		}
		if shown >= 0 && i > shown+1 {
			rows = append(rows, "...")
		}
		shown = i
		left, right, mark := fmt.Sprint(c.old), fmt.Sprint(c.new), "|"
		switch {
		case old == "":
			rows = append(rows, fmt.Sprintf("%*s + %s", width, right, c.text))
			continue
		case c.old == 0:
			left, mark = "", "+"
		case c.new == 0:
			right, mark = "", "-"
		}
		rows = append(rows, fmt.Sprintf("%*s %*s %s %s", width, left, width, right, mark, c.text))
	}
	if k := len(rows) - diffLines; k > 0 {
		rows = append(rows[:diffLines], fmt.Sprintf("... (%d more lines changed, truncated at %d lines)", k, diffLines))
	}
	return strings.Join(rows, "\n")
}

// near says whether a line changed, or is context of one that did.
func near(c []change, i int) bool {
	for k := max(0, i-diffContext); k <= min(len(c)-1, i+diffContext); k++ {
		if c[k].old == 0 || c[k].new == 0 {
			return true
		}
	}
	return false
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// compare walks both texts: common lines at the beginning and the end, and between them the longest common subsequence.
func compare(a, b []string) (out []change) {
	pre, post := 0, 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		out = append(out, change{pre + 1, pre + 1, a[pre]})
		pre++
	}
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	x, y := a[pre:len(a)-post], b[pre:len(b)-post]
	left := common(x, y)
	var deleted, added []change // since the last common line: deleted ones stand before added ones
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case left != nil && i < len(x) && j < len(y) && x[i] == y[j]:
			out = append(append(append(out, deleted...), added...), change{pre + i + 1, pre + j + 1, x[i]})
			deleted, added, i, j = nil, nil, i+1, j+1
		case j == len(y) || i < len(x) && (left == nil || left[i+1][j] >= left[i][j+1]):
			deleted = append(deleted, change{pre + i + 1, 0, x[i]})
			i++
		default:
			added = append(added, change{0, pre + j + 1, y[j]})
			j++
		}
	}
	out = append(append(out, deleted...), added...)
	for k := range post {
		o, n := len(a)-post+k, len(b)-post+k
		out = append(out, change{o + 1, n + 1, a[o]})
	}
	return out
}

// common returns a table: the number of lines that x from i and y from j share, in order; nil if it would be too large.
func common(x, y []string) (left [][]int32) {
	if len(x)*len(y) > diffCells {
		return nil
	}
	left = make([][]int32, len(x)+1)
	left[len(x)] = make([]int32, len(y)+1)
	for i := len(x) - 1; i >= 0; i-- {
		left[i] = make([]int32, len(y)+1)
		for j := len(y) - 1; j >= 0; j-- {
			if left[i][j] = max(left[i+1][j], left[i][j+1]); x[i] == y[j] {
				left[i][j] = left[i+1][j+1] + 1
			}
		}
	}
	return left
}
