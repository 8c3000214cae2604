package syncwriter_test

import (
	"bytes"
	"testing"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

// TestSummed: written content is valid. With any changed bit, an added or a missing byte, or no bytes at all, it is
// not.
func TestSummed(t *testing.T) {
	for _, text := range []string{"", "{}\n", "at index 7: damaged\n"} {
		raw := syncwriter.AppendSum([]byte(text))
		if b, whole := syncwriter.CutSum(raw); !whole || string(b) != text {
			t.Errorf("%q: %q, %v", text, b, whole)
		}
		for bit := range len(raw) * 8 {
			b := bytes.Clone(raw)
			b[bit/8] ^= 1 << (bit % 8)
			if _, whole := syncwriter.CutSum(b); whole {
				t.Errorf("%q: bit %d", text, bit)
			}
		}
		for n := range raw {
			if _, whole := syncwriter.CutSum(raw[:n]); whole {
				t.Errorf("%q: %d bytes of it", text, n)
			}
		}
		if _, whole := syncwriter.CutSum(append(raw, '\n')); whole {
			t.Errorf("%q: a line more", text)
		}
	}
}
