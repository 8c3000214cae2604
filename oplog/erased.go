package oplog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A purge erases entries from the records that are kept for readers of the log: in an entry's place stands its
// checksum. So the record is still known for the one that was applied, and the entries beside it, of other databases,
// stay as they are.

// erasedMark begins what stands in an entry's place. No entry does: msgpack never uses this byte.
const erasedMark = 0xC1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Erased says whether an entry was erased from its record.
func Erased(body []byte) bool { return len(body) == 5 && body[0] == erasedMark }

// SumOf is the checksum of a record's entries, the same before and after some were erased.
func SumOf(bodies [][]byte) uint32 {
	sums := make([]byte, 0, 4*len(bodies))
	for _, b := range bodies {
		sums = append(sums, erased(b)[1:]...)
	}
	return crc32.Checksum(sums, castagnoli)
}

func erased(body []byte) []byte {
	if Erased(body) {
		return body
	}
	return binary.BigEndian.AppendUint32([]byte{erasedMark}, crc32.Checksum(body, castagnoli))
}

// EraseEntries erases the entries of some databases from a record. It returns nil where the record has none.
func EraseEntries(rec []byte, of func(DB) bool) ([]byte, error) {
	h, bodies, err := DecodeRecord(rec)
	if err != nil {
		return nil, err
	}
	changed := false
	for i, b := range bodies {
		if Erased(b) {
			continue
		}
		u, head := &unpacker{b: b, size: len(b)}, entryHead{}
		if u.value(&head); u.err != nil {
			return nil, fmt.Errorf("%w: head: %w", ErrRecord, u.err)
		}
		if of(head.DB) {
			bodies[i], changed = erased(b), true
		}
	}
	if !changed {
		return nil, nil
	}
	return EncodeRecord(h, bodies...), nil
}
