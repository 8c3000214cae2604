package raft

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// summed is the log's file with a sum behind each record and each value: its pages bear none, and a bit that a disk has
// flipped would be applied, sent on or voted with. What was written before there were sums is read as it is.
//
//	record   what the library calls extensions | "csum" | CRC-32C u32 of index u64, term u64, kind u8, the data's length u32, data, extensions
//	value    as it was given | "csum" | CRC-32C u32 of key and value
//
// keyNames lists the keys that have a value, so that a key which is not found any more is missed. The library votes in one task
// while it cuts the log in another, and both may change the list.
type summed struct {
	*raftboltdb.BoltStore
	names atomic.Pointer[[]string]                 // the keys; the list itself never changes
	turn  chan struct{}                            // of those who change which keys there are
	disk  func(step string, do func() error) error // see Config.WriteLog
}

// What the library keeps beside its log.
const (
	keyTerm     = "CurrentTerm"
	keyVoteTerm = "LastVoteTerm"
	keyVote     = "LastVoteCand"
)

var (
	keyNames  = []byte("cairn keys")
	keyBegun  = []byte("cairn begun") // the log has records
	errSum    = errors.New("not what was written")
	sumMark   = []byte("csum")
	sumLength = len(sumMark) + crc32.Size
)

// sumLog puts the sums around an open file, and behind values that have none.
func sumLog(b *raftboltdb.BoltStore, disk func(string, func() error) error) (*summed, error) {
	s := &summed{BoltStore: b, disk: disk, turn: make(chan struct{}, 1)}
	s.names.Store(&[]string{})
	if disk == nil {
		s.disk = func(_ string, do func() error) error { return do() }
	}
	list, err := s.Get(keyNames)
	if err == nil {
		names := strings.FieldsFunc(string(list), func(r rune) bool { return r == '\n' })
		s.names.Store(&names)
		return s, s.whole()
	}
	if !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil, err
	}
	if _, err := s.Get(keyJournal); !errors.Is(err, raftboltdb.ErrKeyNotFound) { // which comes later
		return nil, fmt.Errorf("%w: no list of keys", errSum)
	}
	for _, key := range []string{keyTerm, keyVoteTerm, keyVote, string(keyCipher)} {
		val, err := s.Get([]byte(key))
		if err == nil {
			err = s.Set([]byte(key), val)
		}
		if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
			return nil, err
		}
	}
	return s, s.change(func(names []string) []string { return names })
}

// whole says whether everything is there that ever was.
func (s *summed) whole() error {
	for _, key := range *s.names.Load() {
		if _, err := s.Get([]byte(key)); err != nil {
			return err
		}
	}
	last, err := s.LastIndex()
	if err == nil && last == 0 && s.lists(keyBegun) {
		return fmt.Errorf("%w: no records any more", errSum)
	}
	return err
}

// commit makes a transaction of the file, which is synced by it.
func (s *summed) commit(do func() error) error { return s.disk("commit", do) }

// lists says whether a key has a value.
func (s *summed) lists(key []byte) bool { return slices.Contains(*s.names.Load(), string(key)) }

// change writes which keys there are, made of those that there were.
func (s *summed) change(to func(names []string) []string) error {
	s.turn <- struct{}{} // a disk takes its time, so no mutex is waited for
	defer func() { <-s.turn }()
	names := to(slices.Clone(*s.names.Load()))
	list := []byte(strings.Join(names, "\n"))
	err := s.commit(func() error { return s.BoltStore.Set(keyNames, withSum(list, valueSum(keyNames, list))) })
	if err == nil {
		s.names.Store(&names)
	}
	return err
}

// used says whether the file has ever held anything of the library's.
func (s *summed) used() bool {
	return s.lists([]byte(keyTerm)) || s.lists(keyBegun)
}

// forState says whether the state sees a record: it is no bookkeeping of the library's.
func forState(l *hraft.Log) bool { return l.Type != hraft.LogNoop && l.Type != hraft.LogBarrier }

// lastForState is the last record before another that the state sees; 0 for none.
func (s *summed) lastForState(before uint64) (uint64, error) {
	first, err := s.FirstIndex()
	if err != nil {
		return 0, err
	}
	last, err := s.LastIndex()
	if err != nil {
		return 0, err
	}
	for last = min(last, before-1); last >= max(first, 1); last-- {
		var l hraft.Log
		if err := s.GetLog(last, &l); err != nil || forState(&l) {
			return last, nil // one that cannot be read may be one
		}
	}
	return 0, nil
}

func recordSum(l *hraft.Log, extensions []byte) uint32 {
	var head [8 + 8 + 1 + 4]byte
	binary.BigEndian.PutUint64(head[0:], l.Index)
	binary.BigEndian.PutUint64(head[8:], l.Term)
	head[16] = byte(l.Type)
	binary.BigEndian.PutUint32(head[17:], uint32(len(l.Data)))
	sum := crc32.Checksum(head[:], castagnoli)
	return crc32.Update(crc32.Update(sum, castagnoli, l.Data), castagnoli, extensions)
}

func valueSum(key, val []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, val)
}

