package oplog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// RecordVersion is the version byte of every Raft log record. A node rejects other versions.
const RecordVersion = 1

const (
	flagZstd     = 1
	compressFrom = 4096
	// MaxRecord bounds a decoded record, so that a hostile or damaged log cannot exhaust memory.
	MaxRecord = 64 << 20
	// MaxEntry bounds one entry's body, so that it fits a peer frame with room to spare.
	MaxEntry = 15 << 20
	// MaxOps bounds an entry's operations.
	MaxOps = 100_000
	// MaxEntries bounds the entries of a decoded record. A leader joins far fewer.
	MaxEntries = 100_000

	headLen = 2 + 16
)

// ErrRecord says that a log record cannot be read. The node stops rather than skip state.
var ErrRecord = &Error{Kind: Corrupt, Text: "unreadable log record"}

// An Entry is a list of operations that are applied together or rejected together.
type Entry struct {
	Node   uint32 `msgpack:"n,omitempty"` // the node whose client made the request
	DB     DB     `msgpack:"d,omitempty"` // the database the operations are about; 0 for the control plane
	Key    string `msgpack:"k,omitempty"` // idempotency key, scoped by database; empty for none
	Digest []byte `msgpack:"g,omitempty"` // of the request, so that another request with the same key is rejected
	KeyTTL Time   `msgpack:"t,omitempty"` // how long the key is remembered, in log time; 0 means DefaultKeyTTL
	Ops    []Op   `msgpack:"-"`           // encoded after the other fields, each after its kind
}

// DefaultKeyTTL applies to an idempotency key whose entry sets no KeyTTL: the key is remembered for at least seven
// days of log time, and keyRecords records.
const DefaultKeyTTL Time = 7 * 24 * 3600 * 1e6

// entryHead is the first value of an entry's body; the operations follow it.
type entryHead struct {
	Entry
	Count int `msgpack:"o"` // of operations
}

// Encode returns the entry's body, which a follower sends to the leader and the log stores.
func (e Entry) Encode() ([]byte, error) {
	if len(e.Ops) > MaxOps {
		return nil, Errorf(TooLarge, "entry of %d operations is over the limit of %d", len(e.Ops), MaxOps)
	}
	b := Pack(make([]byte, 0, e.estimateSize()), &entryHead{e, len(e.Ops)})
	for _, op := range e.Ops {
		b = Pack(packUint(b, uint64(op.Kind())), op)
	}
	if len(b) > MaxEntry {
		return nil, Errorf(TooLarge, "entry of %d bytes is over the limit of %d", len(b), MaxEntry)
	}
	return b, nil
}

// estimateSize estimates the length of a typical entry's body.
func (e *Entry) estimateSize() int {
	n := 128
	for _, op := range e.Ops {
		n += 64
		if m, ok := op.(*Remember); ok {
			n += 192 + len(m.Text) + len(m.Metadata) + len(m.Attributes) + len(m.Vector)
		}
	}
	return n
}

// DecodeEntry decodes a body. An operation that this version does not know is ErrRecord.
func DecodeEntry(body []byte) (e Entry, err error) {
	u := &unpacker{b: body, size: len(body)}
	var h entryHead
	if u.value(&h); u.err != nil {
		return e, fmt.Errorf("%w: head: %w", ErrRecord, u.err)
	}
	if h.Count < 0 || h.Count > MaxOps || h.Count > len(body)/2 { // a kind and a value each
		return e, fmt.Errorf("%w: %d operations in %d bytes", ErrRecord, h.Count, len(body))
	}
	e = h.Entry
	e.Ops = make([]Op, h.Count)
	for i := range e.Ops {
		k := OpKind(unpackInteger[uint8](u))
		if u.err != nil {
			return e, fmt.Errorf("%w: operation %d: %w", ErrRecord, i, u.err)
		}
		op := k.New()
		if op == nil {
			return e, fmt.Errorf("%w: operation kind %d is from a newer version", ErrRecord, k)
		}
		if u.value(op); u.err != nil {
			return e, fmt.Errorf("%w: %s: %w", ErrRecord, k, u.err)
		}
		e.Ops[i] = op
	}
	if len(u.b) != 0 {
		return e, fmt.Errorf("%w: %d bytes behind the operations", ErrRecord, len(u.b))
	}
	return e, nil
}

