package logstore

import (
	"slices"
	"time"

	hraft "github.com/hashicorp/raft"
)

// NewestWithin returns the number of newest records in segments of at most so many bytes together. It leaves out the
// segments that end before a time.
func (s *Store) NewestWithin(bytes int64, since time.Time) (records uint64) {
	s.mu.RLock()
	segs := slices.Clone(s.segs)
	s.mu.RUnlock()
	for _, g := range slices.Backward(segs) {
		n, size := s.extent(g)
		if bytes -= size; g.kept || bytes < 0 {
			break
		}
		records += n
		if at := s.appendTime(g.first); !at.IsZero() && at.Before(since) {
			break
		}
	}
	return records
}

// SizeAfter returns the approximate number of bytes in the log after a record, and the time at which the first of
// these records was appended; the zero time if that is unknown.
func (s *Store) SizeAfter(index uint64) (bytes int64, oldest time.Time) {
	s.mu.RLock()
	segs := slices.Clone(s.segs)
	s.mu.RUnlock()
	for _, g := range slices.Backward(segs) {
		n, size := s.extent(g)
		if n == 0 || g.first+n-1 <= index {
			break
		}
		bytes += size
	}
	for i := index + 1; oldest.IsZero() && i <= index+maxUnstamped; i++ {
		oldest = s.appendTime(i)
	}
	return bytes, oldest
}

// maxUnstamped bounds how many consecutive records may lack a time: the founding record has none.
const maxUnstamped = 8

// extent returns the records and the bytes of a segment.
func (s *Store) extent(g *segment) (records uint64, bytes int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return uint64(len(g.offsets)), g.tail
}

// appendTime returns the time at which a record was appended; the zero time if that is unknown.
func (s *Store) appendTime(index uint64) time.Time {
	var l hraft.Log
	if err := s.GetLog(index, &l); err != nil {
		return time.Time{}
	}
	return l.AppendedAt
}
