package snapshot

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cairndb/cairn/oplog"
)

const (
	rangeMagic   = "CAIRNLOG"
	rangeVersion = 2
	headLen      = 8 + 8 + 8 + 32
)

// ErrRange reports a corrupt log range.
var ErrRange = &oplog.Error{Kind: oplog.Corrupt, Text: "unreadable log range"}

// A Head describes the beginning of a range and the state after it.
type Head struct {
	Since       oplog.Index // the records begin after it
	Index, Term oplog.Index // of the state after the records
	Hash        [32]byte    // its Sum
}

// WriteRange writes a range: the records that a function passes in order, and then rows. The rows replace those that
// the records alone cannot produce, because entries were erased.
func WriteRange(w io.Writer, h Head, records func(record func(at oplog.Index, hlc oplog.HLC, data []byte) error) error, rows Rows) error {
	if _, err := io.WriteString(w, rangeMagic+string(rune(rangeVersion))); err != nil {
		return err
	}
	err := writeHashed(w, func(body io.Writer) error {
		head := make([]byte, 0, headLen)
		for _, n := range []oplog.Index{h.Since, h.Index, h.Term} {
			head = binary.BigEndian.AppendUint64(head, uint64(n))
		}
		if _, err := body.Write(append(head, h.Hash[:]...)); err != nil {
			return err
		}
		err := records(func(at oplog.Index, hlc oplog.HLC, data []byte) error {
			b := append(binary.BigEndian.AppendUint64(make([]byte, 0, 28), uint64(at)), hlc[:]...)
			if _, err := body.Write(binary.BigEndian.AppendUint32(b, uint32(len(data)))); err != nil {
				return err
			}
			_, err := body.Write(data)
			return err
		})
		if err == nil {
			_, err = body.Write(make([]byte, 8))
		}
		if err != nil {
			return err
		}
		return writeRows(body, rows)
	})
	if err != nil {
		return fmt.Errorf("log range: %w", err)
	}
	return nil
}

// A Range reads a stream of WriteRange.
type Range struct {
	Head
	in *hashedReader
}

// ReadRange reads the head of a range. The caller must close the Range.
func ReadRange(r io.Reader) (*Range, error) {
	in, err := open(r, rangeMagic, "log range")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRange, err)
	}
	rg, b := &Range{in: in}, make([]byte, headLen)
	if in.version != rangeVersion {
		err = fmt.Errorf("it has format %d, and this version reads %d", in.version, rangeVersion)
	} else {
		_, err = io.ReadFull(in, b)
	}
	if err != nil {
		rg.Close()
		return nil, fmt.Errorf("%w: %w", ErrRange, err)
	}
	at := func(i int) oplog.Index { return oplog.Index(binary.BigEndian.Uint64(b[i:])) }
	rg.Since, rg.Index, rg.Term = at(0), at(8), at(16)
	copy(rg.Hash[:], b[24:])
	return rg, nil
}

// Next returns the next record and its time, or io.EOF after the last. After io.EOF the caller reads the rows with
// Row.
func (r *Range) Next() (rec oplog.Record, at oplog.Time, err error) {
	var b [8 + 16 + 4]byte
	if _, err := io.ReadFull(r.in, b[:8]); err != nil {
		return rec, 0, fmt.Errorf("%w: %w", ErrRange, err)
	}
	if rec.Index = oplog.Index(binary.BigEndian.Uint64(b[:8])); rec.Index == 0 {
		return rec, 0, io.EOF
	}
	if _, err := io.ReadFull(r.in, b[8:]); err != nil {
		return rec, 0, fmt.Errorf("%w: %w", ErrRange, err)
	}
	n := binary.BigEndian.Uint32(b[24:])
	if n > oplog.MaxRecord {
		return rec, 0, fmt.Errorf("%w: record of %d bytes", ErrRange, n)
	}
	rec.Term, rec.Data = r.Term, make([]byte, n)
	if _, err := io.ReadFull(r.in, rec.Data); err != nil {
		return rec, 0, fmt.Errorf("%w: %w", ErrRange, err)
	}
	return rec, oplog.HLC(b[8:24]).Time(), nil
}

// Row returns the next row after the records, valid until the next call. It returns io.EOF after the last row, if the
// checksum is correct.
func (r *Range) Row() (k, v []byte, err error) {
	if k, v, err = r.in.row(); err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", ErrRange, err)
	}
	return k, v, err
}

// Close releases the stream's decoder.
func (r *Range) Close() { r.in.z.Close() }
