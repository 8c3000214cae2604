package snapshot

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/cairndb/cairn/oplog"
)

const (
	rowsMagic = "CAIRNSNP"
	Min       = 3 // supported versions of snapshots
	Max       = 3
)

// ErrUnreadable reports a corrupt or unsupported snapshot.
var ErrUnreadable = &oplog.Error{Kind: oplog.Corrupt, Text: "unreadable snapshot"}

// maxRow bounds a key or a value; the largest one is a log record.
const maxRow = oplog.MaxRecord + 1<<20

// Rows calls row for each row, in the order of their keys, until it returns an error.
type Rows func(row func(k, v []byte) error) error

// Progress is called from time to time with the number of copied bytes and the total. It may be nil.
type Progress func(done, total int64)

// Write writes a snapshot of rows. size is their approximate size in bytes.
func Write(w io.Writer, size int64, rows Rows) error {
	if _, err := w.Write(append([]byte(rowsMagic), Max)); err != nil {
		return err
	}
	return writeHashed(w, func(body io.Writer) error {
		if err := binary.Write(body, binary.BigEndian, uint64(max(size, 1))); err != nil {
			return err
		}
		return writeRows(body, rows)
	})
}

// writeRows writes rows and ends them with an empty key.
func writeRows(body io.Writer, rows Rows) error {
	err := rows(func(k, v []byte) error {
		var n [binary.MaxVarintLen64]byte
		for _, part := range [][]byte{k, v} {
			if _, err := body.Write(binary.AppendUvarint(n[:0], uint64(len(part)))); err != nil {
				return err
			}
			if _, err := body.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		_, err = body.Write([]byte{0})
	}
	return err
}

// writeHashed writes the compressed output of write, followed by its hash.
func writeHashed(w io.Writer, write func(io.Writer) error) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	h := sha256.New()
	body := bufio.NewWriterSize(io.MultiWriter(z, h), 64<<10)
	if err = write(body); err == nil {
		err = body.Flush()
	}
	if err == nil {
		_, err = z.Write(h.Sum(nil))
	}
	return errors.Join(err, z.Close())
}

// Read reads the rows of a snapshot. It returns an error of row unchanged; all other errors are ErrUnreadable.
func Read(r io.Reader, report Progress, row func(k, v []byte) error) error {
	in, err := open(r, rowsMagic, "snapshot")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	defer in.z.Close()
	switch version := in.version; {
	case version < Min:
		return fmt.Errorf("%w: it has format %d, and this version reads %d: restore it with the version that wrote it, and export it there",
			ErrUnreadable, version, Max)
	case version > Max:
		return fmt.Errorf("%w: it has format %d, and this version reads %d: restore it with the version that wrote it, or a later one",
			ErrUnreadable, version, Max)
	}
	var size uint64
	if err := binary.Read(in, binary.BigEndian, &size); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	told := &progress{total: int64(size), report: report}
	for {
		k, v, err := in.row()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		if err := row(k, v); err != nil {
			return err
		}
		told.add(len(k) + len(v))
	}
}

// hashedReader reads the body of a stream and hashes it.
type hashedReader struct {
	*bufio.Reader
	h       hash.Hash
	z       *zstd.Decoder // to be closed
	version byte
	k, v    []byte // buffers of the last row
}

// row returns the next row, valid until the next call. It returns io.EOF, unwrapped, after the last row if the
// checksum is correct.
func (s *hashedReader) row() (k, v []byte, err error) {
	if s.k, err = s.readPart(s.k); err == nil && len(s.k) > 0 {
		s.v, err = s.readPart(s.v)
	}
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("rows: %w", err)
	case len(s.k) > 0:
		return s.k, s.v, nil
	}
	if err := s.checkEnd(); err != nil {
		return nil, nil, err
	}
	return nil, nil, io.EOF
}

// open reads the magic and the version of a stream. kind names it in errors.
func open(r io.Reader, magic, kind string) (*hashedReader, error) {
	head := make([]byte, len(magic)+1)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	if string(head[:len(magic)]) != magic {
		return nil, fmt.Errorf("it is not a %s", kind)
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return nil, err
	}
	return &hashedReader{Reader: bufio.NewReaderSize(z, 64<<10), h: sha256.New(), z: z, version: head[len(magic)]}, nil
}

// Read implements io.Reader.
func (s *hashedReader) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.h.Write(p[:n])
	return n, err
}

// ReadByte implements io.ByteReader.
func (s *hashedReader) ReadByte() (byte, error) {
	b, err := s.Reader.ReadByte()
	if err == nil {
		s.h.Write([]byte{b})
	}
	return b, err
}

// readPart reads a length and that many bytes, reusing buf. The buffer grows only as bytes arrive, because the length
// may be corrupt.
func (s *hashedReader) readPart(buf []byte) ([]byte, error) {
	n, err := binary.ReadUvarint(s)
	if err != nil {
		return nil, err
	}
	if n > maxRow {
		return nil, fmt.Errorf("%d bytes in one row", n)
	}
	buf = buf[:0]
	for n > 0 {
		at := len(buf)
		step := int(min(n, 1<<20))
		buf = append(buf, make([]byte, step)...)
		if _, err := io.ReadFull(s, buf[at:]); err != nil {
			return nil, err
		}
		n -= uint64(step)
	}
	return buf, nil
}

// checkEnd verifies the hash of the bytes read against the one that follows, and that the stream ends after it.
func (s *hashedReader) checkEnd() error {
	want := s.h.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(s.Reader, got); err != nil {
		return fmt.Errorf("checksum: %w", err)
	}
	if string(got) != string(want) {
		return errors.New("checksum differs")
	}
	switch n, err := io.ReadFull(s.Reader, got[:1]); { // the hash must be the last part
	case n > 0 || err == nil:
		return errors.New("more follows its checksum")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("what follows its checksum: %w", err)
	}
	return nil
}

// progress calls report every 16 MiB.
type progress struct {
	done, reported, total int64
	report                Progress
}

func (p *progress) add(n int) {
	if p.done += int64(n); p.report != nil && p.done-p.reported >= 16<<20 {
		p.reported = p.done
		p.report(p.done, max(p.done, p.total))
	}
}
