package raft

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	hraft "github.com/hashicorp/raft"
)

// snapshots is the library's directory of snapshots, with checks of what the library believes. It seals the state in each when the node is
// encrypted; the description beside it, its place in the log and the members, stays readable. It keeps no unreadable one: it moves that aside
// and has another made from the state. Otherwise a member that needs a snapshot would wait until the log has grown enough for the next.
type snapshots struct {
	hraft.SnapshotStore
	n *Node
}

// openSnapshots opens the directory of snapshots. The library is to remove none (see reap).
func (n *Node) openSnapshots() (hraft.SnapshotStore, error) {
	files, err := hraft.NewFileSnapshotStoreWithLogger(n.cfg.Dir, math.MaxInt, newLogger(n.log))
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	return snapshots{files, n}, nil
}

// check opens a snapshot's file as it lies on the disk, which the library compares with its sum, and moves aside one that is unreadable.
func (s snapshots) check(id string) (*hraft.SnapshotMeta, io.ReadCloser, error) {
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

type readCloser struct {
	io.Reader
	io.Closer
}

// Open implements hraft.SnapshotStore. Its callers know the plain size.
func (s snapshots) Open(id string) (*hraft.SnapshotMeta, io.ReadCloser, error) {
	m, in, err := s.check(id)
	if err != nil || s.n.cfg.Keys == nil {
		return m, in, err
	}
	in.Close()
	f, err := os.Open(filepath.Join(s.path(id), stateFile))
	if err != nil {
		return nil, nil, err
	}
	at, err := s.n.cfg.Keys.At(f, m.Size)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("snapshot %s: %w", id, err), f.Close())
	}
	m.Size = at.Size()
	return m, readCloser{io.NewSectionReader(at, 0, at.Size()), f}, nil
}

// transient reports whether an error is the machine's and not the file's: a file that is gone, or cannot be read just now.
func transient(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && errno != syscall.EIO
}

// List implements hraft.SnapshotStore. It leaves out, and moves aside, snapshots that differ from what was written.
func (s snapshots) List() ([]*hraft.SnapshotMeta, error) {
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
		_, in, err := s.check(d.Name()) // a directory that is no snapshot is moved aside
		if err == nil {
			in.Close()
		} else if transient(err) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return list, nil
}

func (s snapshots) path(id string) string { return filepath.Join(s.n.cfg.Dir, "snapshots", id) }

// retainedSnapshots is how many are kept.
const retainedSnapshots = 2

// reap removes all snapshots but the newest. The library would remove one file by file, and a process that is killed meanwhile
// leaves what looks like a damaged snapshot.
func (s snapshots) reap() error {
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
func (s snapshots) remove(id string) error {
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

// stateFile is the library's name of a snapshot's state.
const stateFile = "state.bin"

// sumFile lies beside a snapshot's description, which the library believes as it reads it. It holds the sum of the fields that
// have no other check: where in the log the snapshot ends, and the members.
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
func (s snapshots) checkDescription(dir string, m *hraft.SnapshotMeta) error {
	if m.ID != dir {
		return fmt.Errorf("its description names snapshot %s", m.ID)
	}
	info, err := os.Stat(filepath.Join(s.path(dir), stateFile))
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

// newest is the newest snapshot; its index is 0 when there is none.
func newest(snaps hraft.SnapshotStore) (m hraft.SnapshotMeta, err error) {
	list, err := snaps.List()
	if err == nil && len(list) > 0 {
		m = *list[0]
	}
	return m, err
}

// setAside moves a snapshot out of the way, and returns why.
func (s snapshots) setAside(id string, err error) error {
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
