package raft

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

// checkedSnapshots is a directory of snapshots that keeps no unreadable one: it moves it aside and has another made from the state.
// Otherwise a member that needs a snapshot would wait until the log has grown enough for the next.
type checkedSnapshots struct {
	hraft.SnapshotStore
	n *Node
}

// Open implements hraft.SnapshotStore.
func (s checkedSnapshots) Open(id string) (*hraft.SnapshotMeta, io.ReadCloser, error) {
	m, in, err := s.SnapshotStore.Open(id)
	if err == nil {
		if err = s.checkDescription(id, m); err == nil {
			return m, in, nil
		}
		in.Close()
	}
	if transient(err) {
		return nil, nil, err
	}
	return nil, nil, s.setAside(id, err)
}

// transient reports whether an error is the machine's and not the file's: a file that is gone, or cannot be read just now.
func transient(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && errno != syscall.EIO
}

// List implements hraft.SnapshotStore. It leaves out, and moves aside, snapshots that differ from what was written.
func (s checkedSnapshots) List() ([]*hraft.SnapshotMeta, error) {
	list, err := s.SnapshotStore.List()
	dirs, derr := os.ReadDir(s.path(""))
	if err := errors.Join(err, derr); err != nil {
		return nil, err
	}
	good := map[string]bool{}
	list = slices.DeleteFunc(list, func(m *hraft.SnapshotMeta) bool {
		good[m.ID] = s.checkDescription(m.ID, m) == nil
		return !good[m.ID]
	})
	for _, d := range dirs {
		if good[d.Name()] || strings.HasSuffix(d.Name(), ".tmp") { // one that is being written
			continue
		}
		_, in, err := s.Open(d.Name()) // what is no snapshot is set aside
		if err == nil {
			in.Close()
		} else if transient(err) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return list, nil
}

func (s checkedSnapshots) path(id string) string { return filepath.Join(s.n.cfg.Dir, "snapshots", id) }

// retainedSnapshots is how many are kept.
const retainedSnapshots = 2

// reap removes all snapshots but the newest. The library would remove one file by file, and a process that is killed meanwhile
// leaves what looks like a damaged snapshot.
func (s checkedSnapshots) reap() error {
	list, err := s.List()
	if err != nil {
		return err
	}
	for _, m := range list[min(len(list), retainedSnapshots):] {
		err = errors.Join(err, s.remove(m.ID))
	}
	return err
}

// remove gives a snapshot the name of an unfinished one first: List passes over it, and the next start removes what is left.
func (s checkedSnapshots) remove(id string) error {
	path := s.path(id) + ".tmp"
	if err := os.Rename(s.path(id), path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// dropUnfinished removes the snapshots that a killed process had begun to write or to remove. The library never finds them again,
// and each may be as large as the state.
func (n *Node) dropUnfinished() error {
	begun, err := filepath.Glob(filepath.Join(n.cfg.Dir, "snapshots", "*.tmp"))
	for _, path := range begun {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if len(begun) > 0 {
		n.log.Info("unfinished snapshots removed", "count", len(begun))
	}
	return err
}

// sumFile lies beside a snapshot's description, which the library believes as it reads it. It holds the sum of what nothing
// else tells: where in the log the snapshot is, and who the members were.
const sumFile = "meta.sum"

// sumOf is the content of that file: the SHA-256, in hexadecimal, of these lines.
func sumOf(m *hraft.SnapshotMeta) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "cairn snapshot 1\n%d %q %d %d %d\n", m.Version, m.ID, m.Index, m.Term, m.ConfigurationIndex)
	for _, server := range m.Configuration.Servers {
		fmt.Fprintf(h, "%d %q %q\n", server.Suffrage, server.ID, server.Address)
	}
	return fmt.Appendf(nil, "%x\n", h.Sum(nil))
}

// checkDescription returns why a snapshot's description cannot be believed; nil when it can.
func (s checkedSnapshots) checkDescription(dir string, m *hraft.SnapshotMeta) error {
	if place := fmt.Sprintf("%d-%d-", m.Term, m.Index); m.ID != dir || !strings.HasPrefix(dir, place) {
		return fmt.Errorf("its description names snapshot %s at %s", m.ID, place)
	}
	info, err := os.Stat(filepath.Join(s.path(dir), "state.bin"))
	if err != nil {
		return err
	}
	if info.Size() != m.Size {
		return fmt.Errorf("its description says %d bytes, and the file has %d", m.Size, info.Size())
	}
	sum, err := os.ReadFile(filepath.Join(s.path(dir), sumFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(s.path(dir)); err != nil { // removed meanwhile
			return err
		}
		return errors.New("its description has no checksum")
	}
	if err == nil && !bytes.Equal(sum, sumOf(m)) {
		err = errors.New("its description differs from what was written")
	}
	return err
}

// sum writes the sum of a snapshot that is in a directory.
func (s checkedSnapshots) sum(dir string, m *hraft.SnapshotMeta) error {
	f, err := os.OpenFile(filepath.Join(s.path(dir), sumFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(sumOf(m))
	if err == nil && !s.n.cfg.NoSync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// newest is the place in the log of the newest snapshot; 0 when there is none.
func newest(snaps hraft.SnapshotStore) (uint64, error) {
	list, err := snaps.List()
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return list[0].Index, nil
}

// setAside moves a snapshot out of the way, and returns why.
func (s checkedSnapshots) setAside(id string, err error) error {
	path := s.path(id)
	aside := filepath.Join(s.n.cfg.Dir, fmt.Sprintf("snapshot-%s.corrupt-%d", id, time.Now().Unix()))
	s.n.log.Error("snapshot unreadable, moved aside", "path", path, "aside", aside, "err", err)
	err = errors.Join(err, os.Rename(path, aside))
	select {
	case s.n.snapshotWanted <- struct{}{}:
	default: // one is due
	}
	return err
}

// replaceDamagedSnapshots is the task that makes a snapshot for each one that could not be read.
func (n *Node) replaceDamagedSnapshots() {
	for {
		select {
		case <-n.snapshotWanted:
		case <-n.ctx.Done():
			return
		}
		for err := n.await(context.Background(), n.raft.Snapshot()); err != nil && n.ctx.Err() == nil; err = n.await(context.Background(), n.raft.Snapshot()) {
			n.log.Warn("the damaged snapshot is not replaced yet, trying again", "err", err)
			select {
			case <-time.After(time.Second): // a change of the configuration is under way, or another snapshot
			case <-n.ctx.Done():
			}
		}
	}
}

// Create implements hraft.SnapshotStore. The library syncs a snapshot when it is whole; what the log syncs meanwhile would wait for
// all of it then.
func (s checkedSnapshots) Create(v hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, t hraft.Transport) (hraft.SnapshotSink, error) {
	step := s.n.cfg.SnapshotStep
	if step == nil {
		return s.create(v, index, term, c, at, t)
	}
	var sink hraft.SnapshotSink
	err := step("create", func() (err error) {
		sink, err = s.create(v, index, term, c, at, t)
		return err
	})
	return steppedSink{sink, step}, err
}

// steppedSink has a seam around what it does.
type steppedSink struct {
	hraft.SnapshotSink
	step func(op string, do func() error) error
}

// Write implements io.Writer.
func (s steppedSink) Write(b []byte) (n int, err error) {
	err = s.step("write", func() (err error) {
		n, err = s.SnapshotSink.Write(b)
		return err
	})
	return n, err
}

// Close implements hraft.SnapshotSink.
func (s steppedSink) Close() error { return s.step("close", s.SnapshotSink.Close) }

func (s checkedSnapshots) create(v hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, t hraft.Transport) (hraft.SnapshotSink, error) {
	sink, err := s.SnapshotStore.Create(v, index, term, c, at, t)
	if err != nil {
		return nil, err
	}
	dir := sink.ID() + ".tmp" // where the library writes
	m := &hraft.SnapshotMeta{Version: v, ID: sink.ID(), Index: index, Term: term, Configuration: c, ConfigurationIndex: at}
	if err := s.sum(dir, m); err != nil {
		return nil, errors.Join(err, sink.Cancel())
	}
	if s.n.cfg.NoSync {
		return reapingSink{sink, s}, nil
	}
	f, err := os.OpenFile(filepath.Join(s.path(dir), "state.bin"), os.O_WRONLY, 0)
	if err != nil {
		return nil, errors.Join(err, sink.Cancel())
	}
	return syncedSink{reapingSink{sink, s}, f, &syncwriter.Writer{W: sink, File: f}}, nil
}

// reapingSink removes older snapshots once its own is whole.
type reapingSink struct {
	hraft.SnapshotSink
	snaps checkedSnapshots
}

// Close implements hraft.SnapshotSink.
func (s reapingSink) Close() error {
	if err := s.SnapshotSink.Close(); err != nil {
		return err
	}
	return s.snaps.reap()
}

type syncedSink struct {
	hraft.SnapshotSink
	f *os.File
	w *syncwriter.Writer
}

// Write implements io.Writer.
func (s syncedSink) Write(b []byte) (int, error) { return s.w.Write(b) }

// Close implements hraft.SnapshotSink. The library may close a sink that it has cancelled.
func (s syncedSink) Close() error {
	_ = s.f.Close() // the library syncs what it writes, and says what went wrong
	return s.SnapshotSink.Close()
}

// Cancel implements hraft.SnapshotSink.
func (s syncedSink) Cancel() error {
	_ = s.f.Close()
	return s.SnapshotSink.Cancel()
}
