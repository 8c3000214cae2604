package raft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	hraft "github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/cairndb/cairn/oplog/seal"
)

// store is the log and the vote.
type store interface {
	hraft.LogStore
	hraft.StableStore
	flight() *flight
	Close() error
}

// sealed encrypts what is in the log's records, and the vote. Index, term and kind of a record stay readable.
type sealed struct {
	store
	keys *seal.Ring
}

// keyCipher says in the file that it is encrypted; its value is sealed itself.
var keyCipher = []byte("cairn sealed")

// sealStore puts the encryption around an open file. One that is not what the node is to have is refused.
func sealStore(s store, keys *seal.Ring) (store, error) {
	mark, err := s.Get(keyCipher)
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil, err
	}
	last, err := s.LastIndex()
	if err != nil {
		return nil, err
	}
	_, votes := s.Get([]byte(keyTerm))
	empty := last == 0 && errors.Is(votes, raftboltdb.ErrKeyNotFound)
	switch {
	case keys == nil && mark == nil:
		return s, nil
	case keys == nil:
		return nil, seal.ErrSealed
	case mark == nil && !empty:
		return nil, seal.ErrPlain
	}
	out := &sealed{s, keys}
	if mark == nil {
		err = out.Set(keyCipher, []byte("1"))
	}
	return out, err
}

func recordPlace(index uint64, part byte) []byte {
	return append(binary.BigEndian.AppendUint64([]byte("raft log "), index), part)
}

// StoreLog implements hraft.LogStore.
func (s *sealed) StoreLog(l *hraft.Log) error { return s.StoreLogs([]*hraft.Log{l}) }

// StoreLogs implements hraft.LogStore. The records are the library's and stay as they are.
func (s *sealed) StoreLogs(logs []*hraft.Log) error {
	out := make([]*hraft.Log, len(logs))
	for i, l := range logs {
		c := *l
		c.Data = s.keys.Seal(nil, l.Data, recordPlace(l.Index, 0))
		if len(l.Extensions) > 0 {
			c.Extensions = s.keys.Seal(nil, l.Extensions, recordPlace(l.Index, 1))
		}
		out[i] = &c
	}
	return s.store.StoreLogs(out)
}

// GetLog implements hraft.LogStore.
func (s *sealed) GetLog(index uint64, l *hraft.Log) (err error) {
	if err = s.store.GetLog(index, l); err == nil {
		err = unsealLog(s.keys, l)
	}
	return err
}

func unsealLog(keys *seal.Ring, l *hraft.Log) (err error) {
	if l.Data, err = keys.Open(nil, l.Data, recordPlace(l.Index, 0)); err == nil && len(l.Extensions) > 0 {
		l.Extensions, err = keys.Open(nil, l.Extensions, recordPlace(l.Index, 1))
	}
	return err
}

// Set implements hraft.StableStore.
func (s *sealed) Set(key, val []byte) error {
	return s.store.Set(key, s.keys.Seal(nil, val, append([]byte("raft vote "), key...)))
}

// Get implements hraft.StableStore.
func (s *sealed) Get(key []byte) ([]byte, error) {
	val, err := s.store.Get(key)
	if err != nil {
		return nil, err // as it is: the library compares its text
	}
	return s.keys.Open(nil, val, append([]byte("raft vote "), key...))
}

// SetUint64 implements hraft.StableStore.
func (s *sealed) SetUint64(key []byte, val uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

// GetUint64 implements hraft.StableStore.
func (s *sealed) GetUint64(key []byte) (uint64, error) { return number(s.Get(key)) }

// openSnapshots opens the directory of snapshots.
func (n *Node) openSnapshots() (hraft.SnapshotStore, error) {
	files, err := hraft.NewFileSnapshotStoreWithLogger(n.cfg.Dir, 2, newLogger(n.log))
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	if n.cfg.Keys == nil {
		return checked{files, n}, nil
	}
	return sealedSnapshots{checked{files, n}, n.cfg.Keys}, nil
}

// sealedSnapshots encrypts the states in a directory of snapshots. Beside each lies its place in the log and who the
// members were, readable.
type sealedSnapshots struct {
	checked
	keys *seal.Ring
}

// Create implements hraft.SnapshotStore.
func (s sealedSnapshots) Create(v hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, t hraft.Transport) (hraft.SnapshotSink, error) {
	sink, err := s.checked.Create(v, index, term, c, at, t)
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
	m, in, err := s.checked.Open(id)
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
	return m, opened{io.NewSectionReader(at, 0, at.Size()), f}, nil
}

type opened struct {
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
