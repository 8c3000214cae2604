package raft

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/logstore"
)

// snapshots manages a member's directory of snapshots. It moves an unreadable snapshot aside and requests a new one
// from the state. Otherwise a member that needs a snapshot would wait until the log has grown enough for the next
// one. Its methods may be called from any goroutine.
type snapshots struct {
	dir     string
	aside   string // the directory for unreadable snapshots
	files   logstore.FS
	keys    *seal.Ring
	log     *slog.Logger
	damaged *damage.Files // the member's
	replace chan struct{} // holds a token when an unreadable snapshot is to be replaced
	states  stateStore    // has the states that were saved

	mu       sync.Mutex
	creating map[string]bool // ids of snapshots that are being created
}

// stateStore saves states under the ids of snapshots. It is the part of StateMachine that snapshots need.
type stateStore interface {
	OpenSnapshot(name string, index uint64) (state io.ReadCloser, size int64, err error)
	RetainSnapshots(names []string) error
}

func newSnapshots(cfg *Config, found *damage.Files, sm stateStore) *snapshots {
	return &snapshots{dir: snapshotDir(cfg.Dir), aside: cfg.Dir, files: cfg.LogFiles, keys: cfg.Keys, log: cfg.Logger, damaged: found,
		replace: make(chan struct{}, 1), states: sm, creating: map[string]bool{}}
}

// snapshotDir returns the directory of the snapshots within a member's directory.
func snapshotDir(dir string) string { return filepath.Join(dir, "snapshots") }

const (
	snapshotSuffix     = ".snap"
	unfinishedSnapshot = ".tmp" // suffix of a snapshot that is being written
	retainedSnapshots  = 2      // number of snapshots that remain; older ones are removed
)

func (s *snapshots) path(id string) string { return filepath.Join(s.dir, id+snapshotSuffix) }

// Create implements hraft.SnapshotStore.
func (s *snapshots) Create(v hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, _ hraft.Transport) (hraft.SnapshotSink, error) {
	list, err := s.List()
	if err != nil {
		return nil, err
	}
	number := time.Now().UnixMilli()
	for _, m := range list { // the newest has the highest number, even if the clock was set back
		number = max(number, numberOf(m.ID)+1)
	}
	m := hraft.SnapshotMeta{Version: v, ID: fmt.Sprintf("%d-%d-%d", term, index, number), Index: index, Term: term,
		Configuration: c, ConfigurationIndex: at}
	f, err := s.files.Create(s.path(m.ID) + unfinishedSnapshot)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.creating[m.ID] = true
	s.mu.Unlock()
	return newSnapshotSink(s, m, f), nil
}

// endCreate is called when a snapshot from Create is listed or cancelled.
func (s *snapshots) endCreate(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.creating, id)
}

// Open implements hraft.SnapshotStore. The size in the result is the plain size, or an estimate for a saved state.
func (s *snapshots) Open(id string) (*hraft.SnapshotMeta, io.ReadCloser, error) {
	f, d, err := s.open(id)
	if err != nil {
		return nil, nil, err
	}
	if d.Saved {
		in, size, err := s.states.OpenSnapshot(id, d.Applied)
		if err != nil {
			err = s.quarantine(id, err)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, nil, err
		}
		d.Size = size
		return &d.SnapshotMeta, &savedState{in, s, id}, nil
	}
	if err = d.verifyState(f); err != nil {
		return nil, nil, errors.Join(s.quarantine(id, err), f.Close())
	}
	var state io.ReaderAt = f
	if s.keys != nil {
		at, err := s.keys.At(f, d.Size)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("snapshot %s: %w", id, err), f.Close())
		}
		state, d.Size = at, at.Size()
	}
	return &d.SnapshotMeta, struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(state, 0, d.Size), f}, nil
}

// savedState streams a saved state. The state machine verifies its checksums during the read; Read quarantines a
// corrupt snapshot.
type savedState struct {
	io.ReadCloser
	snaps *snapshots
	id    string
}

func (r *savedState) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if isCorrupt(err) {
		err = r.snaps.quarantine(r.id, err)
	}
	return n, err
}

// isCorrupt reports whether the state machine found its saved state damaged.
func isCorrupt(err error) bool { return oplog.IsKind(err, oplog.Corrupt) }

// open opens a snapshot's file and reads its description.
func (s *snapshots) open(id string) (f logstore.File, d description, err error) {
	if f, err = s.files.Open(s.path(id)); err != nil {
		return nil, d, s.quarantine(id, err)
	}
	if d, err = readDescription(f, id); err != nil {
		return nil, d, errors.Join(s.quarantine(id, err), f.Close())
	}
	return f, d, nil
}

// List implements hraft.SnapshotStore: it returns the newest first. It moves snapshots with a damaged description
// aside and leaves them out.
func (s *snapshots) List() (list []*hraft.SnapshotMeta, err error) {
	names, err := s.files.List(s.dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		id, ok := strings.CutSuffix(name, snapshotSuffix)
		if !ok { // a snapshot that is being written
			continue
		}
		f, d, err := s.open(id)
		switch {
		case err == nil:
			list = append(list, &d.SnapshotMeta)
			if err := f.Close(); err != nil {
				return nil, err
			}
		case transient(err) && !errors.Is(err, fs.ErrNotExist): // on ErrNotExist the snapshot was removed meanwhile
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b *hraft.SnapshotMeta) int {
		return -cmp.Or(cmp.Compare(a.Term, b.Term), cmp.Compare(a.Index, b.Index), cmp.Compare(numberOf(a.ID), numberOf(b.ID)))
	})
	return list, nil
}

