package syncwriter

import (
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumLine is the length of the line that holds a sum: eight hex digits and a line feed.
const sumLine = 2*crc32.Size + 1

// AppendSum returns the content of a small file followed by its CRC-32C in hex, which completes the last line or
// forms its own line. The caller must not use b afterwards.
func AppendSum(b []byte) []byte { return append(b, sum(b)...) }

// CutSum returns the content that AppendSum got; whole is false if a byte of it changed.
func CutSum(raw []byte) (b []byte, whole bool) {
	at := max(0, len(raw)-sumLine)
	return raw[:at], string(raw[at:]) == sum(raw[:at])
}

func sum(b []byte) string { return fmt.Sprintf("%08x\n", crc32.Checksum(b, castagnoli)) }
