package oplog

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"github.com/cairndb/cairn/oplog/store"
)

// A snapshot stream is
//
//	"CAIRNSNP" | version 3 | zstd( size u64, rows, 0 uv, SHA-256 of all before it )
//
// A row is key length uv, key, value length uv, value; rows are in the order of their keys, as the store has them (appendRow), none
// twice. Size is what they take on the sender's disk, for a bar that shows progress. Who writes rows has read each from a block with the checksum it
// was written with.
const (
	snapMagic   = "CAIRNSNP"
	SnapshotMin = 3 // the versions of snapshots that this one reads
	SnapshotMax = 3
)

// ErrSnapshot says that a snapshot does not hold what it should; the state is as it was.
var ErrSnapshot = &Error{Kind: Corrupt, Text: "unreadable snapshot"}

// A Snapshot is the state at one index, held still until it is released.
type Snapshot struct {
	state *State
	view  *View // nil when it was released
	mark  mark
	// Progress, when set, is called now and then with the bytes copied and their total.
	Progress func(done, total int64)
}

// Snapshot holds the state still; Apply goes on meanwhile.
func (s *State) Snapshot() (*Snapshot, error) {
	v, err := s.View()
	if err != nil {
		return nil, err
	}
	return &Snapshot{state: s, view: v, mark: v.mark}, nil
}

// Index is where the snapshot was taken.
func (s *Snapshot) Index() (index, term Index) { return s.mark.index, s.mark.term }

// Release lets go of the state. It may be called twice.
func (s *Snapshot) Release() {
	if s.view != nil {
		s.view.Close()
		s.view = nil
	}
}

// WriteTo streams the snapshot.
//
// Invariant: what it holds is flushed before it ends well. The Raft log is cut behind snapshots that were written, and so never behind
// what a crash leaves of the state.
func (s *Snapshot) WriteTo(w io.Writer) (int64, error) {
	out := &counted{w: w}
	err := s.write(out)
	s.state.notice(err)
	if err != nil {
		return out.n, fmt.Errorf("snapshot: %w", err)
	}
	return out.n, nil
}

func (s *Snapshot) write(out io.Writer) error {
	if err := s.view.of.Flush(); err != nil {
		return damage(err)
	}
	if _, err := out.Write(append([]byte(snapMagic), SnapshotMax)); err != nil {
		return err
	}
	z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	h := sha256.New()
	body := bufio.NewWriterSize(io.MultiWriter(z, h), 64<<10)
	total := max(s.view.of.Size(), 1)
	told := &progress{total: total, report: s.Progress}
	_, _ = body.Write(be64(uint64(total))) // Flush says what became of it
	err = s.view.rows(func(k, v []byte) error {
		var n [binary.MaxVarintLen64]byte
		for _, part := range [][]byte{k, v} {
			_, _ = body.Write(binary.AppendUvarint(n[:0], uint64(len(part))))
			if _, err := body.Write(part); err != nil {
				return err
			}
		}
		told.add(len(k) + len(v))
		return nil
	})
	if err == nil {
		err = errors.Join(body.WriteByte(0), body.Flush())
	}
	if err == nil {
		_, err = z.Write(h.Sum(nil))
	}
	return errors.Join(err, z.Close())
}

// rows walks all rows of the state until f fails.
func (v *View) rows(f func(k, v []byte) error) error {
	return caught(func() (err error) {
		v.walk(span{}, func(k, val []byte) bool {
			err = f(k, val)
			return err == nil
		})
		return err
	})
}

// Restore replaces the state by a snapshot. The stream becomes a store beside the state's, verified, and is
// swapped in; until then, and whenever it fails, the state is as it was. Report, unless nil, is called now and then
// with the bytes written and their total.
func (s *State) Restore(r io.Reader, report func(done, total int64)) error {
	_, err := s.restore(r, report, func(*View) (bool, error) { return true, nil })
	return err
}

// CatchUp restores a snapshot that holds more than the state, or is of another cluster. One that does not is left alone:
// the log may begin anew behind a state that is ahead of it, and readers would see the past.
func (s *State) CatchUp(r io.Reader, report func(done, total int64)) (taken bool, err error) {
	return s.restore(r, report, func(of *View) (more bool, err error) {
		err = s.Read(func(own *View) error {
			more = of.Index() > own.Index() || of.Cluster() != own.Cluster()
			return nil
		})
		return more, err
	})
}

func (s *State) restore(r io.Reader, report func(done, total int64), wanted func(*View) (bool, error)) (taken bool, err error) {
	next := filepath.Join(s.dir, restoring)
	defer func() {
		if !taken {
			err = errors.Join(err, os.RemoveAll(next))
		}
	}()
	if err := os.RemoveAll(next); err != nil {
		return false, fmt.Errorf("restore: %w", err)
	}
	if err := build(next, s.opts, func(add func(k, v []byte) error) error { return receive(r, report, add) }); err != nil {
		return false, err
	}
	g, _, err := s.open(next)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	of := &State{dir: s.dir, live: g}
	err = of.read(func(v *View) (err error) {
		taken, err = wanted(v)
		return err
	})
	if err = errors.Join(err, g.Close()); err != nil || !taken {
		return false, err
	}
	if err := s.swap(next); err != nil {
		taken = false
		return false, fmt.Errorf("restore: %w", err)
	}
	return true, nil
}

