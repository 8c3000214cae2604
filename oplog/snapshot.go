package oplog

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"

	"github.com/cairndb/cairn/oplog/seal"
)

// A snapshot stream is
//
//	"CAIRNSNP" | version 2 | zstd( size u64, the rows, SHA-256 of size and rows )
//	"CAIRNSNP" | version 1 | zstd( size u64, the state file, SHA-256 of size and file )
//
// Whoever writes the rows (see writeRows) has read each of them, and found it whole; size is that of the file they come from.
// A node whose file has no sums sends the file, copied inside a read transaction. Every node reads both, and makes a new file
// of the rows.
const (
	snapMagic = "CAIRNSNP"
	snapFile  = SnapshotMin
	snapRows  = SnapshotMax
)

// The versions of snapshots that this one reads.
const (
	SnapshotMin = 1
	SnapshotMax = 2
)

// snapshotOf is the version of the snapshots of a file.
func snapshotOf(c *codec) byte {
	if c == nil {
		return snapFile
	}
	return snapRows
}

// Sends is the least version of the snapshots that this state may come to send.
func (s *State) Sends() uint32 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return uint32(snapshotOf(s.c))
}

// Summed says whether each row is vouched for when it is read, so that snapshots hold what was written.
func (s *State) Summed() bool { return s.Sends() != snapFile }

// ErrSnapshot says that a snapshot does not hold what it should; the state is as it was.
var ErrSnapshot = &Error{Kind: Corrupt, Text: "unreadable snapshot"}

// A Snapshot is the state at one index, held still until it is released.
type Snapshot struct {
	state *State
	tx    *bolt.Tx
	c     *codec
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
	return &Snapshot{state: s, tx: v.tx, c: v.c, mark: v.mark}, nil
}

// Index is where the snapshot was taken.
func (s *Snapshot) Index() (index, term Index) { return s.mark.index, s.mark.term }

// Release lets go of the state. It may be called twice.
func (s *Snapshot) Release() {
	if s.tx != nil {
		_ = s.tx.Rollback()
		s.tx = nil
	}
}

// WriteTo streams the snapshot.
func (s *Snapshot) WriteTo(w io.Writer) (int64, error) {
	version := snapshotOf(s.c)
	out := &counted{w: w}
	if _, err := out.Write(append([]byte(snapMagic), version)); err != nil {
		return out.n, err
	}
	z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return out.n, fmt.Errorf("snapshot: %w", err)
	}
	h := sha256.New()
	total := s.tx.Size()
	body := &progress{w: io.MultiWriter(z, h), total: total, report: s.Progress}
	if _, err = body.Write(be64(uint64(total))); err == nil && version == snapFile {
		_, err = s.tx.WriteTo(body)
	} else if err == nil {
		err = caught(func() error { return writeRows(body, s.tx, s.c) })
		s.state.notice(err)
	}
	if err == nil {
		_, err = z.Write(h.Sum(nil))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		return out.n, fmt.Errorf("snapshot: %w", err)
	}
	return out.n, nil
}

// Restore replaces the state by a snapshot. The stream is written beside the state file, verified, and
// swapped in; until then, and whenever it fails, the state is as it was. Report, unless nil, is called now and then
// with the bytes written and their total.
func (s *State) Restore(r io.Reader, report func(done, total int64)) error {
	_, err := s.restore(r, report, func(*View) (bool, error) { return true, nil })
	return err
}

// CatchUp restores a snapshot that holds more than the state, or is of another cluster. One that does not is left alone:
// the log may begin anew behind a state that is ahead of it, and whoever reads would see the past.
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
	next := s.path + ".restoring"
	defer func() {
		if !taken {
			os.Remove(next)
		}
	}()
	if err := receive(next, s.opts, r, report); err != nil {
		return false, err
	}
	f, err := openFile(next, s.opts)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	v, err := viewOf(f.db, f.c, f.ways)
	if err == nil {
		taken, err = wanted(v)
		v.Close()
	}
	if err = errors.Join(err, f.db.Close()); err != nil || !taken {
		return false, err
	}
	if err := s.replace(next, f.m); err != nil {
		return false, fmt.Errorf("restore: %w", err)
	}
	return true, nil
}

