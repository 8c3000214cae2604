package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IsTerminal says whether a person reads what is written there.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// OrDash is a text, or what stands in a table where there is none.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
