package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/seal"
)

// Constants of the format; see doc.go.
const (
	segmentMagic = "cairnlg1"
	headerSize   = 64
	headSize     = 4 + 8 + 8 + 1 + 8 + 4
	sumSize      = crc32.Size
	markSize     = headSize + sumSize
	kindMark     = 0xFF

	kindOffset = 4 + 8 + 8 // offset of the kind within a head
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged reports that a log's files differ from the bytes that were written.
var ErrDamaged = errors.New("not what was written")

// head is the beginning of a frame.
type head struct {
	body  uint32 // length in bytes
	index uint64
	term  uint64
	kind  byte
	stamp uint64
	ext   uint32
}

func (h head) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, h.body)
	b = binary.BigEndian.AppendUint64(b, h.index)
	b = binary.BigEndian.AppendUint64(b, h.term)
	b = append(b, h.kind)
	b = binary.BigEndian.AppendUint64(b, h.stamp)
	return binary.BigEndian.AppendUint32(b, h.ext)
}

func readHead(b []byte) head {
	return head{binary.BigEndian.Uint32(b), binary.BigEndian.Uint64(b[4:]), binary.BigEndian.Uint64(b[12:]), b[kindOffset],
		binary.BigEndian.Uint64(b[21:]), binary.BigEndian.Uint32(b[29:])}
}

// codec writes and reads the frames of one segment.
type codec struct {
	keys  *seal.Ring
	salt  uint64
	first uint64
}

// binding returns the bytes that bind a frame's checksum, or its seal, to its position.
func (c codec) binding(offset int64) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 24+headSize), c.salt)
	b = binary.BigEndian.AppendUint64(b, c.first)
	return binary.BigEndian.AppendUint64(b, uint64(offset))
}

// sum returns the CRC of a frame, whose own CRC field is left out.
func (c codec) sum(offset int64, frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(c.binding(offset), castagnoli), castagnoli, frame)
}

// appendRecord appends a record's frame to b, whose first byte lies at base in the file.
func (c codec) appendRecord(b []byte, base int64, l *hraft.Log) []byte {
	at := len(b)
	offset := base + int64(at)
	h := head{index: l.Index, term: l.Term, kind: byte(l.Type), ext: uint32(len(l.Extensions))}
	if !l.AppendedAt.IsZero() {
		h.stamp = uint64(l.AppendedAt.UnixNano())
	}
	size := len(l.Extensions) + len(l.Data)
	if c.keys == nil {
		h.body = uint32(size)
		b = append(append(h.append(b), l.Extensions...), l.Data...)
		return binary.BigEndian.AppendUint32(b, c.sum(offset, b[at:]))
	}
	h.body = uint32(size + seal.Overhead)
	b = h.append(b)
	plain := append(append(make([]byte, 0, size), l.Extensions...), l.Data...)
	return c.keys.Seal(b, plain, append(c.binding(offset), b[at:]...))
}

// appendMark appends a mark.
func (c codec) appendMark(b []byte, offset int64, last, committed uint64, size int64) []byte {
	at := len(b)
	b = head{index: last, term: committed, kind: kindMark, stamp: uint64(size)}.append(b)
	return binary.BigEndian.AppendUint32(b, c.sum(offset, b[at:]))
}

// length returns the length of a frame with this head.
func (c codec) length(h head) int64 {
	n := int64(headSize) + int64(h.body)
	if c.keys == nil || h.kind == kindMark {
		n += sumSize
	}
	return n
}

// frame decodes the frame at the beginning of b, which lies at offset in the file. l is nil for a mark. In a plain
// log the record's data shares the bytes of b.
func (c codec) frame(b []byte, offset int64) (h head, l *hraft.Log, err error) {
	if len(b) < headSize {
		return h, nil, ErrDamaged
	}
	h = readHead(b)
	n := c.length(h)
	if n > int64(len(b)) || h.kind == kindMark && h.body != 0 {
		return h, nil, ErrDamaged
	}
	body := b[headSize:n]
	if c.keys == nil || h.kind == kindMark {
		body = b[headSize : n-sumSize]
		if binary.BigEndian.Uint32(b[n-sumSize:]) != c.sum(offset, b[:n-sumSize]) {
			return h, nil, ErrDamaged
		}
	}
	if h.kind == kindMark {
		return h, nil, nil
	}
	if c.keys != nil {
		if body, err = c.keys.Open(nil, body, append(c.binding(offset), b[:headSize]...)); err != nil {
			return h, nil, fmt.Errorf("%w: %v", ErrDamaged, err) // meta was checked first, so a missing key is not the reason
		}
	}
	if uint64(h.ext) > uint64(len(body)) {
		return h, nil, ErrDamaged
	}
	l = &hraft.Log{Index: h.index, Term: h.term, Type: hraft.LogType(h.kind)}
	if h.stamp != 0 {
		l.AppendedAt = time.Unix(0, int64(h.stamp))
	}
	if h.ext > 0 {
		l.Extensions = body[:h.ext:h.ext]
	}
	if len(body) > int(h.ext) {
		l.Data = body[h.ext:]
	}
	return h, l, nil
}

// markWithin reports whether b contains a mark, and returns the highest record that a mark in b names.
func (c codec) markWithin(b []byte, offset int64) (last uint64, found bool) {
	for i := 0; len(b)-i >= markSize; i++ {
		next := bytes.IndexByte(b[i+kindOffset:len(b)-(markSize-kindOffset)+1], kindMark)
		if next < 0 {
			break
		}
		i += next
		if h, l, err := c.frame(b[i:], offset+int64(i)); err == nil && l == nil {
			last, found = max(last, h.index), true
		}
	}
	return last, found
}

func (c codec) header(size int64) []byte {
	b := binary.BigEndian.AppendUint64([]byte(segmentMagic), c.first)
	b = binary.BigEndian.AppendUint64(b, c.salt)
	b = binary.BigEndian.AppendUint64(b, uint64(size))
	if b = append(b, 0); c.keys != nil {
		b[len(b)-1] = 1
	}
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return append(b, make([]byte, headerSize-len(b))...)
}

// checkHeader verifies a segment's header and returns the file length that it states.
func (c codec) checkHeader(b []byte) (size int64, err error) {
	if len(b) < headerSize {
		return 0, fmt.Errorf("%w: no header", ErrDamaged)
	}
	size = int64(binary.BigEndian.Uint64(b[len(segmentMagic)+16:]))
	if !bytes.Equal(b[:headerSize], c.header(size)) {
		return 0, fmt.Errorf("%w: its header differs", ErrDamaged)
	}
	return size, nil
}
