package oplog

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// A range of the log is
//
//	"CAIRNLOG" | version 1 | zstd( head, records, end, SHA-256 of all before it )
//
// head is since u64, index u64, term u64, hash 32 bytes: the records after since lead from the state there to the one at
// index, whose hash it is. A record is index u64 (never 0), HLC 16 bytes, length u32, data; end is a u64 of 0.
const (
	rangeMagic   = "CAIRNLOG"
	rangeVersion = 1
	rangeHead    = 8 + 8 + 8 + 32
)

// ErrTrimmed says that the log does not reach back as far as was asked: a snapshot is needed instead.
var ErrTrimmed = &Error{Kind: Conflict, Text: "the log no longer reaches back that far"}

// A Point is a state's place in the log, and what it hashes to there.
type Point struct {
	Index, Term Index
	Sum         Sum
}

// Point is the state's.
func (s *State) Point() Point {
	m := s.mark()
	return Point{Index: m.index, Term: m.term, Sum: m.sum}
}

// Point is the view's.
func (v *View) Point() Point { return Point{Index: v.mark.index, Term: v.mark.term, Sum: v.mark.sum} }

// Point is where the snapshot was taken.
func (s *Snapshot) Point() Point {
	return Point{Index: s.mark.index, Term: s.mark.term, Sum: s.mark.sum}
}

// WriteRange streams the records after since, up to the view.
func (v *View) WriteRange(w io.Writer, since Index) error {
	if first, _, _, ok := v.Retained(); since > v.mark.index {
		return Errorf(Invalid, "the log ends at %d, before %d", v.mark.index, since)
	} else if _, trimmed := v.Trimmed(); trimmed && (!ok || since+1 < first) {
		return ErrTrimmed
	}
	if _, err := io.WriteString(w, rangeMagic+string(rune(rangeVersion))); err != nil {
		return err
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("log range: %w", err)
	}
	h := sha256.New()
	err = v.writeRecords(io.MultiWriter(z, h), since)
	if err == nil {
		_, err = z.Write(h.Sum(nil))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		return fmt.Errorf("log range: %w", err)
	}
	return nil
}

func (v *View) writeRecords(w io.Writer, since Index) error {
	head := make([]byte, 0, rangeHead)
	for _, n := range []Index{since, v.mark.index, v.mark.term} {
		head = binary.BigEndian.AppendUint64(head, uint64(n))
	}
	if _, err := w.Write(append(head, v.mark.sum.bytes()...)); err != nil {
		return err
	}
	var err error
	v.records(since+1, func(at Index, r *retained) bool {
		b := append(binary.BigEndian.AppendUint64(make([]byte, 0, 28), uint64(at)), r.HLC[:]...)
		b = binary.BigEndian.AppendUint32(b, uint32(len(r.Data)))
		if _, err = w.Write(b); err == nil {
			_, err = w.Write(r.Data)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	_, err = w.Write(be64(0))
	return err
}

// ErrRange says that a log range does not hold what it should.
var ErrRange = &Error{Kind: Corrupt, Text: "unreadable log range"}

// A Range is a stream of WriteRange being read.
type Range struct {
	Since Index // the records begin after it
	End   Point // the state they lead to
	z     *zstd.Decoder
	h     hash.Hash
	in    io.Reader // all that is hashed
	done  bool
}

// ReadRange reads the head. Close it.
func ReadRange(r io.Reader) (*Range, error) {
	head := make([]byte, len(rangeMagic)+1)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRange, err)
	}
	if string(head[:len(rangeMagic)]) != rangeMagic || head[len(rangeMagic)] != rangeVersion {
		return nil, fmt.Errorf("%w: not a log range this version reads", ErrRange)
	}
	z, err := zstd.NewReader(bufio.NewReader(r), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRange, err)
	}
	rg := &Range{z: z, h: sha256.New()}
	rg.in = io.TeeReader(z, rg.h)
	b := make([]byte, rangeHead)
	if _, err := io.ReadFull(rg.in, b); err != nil {
		z.Close()
		return nil, fmt.Errorf("%w: %w", ErrRange, err)
	}
	rg.Since = Index(beUint64(b))
	rg.End = Point{Index: Index(beUint64(b[8:])), Term: Index(beUint64(b[16:])), Sum: sumFrom(b[24:])}
	return rg, nil
}

// Next is the next record with its time, or io.EOF when the last was read and the checksum is right.
func (r *Range) Next() (rec Record, at Time, err error) {
	if r.done {
		return rec, 0, io.EOF
	}
	var b [8 + 16 + 4]byte
	if _, err := io.ReadFull(r.in, b[:8]); err != nil {
		return rec, 0, fmt.Errorf("%w: %w", ErrRange, err)
	}
	if rec.Index = Index(beUint64(b[:8])); rec.Index == 0 {
		r.done = true
		if err := checkTrailer(r.z, r.h); err != nil {
			return rec, 0, fmt.Errorf("%w: %w", ErrRange, err)
		}
		return rec, 0, io.EOF
	}
	if _, err := io.ReadFull(r.in, b[8:]); err != nil {
		return rec, 0, fmt.Errorf("%w: %w", ErrRange, err)
	}
	n := binary.BigEndian.Uint32(b[24:])
	if n > MaxRecord {
		return rec, 0, fmt.Errorf("%w: record of %d bytes", ErrRange, n)
	}
	rec.Term, rec.Data = r.End.Term, make([]byte, n)
	if _, err := io.ReadFull(r.in, rec.Data); err != nil {
		return rec, 0, fmt.Errorf("%w: %w", ErrRange, err)
	}
	return rec, HLC(b[8:24]).Time(), nil
}

// Close lets go of the stream's decoder.
func (r *Range) Close() { r.z.Close() }
