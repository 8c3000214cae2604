package syncwriter

import (
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumLine is the length of a sum: eight hex digits and a line feed.
const sumLine = 2*crc32.Size + 1

// Summed is the content of a small file and behind it, as the end of the last line or its own line, its CRC-32C. b
// is not used any more.
func Summed(b []byte) []byte { return append(b, sum(b)...) }

// Unsummed returns what Summed was given; whole is false where something of it changed.
func Unsummed(raw []byte) (b []byte, whole bool) {
	at := max(0, len(raw)-sumLine)
	return raw[:at], string(raw[at:]) == sum(raw[:at])
}

func sum(b []byte) string { return fmt.Sprintf("%08x\n", crc32.Checksum(b, castagnoli)) }
