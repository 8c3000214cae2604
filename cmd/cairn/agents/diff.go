package agents

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/cairndb/cairn/local/kit"
)

// contextLines is the number of unchanged lines shown before and after a change.
const contextLines = 2

// show prints a change as a diff.
func (c *change) show(w io.Writer) error {
	switch {
	case c.remove:
		_, err := fmt.Fprintf(w, "remove %s\n", c.path)
		return err
	case !c.exists:
		fmt.Fprintf(w, "create %s\n", c.path)
	default:
		fmt.Fprintf(w, "change %s\n", c.path)
	}
	changes := kit.Diff(lines(c.before), lines(c.after))
	for i, l := range changes {
		if !changes.Near(i, contextLines) {
			continue
		}
		if i > 0 && !changes.Near(i-1, contextLines) {
			fmt.Fprintln(w, "  …")
		}
		sign := ' '
		switch {
		case l.New == 0:
			sign = '-'
		case l.Old == 0:
			sign = '+'
		}
		if _, err := fmt.Fprintf(w, "%c %s\n", sign, strings.TrimRight(l.Text, "\r\n")); err != nil {
			return err
		}
	}
	return nil
}

func lines(b []byte) (all []string) {
	for _, l := range bytes.SplitAfter(b, []byte{'\n'}) {
		if len(l) > 0 {
			all = append(all, string(l))
		}
	}
	return all
}
