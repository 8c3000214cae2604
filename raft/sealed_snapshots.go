package raft

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/seal"
)

// openSnapshots opens the directory of snapshots. The library is to remove none (see reap).
func (n *Node) openSnapshots() (hraft.SnapshotStore, error) {
	files, err := hraft.NewFileSnapshotStoreWithLogger(n.cfg.Dir, math.MaxInt, newLogger(n.log))
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	if n.cfg.Keys == nil {
		return checkedSnapshots{files, n}, nil
	}
	return sealedSnapshots{checkedSnapshots{files, n}, n.cfg.Keys}, nil
}

// sealedSnapshots encrypts the state in each snapshot. The description beside it, its place in the log and the members, stays
// readable.
type sealedSnapshots struct {
	checkedSnapshots
	keys *seal.Ring
}

// Create implements hraft.SnapshotStore.
func (s sealedSnapshots) Create(v hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, t hraft.Transport) (hraft.SnapshotSink, error) {
	sink, err := s.checkedSnapshots.Create(v, index, term, c, at, t)
	if err != nil {
		return nil, err
	}
	w, err := s.keys.Writer(sink)
	if err != nil {
		return nil, errors.Join(err, sink.Cancel())
	}
	return &sealedSink{SnapshotSink: sink, w: w}, nil
}

// Open implements hraft.SnapshotStore. The library has compared the sum of the file; what it is read from knows the plain size.
func (s sealedSnapshots) Open(id string) (*hraft.SnapshotMeta, io.ReadCloser, error) {
	m, in, err := s.checkedSnapshots.Open(id)
	if err != nil {
		return nil, nil, err
	}
	if err := in.Close(); err != nil {
		return nil, nil, err
	}
	f, err := os.Open(filepath.Join(s.path(id), "state.bin"))
	if err != nil {
		return nil, nil, err
	}
	at, err := s.keys.At(f, m.Size)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("snapshot %s: %w", id, err), f.Close())
	}
	m.Size = at.Size()
	return m, readCloser{io.NewSectionReader(at, 0, at.Size()), f}, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

type sealedSink struct {
	hraft.SnapshotSink
	w    *seal.Writer
	once sync.Once
}

// Write implements io.Writer.
func (s *sealedSink) Write(p []byte) (int, error) { return s.w.Write(p) }

// Close implements hraft.SnapshotSink. The library may close a sink that it has cancelled.
func (s *sealedSink) Close() (err error) {
	s.once.Do(func() { err = s.w.Close() })
	if err != nil {
		return errors.Join(err, s.SnapshotSink.Cancel())
	}
	return s.SnapshotSink.Close()
}

// Cancel implements hraft.SnapshotSink.
func (s *sealedSink) Cancel() error {
	s.once.Do(func() {})
	return s.SnapshotSink.Cancel()
}
