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
	First  uint64 // the log's first record; earlier ones were deleted or are retained
	Kept   uint64 // the first retained record (kept.go); equal to First if there is none
	Newest uint64 // the newest segment; 0 for none
	Last   uint64 // the last record of a closed store; 0 while the store is open

	CutTerm, CutIndex uint64 // see LastCut

	Committed uint64 // see Committed; marks may hold a later index
}

func newMeta() meta {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return meta{Salt: binary.BigEndian.Uint64(b[:])}
}

// readMeta reads the file; fs.ErrNotExist if there is none.
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

// pack encodes a value for storage: a line of JSON, sealed if there are keys, followed by its CRC-32C.
func pack(keys *seal.Ring, val any) ([]byte, error) {
	plain, err := json.Marshal(val)
	if err != nil {
		return nil, err
	}
	return syncwriter.AppendSum(keys.Bytes(plain)), nil
}

// unpack decodes a value that pack encoded.
func unpack(keys *seal.Ring, raw []byte, val any) error {
	b, whole := syncwriter.CutSum(raw)
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

// updateMeta replaces meta. Callers take turns.
func (s *Store) updateMeta(to func(m *meta)) error {
	s.metaTurn <- struct{}{} // a channel, because the disk is slow and no mutex is held across a write
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

// NoteCommitted notes that records up to an index are committed. The next stored records, or StoreCommitted, write
// the index to disk.
func (s *Store) NoteCommitted(index uint64) {
	for was := s.committed.Load(); was < index && !s.committed.CompareAndSwap(was, index); was = s.committed.Load() {
	}
}

// Committed returns the highest index that NoteCommitted was called with, in this process or an earlier one.
func (s *Store) Committed() uint64 { return s.committed.Load() }

// StoreCommitted writes the committed index to disk. The next stored records would write it as well, but they may
// come much later.
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

// readAll reads at most the first most bytes of a file.
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
