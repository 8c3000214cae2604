package shell

import (
	"regexp"
	"strings"
)

// escapes are the control sequences of terminals: CSI, OSC, and the two-byte ones.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\^_]|[()][0-9A-Za-z])")

// clean removes control sequences of terminals, carriage returns, and blanks at the end.
func clean(s string) string {
	if strings.ContainsRune(s, '\x1b') {
		s = escapes.ReplaceAllString(s, "")
	}
	s = strings.ReplaceAll(s, "\r", "")
	return strings.TrimRight(s, " \t\n")
}
