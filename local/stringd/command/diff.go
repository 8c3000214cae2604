package command

import (
	"fmt"
	"strings"
)

// What a diff shows.
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

// diff shows what became of a text, line by line.
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
		mark := " | "
		switch {
		case c.old == 0:
			mark = " + "
		case c.new == 0:
			mark = " - "
		}
		if old == "" {
			rows = append(rows, fmt.Sprintf("%*d + %s", width, c.new, c.text))
			continue
		}
		rows = append(rows, fmt.Sprintf("%*s %*s%s%s", width, num(c.old), width, num(c.new), mark, c.text))
	}
	if k := len(rows) - diffLines; k > 0 {
		rows = append(rows[:diffLines], fmt.Sprintf("... (%d more lines changed, truncated at %d lines)", k, diffLines))
	}
	return strings.Join(rows, "\n")
}

func num(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
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

// compare walks both texts: what they begin and end with, and between them the longest common lines.
func compare(a, b []string) (out []change) {
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		out = append(out, change{pre + 1, pre + 1, a[pre]})
		pre++
	}
	post := 0
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	x, y := a[pre:len(a)-post], b[pre:len(b)-post]
	i, j := 0, 0
	for _, p := range common(x, y) {
		for ; i < p[0]; i++ {
			out = append(out, change{pre + i + 1, 0, x[i]})
		}
		for ; j < p[1]; j++ {
			out = append(out, change{0, pre + j + 1, y[j]})
		}
		if i < len(x) && j < len(y) {
			out = append(out, change{pre + i + 1, pre + j + 1, x[i]})
			i, j = i+1, j+1
		}
	}
	for k := range post {
		o, n := len(a)-post+k, len(b)-post+k
		out = append(out, change{o + 1, n + 1, a[o]})
	}
	return out
}

// common gives the places of the longest common subsequence, and the ends of both after them.
func common(x, y []string) (pairs [][2]int) {
	end := [2]int{len(x), len(y)}
	if len(x) == 0 || len(y) == 0 || len(x)*len(y) > diffCells {
		return [][2]int{end}
	}
	w := len(y) + 1
	t := make([]int32, (len(x)+1)*w)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				t[i*w+j] = t[(i+1)*w+j+1] + 1
			} else {
				t[i*w+j] = max(t[(i+1)*w+j], t[i*w+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case t[(i+1)*w+j] >= t[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return append(pairs, end)
}
