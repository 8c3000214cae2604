package agents

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// around counts the lines of a file that are shown before and after a change.
const around = 2

// show prints what a change does to its file, line by line.
func (c *change) show(w io.Writer) error {
	switch {
	case c.gone:
		_, err := fmt.Fprintf(w, "remove %s\n", c.path)
		return err
	case !c.there:
		fmt.Fprintf(w, "create %s\n", c.path)
	default:
		fmt.Fprintf(w, "change %s\n", c.path)
	}
	before, after := lines(c.before), lines(c.after)
	ops := compare(before, after)
	near := make([]bool, len(ops))
	for i, o := range ops {
		if o.sign != ' ' {
			for j := max(0, i-around); j <= min(len(ops)-1, i+around); j++ {
				near[j] = true
			}
		}
	}
	for i, o := range ops {
		if !near[i] {
			continue
		}
		if i > 0 && !near[i-1] {
			fmt.Fprintln(w, "  …")
		}
		if _, err := fmt.Fprintf(w, "%c %s\n", o.sign, strings.TrimRight(o.line, "\r\n")); err != nil {
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

// An op is a line that stays, goes or comes: ' ', '-' or '+'.
type op struct {
	sign byte
	line string
}

// compare finds the lines that two texts have in common. connect changes one run of lines at each place, so a bounded
// look ahead finds where the texts agree again.
func compare(a, b []string) (ops []op) {
	const ahead = 200
	for len(a) > 0 || len(b) > 0 {
		if len(a) > 0 && len(b) > 0 && a[0] == b[0] {
			ops = append(ops, op{' ', a[0]})
			a, b = a[1:], b[1:]
			continue
		}
		skipA, skipB := len(a), len(b)
	search:
		for total := 1; total <= min(2*ahead, len(a)+len(b)); total++ {
			for i := max(0, total-len(b)); i <= min(total, len(a)); i++ {
				if j := total - i; i < len(a) && j < len(b) && a[i] == b[j] {
					skipA, skipB = i, j
					break search
				}
			}
		}
		for _, l := range a[:skipA] {
			ops = append(ops, op{'-', l})
		}
		for _, l := range b[:skipB] {
			ops = append(ops, op{'+', l})
		}
		a, b = a[skipA:], b[skipB:]
	}
	return ops
}
