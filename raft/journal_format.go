package raft

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	hraft "github.com/hashicorp/raft"
)

// The journal's bytes, all numbers big-endian:
//
//	header   "cairnj01" | generation u64 | the file's size u64 | began u64 | CRC-32C of these u32, then nothing up to 4096
//	frames   CRC-32C of all that follows u32 | length of the records u32 | generation u64 | records
//	record   index u64 | term u64 | kind u8 | appended at, ns, u64 | length u32 | data | length u32 | extensions
//
// began is the last record for the state that the log's file had when this generation began: should that file be lost, what it
// had is known.
//
// A frame is on the disk before the next is begun, so only the last can be torn; it was never acknowledged. One that a
// single bit keeps from being whole was not torn.
const (
	journalMagic = "cairnj01"
	journalHead  = 4096
	frameHead    = 4 + 4 + 8
	recordHead   = 8 + 8 + 1 + 8 + 4 + 4
	maxJournal   = 1 << 30 // what is read of one
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func journalHeader(gen uint64, size int64, began uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte(journalMagic), gen)
	b = binary.BigEndian.AppendUint64(b, uint64(size))
	b = binary.BigEndian.AppendUint64(b, began)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func frameSize(logs []*hraft.Log) int {
	n := frameHead
	for _, l := range logs {
		n += recordHead + len(l.Data) + len(l.Extensions)
	}
	return n
}

func appendFrame(b []byte, gen uint64, logs []*hraft.Log) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(frameSize(logs)-frameHead))
	b = binary.BigEndian.AppendUint64(b, gen)
	for _, l := range logs {
		b = binary.BigEndian.AppendUint64(b, l.Index)
		b = binary.BigEndian.AppendUint64(b, l.Term)
		b = append(b, byte(l.Type))
		b = binary.BigEndian.AppendUint64(b, uint64(nanos(l.AppendedAt)))
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(l.Data))), l.Data...)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(l.Extensions))), l.Extensions...)
	}
	binary.BigEndian.PutUint32(b[at:], crc32.Checksum(b[at+4:], castagnoli))
	return b
}

func readHeader(raw []byte) (gen, began, size uint64, err error) {
	head := len(journalMagic) + 8 + 8 + 8
	if len(raw) < journalHead || string(raw[:len(journalMagic)]) != journalMagic ||
		binary.BigEndian.Uint32(raw[head:]) != crc32.Checksum(raw[:head], castagnoli) {
		return 0, 0, 0, fmt.Errorf("%w: no header", errJournal)
	}
	numbers := raw[len(journalMagic):]
	return binary.BigEndian.Uint64(numbers), binary.BigEndian.Uint64(numbers[16:]), binary.BigEndian.Uint64(numbers[8:]), nil
}

// readJournal returns the generation and the records of a journal. A torn frame at the end is no record; one that frames
// of its generation follow was whole once.
func readJournal(raw []byte) (gen uint64, logs []*hraft.Log, err error) {
	gen, _, size, err := readHeader(raw)
	if err != nil {
		return 0, nil, err
	}
	if size != uint64(len(raw)) {
		return 0, nil, fmt.Errorf("%w: %d bytes of %d", errJournal, len(raw), size)
	}
	rest := raw[journalHead:]
	for {
		records, ok := frameOf(rest, gen)
		if !ok {
			break
		}
		if logs, ok = readRecords(records, logs); !ok {
			return 0, nil, fmt.Errorf("%w: records after %d", errJournal, len(logs))
		}
		rest = rest[frameHead+len(records):]
	}
	if aBitOff(rest, gen, len(raw)-len(rest), sliver) != nil {
		return 0, nil, fmt.Errorf("%w: a bit of the frame after %d records", errJournal, len(logs))
	}
	if frameWithin(rest, gen) {
		return 0, nil, fmt.Errorf("%w: what follows on %d records", errJournal, len(logs))
	}
	return gen, logs, nil
}

// frameWithin says whether a whole frame of a generation begins anywhere in bytes.
func frameWithin(b []byte, gen uint64) bool {
	mark := binary.BigEndian.AppendUint64(nil, gen)
	for len(b) > frameHead {
		i := bytes.Index(b[frameHead-len(mark):], mark)
		if i < 0 {
			return false
		}
		if _, ok := frameOf(b[i:], gen); ok {
			return true
		}
		b = b[i+1:]
	}
	return false
}

