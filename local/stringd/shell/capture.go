package shell

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// outputBuffer keeps the first MaxOutput bytes of a stream, and its end, which contains the marker.
type outputBuffer struct {
	head  []byte
	tail  []byte
	total int
}

const tailSize = 8 << 10

func (c *outputBuffer) write(b []byte) {
	c.total += len(b)
	if room := MaxOutput - len(c.head); room > 0 {
		c.head = append(c.head, b[:min(room, len(b))]...)
	}
	c.tail = append(c.tail, b...)
	if len(c.tail) > 8*tailSize {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-tailSize:]...)
	}
}

// splitAt splits the stream at a marker.
func (c *outputBuffer) splitAt(marker string) (text, rest string, ok bool) {
	i := bytes.LastIndex(c.tail, []byte(marker))
	if i < 0 {
		return "", "", false
	}
	return clean(c.first(c.total - (len(c.tail) - i))), string(c.tail[i+len(marker):]), true
}

func (c *outputBuffer) all() string { return c.first(c.total) }

func (c *outputBuffer) first(n int) string {
	if n <= len(c.head) {
		return string(c.head[:n])
	}
	return string(c.head) + truncated(n-len(c.head))
}

func truncated(n int) string { return fmt.Sprintf("\n... (truncated, %d bytes omitted)", n) }

// escapes matches the control sequences of terminals: CSI, OSC, and two-byte ones.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\^_]|[()][0-9A-Za-z])")

// clean removes control sequences, carriage returns, and trailing white space.
func clean(s string) string {
	if strings.ContainsRune(s, '\x1b') {
		s = escapes.ReplaceAllString(s, "")
	}
	s = strings.ReplaceAll(s, "\r", "")
	return strings.TrimRight(s, " \t\n")
}