// swap makes the store in a directory the state's next generation. The one before is removed when its last view ends.
func (s *State) swap(next string) error {
	s.mu.RLock()
	was := s.live
	s.mu.RUnlock()
	if was == nil {
		return Errorf(Internal, "state is closed")
	}
	dir := filepath.Join(s.dir, strconv.Itoa(was.number+1))
	if err := os.Rename(next, dir); err != nil {
		return err
	}
	if err := syncDir(s.dir); err != nil {
		return err
	}
	g, m, err := s.open(dir)
	if err != nil {
		return err
	}
	g.number = was.number + 1
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return errors.Join(Errorf(Internal, "state is closed"), g.Close())
	}
	s.at.Lock()
	s.begin(g, m)
	s.at.Unlock()
	s.old.Go(func() {
		was.views.Wait()
		_ = was.Abandon()
		_ = os.RemoveAll(was.dir)
	})
	return nil
}

// build makes a store of rows, which come in the order of their keys. The directory is left to the caller when that fails.
func build(dir string, o Options, rows func(add func(k, v []byte) error) error) error {
	b, err := store.Build(dir, o.store())
	if err != nil {
		return err
	}
	err = b.Finish(rows(b.Add))
	if errors.Is(err, store.ErrOrder) {
		err = fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	return err
}

// maxRow is above any key or value: a record of the log is the largest.
const maxRow = MaxRecord + 1<<20

// receive reads the rows of a snapshot stream.
func receive(r io.Reader, report func(done, total int64), add func(k, v []byte) error) error {
	head := make([]byte, len(snapMagic)+1)
	if _, err := io.ReadFull(r, head); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	switch version := head[len(snapMagic)]; {
	case string(head[:len(snapMagic)]) != snapMagic:
		return fmt.Errorf("%w: it is no snapshot", ErrSnapshot)
	case version < SnapshotMin:
		return fmt.Errorf("%w: it has format %d, and this version reads %d: restore it with the version that wrote it, and export it there", ErrSnapshot, version, SnapshotMax)
	case version > SnapshotMax:
		return fmt.Errorf("%w: it has format %d, and this version reads %d: restore it with the version that wrote it, or a later one", ErrSnapshot, version, SnapshotMax)
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	defer z.Close()
	in := summed{bufio.NewReaderSize(z, 64<<10), sha256.New()}
	var size uint64
	if err := binary.Read(in, binary.BigEndian, &size); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	told := &progress{total: int64(size), report: report}
	var k, v []byte
	for {
		if k, err = in.part(k); err == nil && len(k) > 0 {
			v, err = in.part(v)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSnapshot, err)
		}
		if len(k) == 0 {
			return checkTrailer(in.Reader, in.h)
		}
		if len(k) < rowHead {
			return fmt.Errorf("%w: a key of %d bytes", ErrSnapshot, len(k))
		}
		if err := add(k, v); err != nil {
			return err
		}
		told.add(len(k) + len(v))
	}
}

// summed reads and adds up what was read.
type summed struct {
	*bufio.Reader
	h hash.Hash
}

// Read implements io.Reader.
func (s summed) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.h.Write(p[:n])
	return n, err
}

// ReadByte implements io.ByteReader.
func (s summed) ReadByte() (byte, error) {
	b, err := s.Reader.ReadByte()
	if err == nil {
		s.h.Write([]byte{b})
	}
	return b, err
}

// part reads a length and as many bytes, into what buf has room for. It grows as bytes arrive: a length may be any number.
func (s summed) part(buf []byte) ([]byte, error) {
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

func checkTrailer(r io.Reader, h hash.Hash) error {
	want := h.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil {
		return fmt.Errorf("%w: checksum: %w", ErrSnapshot, err)
	}
	if string(got) != string(want) {
		return fmt.Errorf("%w: checksum differs", ErrSnapshot)
	}
	switch n, err := io.ReadFull(r, got[:1]); { // what follows was not written here
	case n > 0 || err == nil:
		return fmt.Errorf("%w: more follows its checksum", ErrSnapshot)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("%w: what follows its checksum: %w", ErrSnapshot, err)
	}
	return nil
}

type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// progress reports every 16 MiB: often enough to be seen, rarely enough to cost nothing.
type progress struct {
	done, told, total int64
	report            func(done, total int64)
}

func (p *progress) add(n int) {
	if p.done += int64(n); p.report != nil && p.done-p.told >= 16<<20 {
		p.told = p.done
		p.report(p.done, max(p.done, p.total))
	}
}

// Copy makes another directory of the same state, sealed as its options say.
func (s *State) Copy(dir string, o Options) error {
	v, err := s.View()
	if err != nil {
		return err
	}
	defer v.Close()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err = build(filepath.Join(dir, "1"), o, func(add func(k, v []byte) error) error { return v.rows(add) })
	return errors.Join(err, syncDir(dir))
}