// ClusterOf returns the cluster id in a log record's Init; blank for a record without an Init.
func ClusterOf(rec []byte) string {
	_, bodies, err := DecodeRecord(rec)
	if err != nil {
		return "" // Apply returns the error
	}
	for _, body := range bodies {
		e, err := DecodeEntry(body)
		for _, op := range e.Ops {
			if init, ok := op.(*Init); ok && err == nil {
				return init.Cluster
			}
		}
	}
	return ""
}

var zstdEnc = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic("oplog: zstd writer: " + err.Error())
	}
	return e
})

var zstdDec = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxRecord), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic("oplog: zstd reader: " + err.Error())
	}
	return d
})

// EncodeRecord joins entry bodies into one log record stamped with h.
func EncodeRecord(h HLC, bodies ...[]byte) []byte {
	n := binary.MaxVarintLen64
	for _, b := range bodies {
		n += binary.MaxVarintLen64 + len(b)
	}
	rec := make([]byte, headLen, headLen+n)
	rec[0] = RecordVersion
	copy(rec[2:], h[:])
	rec = binary.AppendUvarint(rec, uint64(len(bodies)))
	for _, b := range bodies {
		rec = binary.AppendUvarint(rec, uint64(len(b)))
		rec = append(rec, b...)
	}
	if len(rec) < compressFrom {
		return rec
	}
	packed := zstdEnc().EncodeAll(rec[headLen:], append(make([]byte, 0, len(rec)/2), rec[:headLen]...))
	if len(packed) >= len(rec) {
		return rec
	}
	packed[1] |= flagZstd
	return packed
}

// DecodeRecord splits a log record. The bodies may share rec's memory.
func DecodeRecord(rec []byte) (h HLC, bodies [][]byte, err error) {
	if len(rec) < headLen+1 || rec[0] != RecordVersion || rec[1]&^flagZstd != 0 {
		return h, nil, fmt.Errorf("%w: %s", ErrRecord, describeHead(rec))
	}
	copy(h[:], rec[2:])
	rest := rec[headLen:]
	if rec[1]&flagZstd != 0 {
		if rest, err = zstdDec().DecodeAll(rest, nil); err != nil {
			return h, nil, fmt.Errorf("%w: %w", ErrRecord, err)
		}
	}
	count, rest, err := readUvarint(rest)
	if err != nil || count > min(uint64(len(rest)), MaxEntries) {
		return h, nil, fmt.Errorf("%w: entry count", ErrRecord)
	}
	bodies = make([][]byte, count)
	for i := range bodies {
		var n uint64
		if n, rest, err = readUvarint(rest); err != nil || n > uint64(len(rest)) {
			return h, nil, fmt.Errorf("%w: length of entry %d", ErrRecord, i)
		}
		bodies[i], rest = rest[:n:n], rest[n:]
	}
	if len(rest) != 0 {
		return h, nil, fmt.Errorf("%w: %d bytes too many", ErrRecord, len(rest))
	}
	return h, bodies, nil
}

// RecordTime returns the time in a record's head.
func RecordTime(rec []byte) (h HLC, ok bool) {
	if len(rec) >= headLen {
		copy(h[:], rec[2:])
	}
	return h, len(rec) >= headLen
}

// RecordSize returns the decompressed size of a log record, as its head says, so that a caller knows how much memory
// a batch will need before it decodes the batch. A head that does not say it may stand for MaxRecord.
func RecordSize(rec []byte) int {
	if len(rec) <= headLen || rec[1]&flagZstd == 0 {
		return len(rec)
	}
	var h zstd.Header
	switch err := h.Decode(rec[headLen:]); {
	case err != nil || h.FrameContentSize > MaxRecord:
		return len(rec) // decoding it will fail too
	case !h.HasFCS: // EncodeRecord writes none such
		return MaxRecord
	}
	return max(len(rec), headLen+int(h.FrameContentSize))
}

func describeHead(rec []byte) string {
	if len(rec) < headLen+1 {
		return fmt.Sprintf("%d bytes", len(rec))
	}
	return fmt.Sprintf("version %d, flags %#x (this version reads %d)", rec[0], rec[1], RecordVersion)
}

var errShort = errors.New("short")

func readUvarint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errShort
	}
	return v, b[n:], nil
}

// ForwardKey begins the idempotency keys that nodes, not clients, make for entries that they forward.
const ForwardKey = "forward/"

// A Digest is the SHA-256 of a record's bytes. It identifies a record to skip: in a log that was restarted, the same
// index has another record.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a record.
func DigestOf(data []byte) Digest { return sha256.Sum256(data) }

func (d Digest) String() string { return hex.EncodeToString(d[:]) }
