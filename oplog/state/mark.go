package state

import (
	"encoding/binary"
	"fmt"

	"github.com/cairndb/cairn/oplog"
)

// mark is how far the state has come. It is stored with the effects of the records it counts, so they are applied exactly once.
type mark struct {
	index, term oplog.Index
	last        oplog.HLC
	sum         Sum
	ops         uint64      // operations in the retained log
	first       oplog.Index // no record before it is retained
}

// The keys of tMeta.
var (
	keyMark    = []byte("mark")
	keyFormat  = []byte("format")
	keyTrimmed = []byte("trimmed") // time of the newest entry that has left the log's window
)

const markLen = 8 + 8 + 16 + 32 + 8 + 8

func (m mark) encode() []byte {
	b := make([]byte, 0, markLen)
	b = binary.BigEndian.AppendUint64(b, uint64(m.index))
	b = binary.BigEndian.AppendUint64(b, uint64(m.term))
	b = append(b, m.last[:]...)
	sum := m.sum.Bytes()
	b = append(b, sum[:]...)
	b = binary.BigEndian.AppendUint64(b, m.ops)
	return binary.BigEndian.AppendUint64(b, uint64(m.first))
}

func decodeMark(b []byte) (m mark, err error) {
	switch len(b) {
	case 0:
		return m, nil
	case markLen:
		m.index, m.term = oplog.Index(beUint64(b)), oplog.Index(beUint64(b[8:]))
		copy(m.last[:], b[16:])
		m.sum = sumFrom(b[32:64])
		m.ops, m.first = beUint64(b[64:]), oplog.Index(beUint64(b[72:]))
		return m, nil
	default:
		return m, fmt.Errorf("%w: mark of %d bytes", ErrState, len(b))
	}
}

func (t *txn) putMark(m mark) {
	t.set(tMeta, 0, keyFormat, be64(stateFormat))
	t.set(tMeta, 0, keyMark, m.encode())
}