// numberOf returns the number at the end of a snapshot's id; 0 for an id of another form.
func numberOf(id string) int64 {
	n, _ := strconv.ParseInt(id[strings.LastIndexByte(id, '-')+1:], 10, 64)
	return n
}

// newest returns the newest snapshot; its index is 0 when there is none.
func (s *snapshots) newest() (m hraft.SnapshotMeta, err error) {
	list, err := s.List()
	if err == nil && len(list) > 0 {
		m = *list[0]
	}
	return m, err
}

// usable returns the index at which the newest usable snapshot ends; 0 if there is none. A snapshot that is newer
// than the state will be restored, so usable reads it to its end.
//
// A compacted log begins where a snapshot ends, and one of the two holds the configuration. Without that snapshot the
// library does not start and the members are unknown. So such a log counts as damaged (see openStore): the node gets
// another from the other members (rejoin) or, if it is alone, from its own files (salvage).
func (s *snapshots) usable(applied uint64) (end uint64, err error) {
	list, err := s.List()
	for _, m := range list {
		if m.Index <= applied {
			return m.Index, nil
		}
		_, in, err := s.Open(m.ID)
		if err == nil {
			_, err = io.Copy(io.Discard, in)
			err = errors.Join(err, in.Close())
		}
		if err == nil {
			return m.Index, nil
		}
		if transient(err) {
			return 0, err
		}
	}
	return 0, err
}

// transient reports whether an error comes from the system and not from the file's content, such as a missing file
// or a lack of descriptors.
func transient(err error) bool {
	errno, of := errors.AsType[syscall.Errno](err)
	return of && errno != syscall.EIO && !isCorrupt(err)
}

// quarantine moves an unreadable snapshot aside and requests a replacement. After a transient error it leaves the
// file alone. It returns err.
func (s *snapshots) quarantine(id string, err error) error {
	if transient(err) {
		return err
	}
	aside := filepath.Join(s.aside, fmt.Sprintf("snapshot-%s.corrupt-%d", id, time.Now().Unix()))
	s.log.Error("snapshot unreadable, moved aside", "path", s.path(id), "aside", aside, "err", err)
	s.damaged.Found(damage.File{Kind: damage.Snapshot, Path: s.path(id), Healed: true})
	err = errors.Join(err, s.files.Rename(s.path(id), aside))
	pause.Offer(s.replace, struct{}{})
	return err
}

// removeOld removes all snapshots but the newest, and those that end before an index.
func (s *snapshots) removeOld(before uint64) error {
	return s.remove(func(i int, m *hraft.SnapshotMeta) bool { return i >= retainedSnapshots || m.Index < before })
}

// removeAllButNewest removes all snapshots but the newest.
func (s *snapshots) removeAllButNewest() error {
	return s.remove(func(i int, _ *hraft.SnapshotMeta) bool { return i > 0 })
}

// removeAfter removes the snapshots that end after a record, because the state could not be restored from them. If
// they stayed, the leader's next snapshot might end before them and would not count as the newest.
func (s *snapshots) removeAfter(behind uint64) error {
	return s.remove(func(_ int, m *hraft.SnapshotMeta) bool {
		if m.Index > behind {
			s.log.Warn("snapshot removed, from which the state cannot be restored", "path", s.path(m.ID))
		}
		return m.Index > behind
	})
}

// remove removes snapshots, and then the saved states that no snapshot names. After a crash in between, the next
// removal or start removes these states.
func (s *snapshots) remove(which func(newer int, m *hraft.SnapshotMeta) bool) error {
	list, err := s.List()
	if err != nil {
		return err
	}
	removed := false
	for i, m := range list {
		if which(i, m) {
			removed, err = true, errors.Join(err, s.files.Remove(s.path(m.ID)))
		}
	}
	if removed {
		err = errors.Join(err, s.files.SyncDir(s.dir))
	}
	if err != nil {
		return err
	}
	return s.retainStates()
}

// retainStates removes the saved states that neither a snapshot nor an unfinished snapshot names.
func (s *snapshots) retainStates() error {
	if s.states == nil { // the target of Convert has no state machine: its snapshot files hold the states
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Collect(maps.Keys(s.creating))
	names, err := s.files.List(s.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, snapshotSuffix); ok {
			ids = append(ids, id)
		}
	}
	return s.states.RetainSnapshots(ids)
}

// dropUnfinished removes the snapshots that a killed process had begun to make or to remove. Each may be as large as
// the state.
func (s *snapshots) dropUnfinished() error {
	names, err := s.files.List(s.dir)
	for _, name := range names {
		if strings.HasSuffix(name, unfinishedSnapshot) {
			s.log.Info("unfinished snapshot removed", "path", name)
			err = errors.Join(err, s.files.Remove(filepath.Join(s.dir, name)))
		}
	}
	return errors.Join(err, s.retainStates())
}

// replaceDamagedSnapshots is the task that takes a new snapshot for each unreadable one.
func (n *Node) replaceDamagedSnapshots() {
	for range pause.Received(n.ctx.Done(), n.snaps.replace) {
		for err := n.takeSnapshot(); err != nil && n.ctx.Err() == nil; err = n.takeSnapshot() {
			n.log.Warn("the damaged snapshot is not replaced yet, trying again", "err", err)
			_ = pause.For(n.ctx, time.Second) // a change of the configuration or another snapshot is running
		}
	}
}
