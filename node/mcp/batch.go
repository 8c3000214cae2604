package mcp

import "bytes"

// maxBatch bounds the messages of a batch, because a decoded message of a byte or two takes a hundred times that.
const maxBatch = 1000

// overMaxBatch reports whether a text is an array of more than maxBatch values. It only scans bytes, and stops as
// soon as it knows: the library's decoder accepts texts that encoding/json rejects.
func overMaxBatch(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || b[0] != '[' {
		return false
	}
	depth, values, quoted := 0, 1, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			depth++
		case c == ']', c == '}':
			depth--
		case c == ',' && depth == 1:
			if values++; values > maxBatch {
				return true
			}
		}
	}
	return false
}
