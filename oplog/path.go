package oplog

import (
	"strings"
	"unicode/utf8"
)

// Bounds of a memory's key.
const (
	MaxPath     = 1024 // bytes
	MaxSegments = 20
)

// CheckPath returns an error for a text that cannot be a memory's key: a key is / and 1 to 20 segments with a /
// between them, at most 1,024 bytes. Its Unicode form is checked before the log, because its tables change.
func CheckPath(path string) *Error {
	rest, ok := strings.CutPrefix(path, "/")
	switch {
	case len(path) > MaxPath:
		return Errorf(TooLarge, "key of %d bytes is over %d", len(path), MaxPath)
	case !ok:
		return Errorf(Invalid, "key %.40q does not begin with /", path)
	case !utf8.ValidString(path), strings.ContainsFunc(path, isControl):
		return Errorf(Invalid, "key is not UTF-8, or holds a control character")
	case strings.Count(path, "/") > MaxSegments:
		return Errorf(Invalid, "key of %d segments is over %d", strings.Count(path, "/"), MaxSegments)
	}
	for s := range strings.SplitSeq(rest, "/") {
		if s == "" || s == "." || s == ".." {
			return Errorf(Invalid, "key %.40q has the segment %q", path, s)
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }
