package logstore

import (
	"slices"
	"time"

	hraft "github.com/hashicorp/raft"
)

// NewestWithin returns the number of newest records that lie in files of so many bytes together, without the files
// that end before a time.
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

// Behind returns about how many bytes of the log lie behind a record, and when the first of those records was
// appended; the zero time when that is not known.
func (s *Store) Behind(index uint64) (bytes int64, oldest time.Time) {
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

// maxUnstamped bounds how many records without a time follow each other: the founding record has none.
const maxUnstamped = 8

// extent returns the records and the bytes of a segment.
func (s *Store) extent(g *segment) (records uint64, bytes int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return uint64(len(g.offsets)), g.tail
}

// appendTime is the time at which a record was appended; the zero time when that is not known.
func (s *Store) appendTime(index uint64) time.Time {
	var l hraft.Log
	if err := s.GetLog(index, &l); err != nil {
		return time.Time{}
	}
	return l.AppendedAt
}