func withSum(b []byte, sum uint32) []byte {
	out := append(make([]byte, 0, len(b)+sumLength), b...)
	return binary.BigEndian.AppendUint32(append(out, sumMark...), sum)
}

// checkSum separates what was written from its sum. Where neither mark nor sum is what it would be, there is none.
func checkSum(b []byte, sumOf func([]byte) uint32) ([]byte, error) {
	at := len(b) - sumLength
	if at < 0 {
		return b, nil
	}
	rest, mark := b[:at:at], bytes.Equal(b[at:at+len(sumMark)], sumMark)
	switch same := binary.BigEndian.Uint32(b[at+len(sumMark):]) == sumOf(rest); {
	case mark && same:
		return rest, nil
	case mark != same:
		return nil, errSum
	}
	return b, nil
}

// StoreLog implements hraft.LogStore.
func (s *summed) StoreLog(l *hraft.Log) error { return s.StoreLogs([]*hraft.Log{l}) }

// StoreLogs implements hraft.LogStore. The records are the library's and stay as they are.
func (s *summed) StoreLogs(logs []*hraft.Log) error {
	copies, out := make([]hraft.Log, len(logs)), make([]*hraft.Log, len(logs))
	for i, l := range logs {
		copies[i] = *l
		copies[i].Extensions = withSum(l.Extensions, recordSum(l, l.Extensions))
		out[i] = &copies[i]
	}
	if err := s.commit(func() error { return s.BoltStore.StoreLogs(out) }); err != nil || s.lists(keyBegun) {
		return err
	}
	return s.Set(keyBegun, []byte("1"))
}

// GetLog implements hraft.LogStore.
func (s *summed) GetLog(index uint64, l *hraft.Log) error {
	if err := s.BoltStore.GetLog(index, l); err != nil {
		return err
	}
	rest, err := checkSum(l.Extensions, func(ext []byte) uint32 { return recordSum(l, ext) })
	if err != nil || l.Index != index {
		return errSum
	}
	l.Extensions = nil
	if len(rest) > 0 {
		l.Extensions = rest
	}
	return nil
}

// DeleteRange implements hraft.LogStore. When all goes, the log is first said to have no records: a crash may come in between.
func (s *summed) DeleteRange(first, last uint64) error {
	from, err := s.FirstIndex()
	if err != nil {
		return err
	}
	to, err := s.LastIndex()
	if err != nil {
		return err
	}
	if first <= from && to <= last {
		err = s.change(func(names []string) []string {
			return slices.DeleteFunc(names, func(key string) bool { return key == string(keyBegun) })
		})
	}
	if err != nil {
		return err
	}
	return s.commit(func() error { return s.BoltStore.DeleteRange(first, last) })
}

// Set implements hraft.StableStore.
func (s *summed) Set(key, val []byte) error {
	if err := s.commit(func() error { return s.BoltStore.Set(key, withSum(val, valueSum(key, val))) }); err != nil {
		return err
	}
	if s.lists(key) {
		return nil
	}
	return s.change(func(names []string) []string {
		if slices.Contains(names, string(key)) {
			return names
		}
		return append(names, string(key))
	})
}

// Get implements hraft.StableStore.
func (s *summed) Get(key []byte) ([]byte, error) {
	val, err := s.BoltStore.Get(key)
	if err != nil {
		if s.lists(key) {
			return nil, fmt.Errorf("%q: %w: it is gone", key, errSum)
		}
		return nil, err // as it is: the library compares its text
	}
	if val, err = checkSum(val, func(val []byte) uint32 { return valueSum(key, val) }); err != nil {
		return nil, fmt.Errorf("%q: %w", key, err)
	}
	return val, nil
}

// SetUint64 implements hraft.StableStore.
func (s *summed) SetUint64(key []byte, val uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

// GetUint64 implements hraft.StableStore.
func (s *summed) GetUint64(key []byte) (uint64, error) { return number(s.Get(key)) }

func number(val []byte, err error) (uint64, error) {
	if err != nil {
		return 0, err
	}
	if len(val) != 8 {
		return 0, fmt.Errorf("%w: a number of %d bytes", errSum, len(val))
	}
	return binary.BigEndian.Uint64(val), nil
}

// verify reads votes and log once, before the library meets them: it panics on a record it cannot read. Records that a
// snapshot covers may be missing.
func verify(s store, covered uint64) error {
	for _, key := range []string{keyTerm, keyVoteTerm} {
		if _, err := s.GetUint64([]byte(key)); err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if _, err := s.Get([]byte(keyVote)); err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return fmt.Errorf("%s: %w", keyVote, err)
	}
	first, err := s.FirstIndex()
	if err != nil {
		return err
	}
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	if last == 0 {
		return nil
	}
	if first > covered+1 {
		return fmt.Errorf("%w: the log begins at record %d, and the snapshot ends at %d", errSum, first, covered)
	}
	var l hraft.Log
	for i := first; i <= last; i++ {
		if err := s.GetLog(i, &l); err != nil && (i > covered || !errors.Is(err, hraft.ErrLogNotFound)) {
			return fmt.Errorf("record %d: %w", i, err)
		}
	}
	return nil
}
