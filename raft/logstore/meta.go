package logstore

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// metaFile is the name of the file next to the segments.
const metaFile = "meta"

// meta is the content of that file.
type meta struct {
	Salt   uint64
	First  uint64 // the log's first record; those before it were deleted, or are kept
	Kept   uint64 // the first record that is kept (kept.go), First when none is
	Newest uint64 // the segment that was begun last; 0 for none
	Last   uint64 // the last record of a store that was closed; 0 when it was not

	CutTerm, CutIndex uint64 // Cut

	Committed uint64 // see Committed; marks may say more
}

func newMeta() meta {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return meta{Salt: binary.BigEndian.Uint64(b[:])}
}

// readMeta reads the file; fs.ErrNotExist when there is none.
func readMeta(files FS, dir string, keys *seal.Ring) (m meta, err error) {
	raw, err := readAll(files, filepath.Join(dir, metaFile), math.MaxInt64)
	if err != nil {
		return m, err
	}
	if err := unpack(keys, raw, &m); err != nil {
		return m, fmt.Errorf("%s: %w", metaFile, err)
	}
	return m, nil
}

// pack is a value as it is stored: as a line of JSON, or that sealed, and behind it the CRC-32C of what is before.
func pack(keys *seal.Ring, val any) ([]byte, error) {
	plain, err := json.Marshal(val)
	if err != nil {
		return nil, err
	}
	return syncwriter.Summed(keys.Bytes(plain)), nil
}

// unpack reads what pack made.
func unpack(keys *seal.Ring, raw []byte, val any) error {
	b, whole := syncwriter.Unsummed(raw)
	if !whole {
		return ErrDamaged
	}
	switch sealed := seal.IsSealed(raw); {
	case keys == nil && sealed:
		return seal.ErrSealed
	case keys != nil && !sealed:
		return seal.ErrPlain
	}
	plain, err := keys.Plain(b)
	if err == nil {
		err = json.Unmarshal(plain, val)
	}
	return err
}

// updateMeta replaces meta. Tasks that change it take turns.
func (s *Store) updateMeta(to func(m *meta)) error {
	s.metaTurn <- struct{}{} // the disk is slow: never hold the mutex across a write
	defer func() { <-s.metaTurn }()
	m := *s.meta.Load()
	m.Committed = s.Committed()
	to(&m)
	b, err := pack(s.o.Keys, m)
	if err == nil {
		err = s.replace(filepath.Join(s.dir, metaFile), b)
	}
	if err == nil {
		s.meta.Store(&m)
	}
	return err
}

// NoteCommitted remembers that records up to an index are committed. It reaches the disk with the next records, or
// with StoreCommitted.
func (s *Store) NoteCommitted(index uint64) {
	for was := s.committed.Load(); was < index && !s.committed.CompareAndSwap(was, index); was = s.committed.Load() {
	}
}

// Committed is the last record that is known to be committed: NoteCommitted was called for it, in this process or in
// one before.
func (s *Store) Committed() uint64 { return s.committed.Load() }

// StoreCommitted puts what Committed says on the disk. The next records bring it there as well, but they may be long
// in coming.
func (s *Store) StoreCommitted() error {
	if s.committed.Load() <= s.meta.Load().Committed {
		return nil
	}
	return s.updateMeta(func(*meta) {})
}

// hadRecords reports whether the log has ever had records.
func (s *Store) hadRecords() bool {
	m := s.meta.Load()
	return m.First > 0 || m.Newest > 0
}

// readAll reads a file, but no more than so many bytes of its beginning.
func readAll(files FS, name string, most int64) (_ []byte, err error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, min(size, most))
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(err)
	}
	return b, nil
}

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