// replace makes the file at next the state's, between checkpoints.
func (s *State) replace(next string, m mark) error {
	s.scrub.spoil()
	defer s.scrub.spoil()
	s.d.lock()
	defer s.d.unlock()
	if err := s.endCheckpoints(); err != nil { // before the lock that readers wait for
		s.d.failed.Store(&err)
		return err
	}
	if err := s.swap(next, m); err != nil {
		return err
	}
	return s.checkpoints()
}

// swap makes the file at next the state's.
func (s *State) swap(next string, m mark) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return Errorf(Internal, "state is closed")
	}
	s.followed()
	if err := s.db.Close(); err != nil { // waits for open views
		return err
	}
	if err := os.Rename(next, s.path); err != nil {
		return errors.Join(err, s.reopen())
	}
	if err := errors.Join(syncDir(filepath.Dir(s.path)), s.reopen()); err != nil {
		return err
	}
	s.at.Lock()
	s.m = m
	s.at.Unlock()
	return nil
}

func (s *State) reopen() error {
	f, err := openFile(s.path, s.opts)
	if err == nil {
		s.use(f)
	}
	return err
}

// receive makes the state file of a snapshot stream at path and checks it.
func receive(path string, o Options, r io.Reader, report func(done, total int64)) error {
	head := make([]byte, len(snapMagic)+1)
	if _, err := io.ReadFull(r, head); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	version := head[len(snapMagic)]
	if string(head[:len(snapMagic)]) != snapMagic || version != snapFile && version != snapRows {
		return fmt.Errorf("%w: not a snapshot this version reads", ErrSnapshot)
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	defer z.Close()
	in := newSummed(z)
	var size uint64
	if err := binary.Read(in, binary.BigEndian, &size); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	switch {
	case version == snapRows:
		err = build(path, o, func(b *builder) error {
			b.progress = &progress{total: int64(size), report: report}
			return b.steps(in)
		})
	default:
		err = receiveFile(path, o, in, int64(size), report)
	}
	if err != nil {
		return err
	}
	return checkTrailer(in.Reader, in.h)
}

// receiveFile takes the rows out of a file. It needs them in any order, so the file is spooled; sealed, where they are not
// to be on the disk as they are.
func receiveFile(path string, o Options, in io.Reader, size int64, report func(done, total int64)) (err error) {
	spool := path + ".image"
	f, err := os.OpenFile(spool, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(spool)) }()
	var image io.ReaderAt = f
	if o.Keys == nil {
		_, err = io.CopyN(&progress{w: f, total: size, report: report}, in, size)
	} else {
		image, err = spoolSealed(f, o.Keys, in, size, report)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	return build(path, o, func(b *builder) error { return b.image(image, size) })
}

func spoolSealed(f *os.File, keys *seal.Ring, in io.Reader, size int64, report func(done, total int64)) (io.ReaderAt, error) {
	w, err := keys.Writer(f)
	if err != nil {
		return nil, err
	}
	_, err = io.CopyN(&progress{w: w, total: size, report: report}, in, size)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	sealed, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	return keys.At(f, sealed)
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

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
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
	w                 io.Writer
	done, told, total int64
	report            func(done, total int64)
}

func (p *progress) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.add(n)
	return n, err
}

func (p *progress) add(n int) {
	p.done += int64(n)
	if p.report != nil && (p.done-p.told >= 16<<20 || p.done >= p.total) {
		p.told = p.done
		p.report(p.done, p.total)
	}
}

// Copy makes another file of the same state, encrypted as its options say.
func (s *State) Copy(path string, o Options) error {
	v, err := s.View()
	if err != nil {
		return err
	}
	defer v.Close()
	r, w := io.Pipe()
	var writing sync.WaitGroup
	writing.Go(func() { w.CloseWithError(caught(func() error { return writeRows(w, v.tx, v.c) })) })
	err = build(path, o.withDefaults(), func(b *builder) error { return b.steps(newSummed(r)) })
	r.Close() // whoever still writes stops
	writing.Wait()
	return err
}
