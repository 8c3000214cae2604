package logstore

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"path/filepath"

	"github.com/cairndb/cairn/oplog/seal"
)

// The library's keys.
const (
	KeyTerm     = "CurrentTerm"
	KeyVoteTerm = "LastVoteTerm"
	KeyVote     = "LastVoteCand"
)

// metaFile is the name of the file beside the segments.
const metaFile = "meta"

// meta is what that file holds.
type meta struct {
	Salt   uint64
	First  uint64 // the log's first record; those before it were deleted
	Newest uint64 // the segment that was begun last; 0 for none
	Last   uint64 // the last record of a store that was closed; 0 when it was not
	Values map[string][]byte
}

func newMeta() meta {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return meta{Salt: binary.BigEndian.Uint64(b[:])}
}

// errNoValue has the text that the library compares.
var errNoValue = errors.New("not found")

// readMeta reads the file; fs.ErrNotExist when there is none.
func readMeta(files FS, dir string, keys *seal.Ring) (m meta, err error) {
	raw, err := readAll(files, filepath.Join(dir, metaFile))
	if err != nil {
		return m, err
	}
	at := len(raw) - 2*sumSize - 1
	if at < 0 || string(raw[at:]) != metaSum(raw[:at]) {
		return m, fmt.Errorf("%s: %w", metaFile, ErrDamaged)
	}
	switch sealed := seal.IsSealed(raw); {
	case keys == nil && sealed:
		return m, seal.ErrSealed
	case keys != nil && !sealed:
		return m, seal.ErrPlain
	}
	plain, err := keys.Plain(raw[:at])
	if err == nil {
		err = json.Unmarshal(plain, &m)
	}
	return m, err
}

func metaSum(b []byte) string { return fmt.Sprintf("%08x\n", crc32.Checksum(b, castagnoli)) }

func (m meta) bytes(keys *seal.Ring) ([]byte, error) {
	plain, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	b := keys.Bytes(plain)
	return append(b, metaSum(b)...), nil
}

// change writes meta anew. Votes are stored while another task deletes records, so one waits for the other.
func (s *Store) change(to func(m *meta)) error {
	s.metaTurn <- struct{}{} // a disk takes its time, so no mutex is waited for
	defer func() { <-s.metaTurn }()
	m := *s.meta.Load()
	m.Values = maps.Clone(m.Values)
	to(&m)
	b, err := m.bytes(s.o.Keys)
	if err == nil {
		err = s.replace(filepath.Join(s.dir, metaFile), b)
	}
	if err == nil {
		s.meta.Store(&m)
	}
	return err
}

// Set implements hraft.StableStore.
func (s *Store) Set(key, val []byte) error {
	return s.change(func(m *meta) {
		if m.Values == nil {
			m.Values = map[string][]byte{}
		}
		m.Values[string(key)] = bytes.Clone(val)
	})
}

// Get implements hraft.StableStore.
func (s *Store) Get(key []byte) ([]byte, error) {
	val, ok := s.meta.Load().Values[string(key)]
	if !ok {
		return nil, errNoValue
	}
	return bytes.Clone(val), nil
}

// CopyValues sets what another store has; the chain of what is applied and all else that has a key goes with term and vote.
func (s *Store) CopyValues(from *Store) error {
	return s.change(func(m *meta) { m.Values = maps.Clone(from.meta.Load().Values) })
}

// SetUint64 implements hraft.StableStore.
func (s *Store) SetUint64(key []byte, val uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

// GetUint64 implements hraft.StableStore.
func (s *Store) GetUint64(key []byte) (uint64, error) {
	return s.meta.Load().number(string(key))
}

func (m meta) number(key string) (uint64, error) {
	switch val, ok := m.Values[key]; {
	case !ok:
		return 0, errNoValue
	case len(val) != 8:
		return 0, fmt.Errorf("%q: %w: a number of %d bytes", key, ErrDamaged, len(val))
	default:
		return binary.BigEndian.Uint64(val), nil
	}
}

// readAll reads a file.
func readAll(files FS, name string) (_ []byte, err error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(err)
	}
	return b, nil
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