// A disk writes sectors. Where so little of a frame is in one, an old sector may differ from the new one by a bit.
const (
	sector = 512
	sliver = 64
)

// aBitOff returns the frame that bytes, which begin at a place in the file, begin with but for one changed bit, as it was
// written; nil when they do not, or when the sector of that bit has fewer than so many bytes of the frame.
func aBitOff(b []byte, gen uint64, place, least int) []byte {
	if len(b) < frameHead {
		return nil
	}
	n := binary.BigEndian.Uint32(b[4:])
	whole := func(length uint32, at, bit int) []byte {
		if length == 0 || uint64(length) > uint64(len(b)-frameHead) {
			return nil
		}
		begin := (place + at) &^ (sector - 1)
		if end := frameHead + int(length); min(begin+sector, place+end)-max(begin, place) < least {
			return nil
		}
		frame := bytes.Clone(b[:frameHead+int(length)])
		frame[at] ^= 1 << bit
		if _, ok := frameOf(frame, gen); !ok {
			return nil
		}
		return frame
	}
	for i := range 32 { // of the length, or of the sum
		if frame := whole(n^1<<i, 4+3-i/8, i%8); frame != nil {
			return frame
		}
		if frame := whole(n, 3-i/8, i%8); frame != nil {
			return frame
		}
	}
	if n == 0 || uint64(n) > uint64(len(b)-frameHead) {
		return nil
	}
	summed := b[4 : frameHead+int(n)]
	at, bit := bitThatChanges(len(summed), binary.BigEndian.Uint32(b)^crc32.Checksum(summed, castagnoli))
	if at < 0 {
		return nil
	}
	return whole(n, 4+at, bit)
}

// bitThatChanges finds the bit of so many bytes that changes their CRC by a difference; -1 when there is none. A CRC is
// linear: what a bit does to it depends on how many bytes follow alone.
func bitThatChanges(size int, difference uint32) (at, bit int) {
	var does [8]uint32
	for bit := range does {
		does[bit] = castagnoli[1<<bit]
	}
	for at := size - 1; at >= 0; at-- {
		for bit, d := range does {
			if d == difference {
				return at, bit
			}
			does[bit] = castagnoli[byte(d)] ^ d>>8
		}
	}
	return -1, 0
}

// frameOf returns the records of the frame that bytes begin with.
func frameOf(b []byte, gen uint64) ([]byte, bool) {
	if len(b) < frameHead || binary.BigEndian.Uint64(b[8:]) != gen {
		return nil, false
	}
	n := binary.BigEndian.Uint32(b[4:])
	if n == 0 || uint64(n) > uint64(len(b)-frameHead) {
		return nil, false
	}
	whole := b[:frameHead+int(n)]
	return whole[frameHead:], binary.BigEndian.Uint32(b) == crc32.Checksum(whole[4:], castagnoli)
}

// readRecords appends what a frame holds; the data stays the frame's.
func readRecords(b []byte, logs []*hraft.Log) ([]*hraft.Log, bool) {
	for len(b) > 0 {
		if len(b) < recordHead {
			return logs, false
		}
		l := &hraft.Log{Index: binary.BigEndian.Uint64(b), Term: binary.BigEndian.Uint64(b[8:]), Type: hraft.LogType(b[16]),
			AppendedAt: moment(int64(binary.BigEndian.Uint64(b[17:])))}
		var ok bool
		if l.Data, b, ok = cutBytes(b[25:]); ok {
			l.Extensions, b, ok = cutBytes(b)
		}
		if !ok || len(logs) > 0 && l.Index != logs[len(logs)-1].Index+1 {
			return logs, false
		}
		logs = append(logs, l)
	}
	return logs, true
}

func cutBytes(b []byte) (field, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if b = b[4:]; uint64(n) > uint64(len(b)) {
		return nil, nil, false
	}
	if n > 0 {
		field = b[:n:n]
	}
	return field, b[n:], true
}
