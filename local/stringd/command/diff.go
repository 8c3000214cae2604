package command

import (
	"fmt"
	"strings"

	"github.com/cairndb/cairn/local/kit"
)

// Bounds of a diff.
const (
	diffContext  = 3
	maxDiffLines = 50
)

// diff shows how a text has changed, line by line.
func diff(old, new string) string {
	if old == new {
		return "(no changes)"
	}
	changes := kit.Diff(splitLines(old), splitLines(new))
	width := len(fmt.Sprint(max(len(splitLines(old)), len(splitLines(new)))))
	var rows []string
	shown := -1
	for i, c := range changes {
		if !changes.Near(i, diffContext) {
			continue
		}
		if shown >= 0 && i > shown+1 {
			rows = append(rows, "...")
		}
		shown = i
		left, right, mark := fmt.Sprint(c.Old), fmt.Sprint(c.New), "|"
		switch {
		case old == "":
			rows = append(rows, fmt.Sprintf("%*s + %s", width, right, c.Text))
			continue
		case c.Old == 0:
			left, mark = "", "+"
		case c.New == 0:
			right, mark = "", "-"
		}
		rows = append(rows, fmt.Sprintf("%*s %*s %s %s", width, left, width, right, mark, c.Text))
	}
	if k := len(rows) - maxDiffLines; k > 0 {
		rows = append(rows[:maxDiffLines], fmt.Sprintf("... (%d more lines changed, truncated at %d lines)", k, maxDiffLines))
	}
	return strings.Join(rows, "\n")
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
