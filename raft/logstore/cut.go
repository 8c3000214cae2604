package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	hraft "github.com/hashicorp/raft"
)

// DeleteRange implements hraft.LogStore. It deletes records at either end of the log.
func (s *Store) DeleteRange(first, last uint64) error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.unlock()
	from, to := s.meta.Load().First, s.end() // only the task that holds the turn changes them
	switch {
	case to == 0 || first > to || last < from || first > last:
		return nil
	case first <= from && last >= to:
		return s.deleteAll(to + 1)
	case first <= from:
		return s.cutBefore(last + 1)
	case last >= to:
		return s.cutFrom(first)
	}
	return fmt.Errorf("cannot delete records %d to %d: the log has %d to %d", first, last, from, to)
}

// deleteAll deletes all records. The next record has an index of at least first.
func (s *Store) deleteAll(first uint64) error {
	cut := s.noteCut()
	err := s.updateMeta(func(m *meta) { cut(m); m.First, m.Kept, m.Newest, m.Last = first, first, 0, 0 })
	if err != nil {
		return err
	}
	return s.removeOldest(len(s.segs))
}

// LastCut returns the newest record, by term and index, that was cut off the log's end. The log ends before it until
// the replacement is stored.
func (s *Store) LastCut() (term, index uint64) {
	m := s.meta.Load()
	return m.CutTerm, m.CutIndex
}

// noteCut reads the last record before it is cut off, and returns a function that stores its position in meta. It
// ignores a record that cannot be read.
func (s *Store) noteCut() func(*meta) {
	r := &Reader{s: s, holdsTurn: true}
	defer r.Close()
	l, _, err := r.readRetrying(s.end())
	return func(m *meta) {
		if err == nil && (l.Term > m.CutTerm || l.Term == m.CutTerm && l.Index > m.CutIndex) {
			m.CutTerm, m.CutIndex = l.Term, l.Index
		}
	}
}

// cutBefore makes a record the log's first, and retains the wanted records before it. It writes meta before it
// removes files, so that a crash leaves too many files and not too few.
func (s *Store) cutBefore(first uint64) error {
	kept := first
	if s.o.Retain != nil {
		kept = min(first, max(s.o.Retain(), s.meta.Load().Kept))
	}
	if err := s.updateMeta(func(m *meta) { m.First, m.Kept = first, kept }); err != nil {
		return err
	}
	return errors.Join(s.closeKept(), s.removeOldest(s.segmentsBefore(kept)))
}

// segmentsBefore returns the number of segments that end before a record.
func (s *Store) segmentsBefore(first uint64) (n int) {
	for n < len(s.segs)-1 && s.segs[n+1].first <= first {
		n++
	}
	return n
}

// removeOldest removes the n oldest segments, whose records are deleted. A file that cannot be removed is removed at
// the next start.
func (s *Store) removeOldest(n int) (err error) {
	s.mu.Lock()
	old := s.segs[:n]
	s.segs = append([]*segment(nil), s.segs[n:]...)
	s.removals++
	s.mu.Unlock()
	for _, g := range old {
		err = errors.Join(err, s.o.FS.Remove(g.name), g.close())
	}
	if n == 0 {
		return err
	}
	return errors.Join(err, s.syncDir())
}

// cutFrom removes a record, which is not the first, and all records after it. It removes the newest segments first,
// so that the records that remain after a crash are consecutive. Every step that needs disk space comes first: if
// there is none, the log stays unchanged, because the library goes on as if the old end were there.
func (s *Store) cutFrom(first uint64) error {
	at := len(s.segs) - 1
	for s.segs[at].first >= first {
		at--
	}
	var shorter *segment
	if first < s.segs[at].nextIndex() {
		from, logs, err := s.liveRecords(at, first-1)
		if err == nil {
			shorter, err = s.prepare(from, logs)
		}
		if err != nil {
			return err
		}
	}
	cut, newest := s.noteCut(), s.segs[at].first
	if err := s.updateMeta(func(m *meta) { cut(m); m.Newest, m.Last = newest, 0 }); err != nil {
		if shorter != nil {
			err = errors.Join(err, s.discard(shorter))
		}
		return err
	}
	for n := len(s.segs) - 1; n > at; n-- {
		newest := s.segs[n]
		if err := s.o.FS.Remove(newest.name); err != nil {
			return err
		}
		s.mu.Lock()
		s.segs = s.segs[:n:n]
		s.removals++
		s.mu.Unlock()
		if err := errors.Join(newest.f.Close(), s.syncDir()); err != nil {
			return err
		}
	}
	if shorter == nil {
		return nil
	}
	if err := s.publish(shorter.name); err != nil {
		return err
	}
	return s.swapSegment(at, shorter)
}

// erased marks a kept record as one that Erase has changed. Nothing else gives records extensions.
var erased = []byte("erased")

// Erased reports whether Erase has replaced a record's data.
func Erased(l *hraft.Log) bool { return bytes.Equal(l.Extensions, erased) }

// Erase rewrites the log's files so that they contain no deleted record. In each retained record before an index it
// replaces the data with the result of change; nil leaves the data unchanged.
func (s *Store) Erase(before uint64, change func(index uint64, data []byte) ([]byte, error)) error {
	return s.rewriteEach(max(before, s.meta.Load().Kept, 1)-1, func(at int, logs []*hraft.Log) (changed bool, err error) {
		changed = s.segs[at].first < s.meta.Load().Kept
		for i, l := range logs {
			if l.Index >= before || l.Index >= s.meta.Load().First || l.Type != hraft.LogCommand {
				continue
			}
			data, err := change(l.Index, l.Data)
			if err != nil {
				return false, fmt.Errorf("record %d: %w", l.Index, err)
			}
			if data != nil {
				of := *l
				of.Data, of.Extensions, logs[i], changed = data, erased, &of, true
			}
		}
		return changed, nil
	})
}

// Reseal rewrites meta and every record up to last under the active key, retained records included.
func (s *Store) Reseal(last uint64) error {
	if err := s.rewriteEach(last, func(int, []*hraft.Log) (bool, error) { return true, nil }); err != nil {
		return err
	}
	return s.updateMeta(func(*meta) {})
}

// rewriteEach applies change to the records of each segment that begins at or before last. It rewrites one segment at
// a time, so that records can be stored in between.
func (s *Store) rewriteEach(last uint64, change func(at int, logs []*hraft.Log) (changed bool, err error)) error {
	for next := uint64(0); next <= last; {
		if err := s.lock(); err != nil {
			return err
		}
		err := s.dropKept()
		at := slices.IndexFunc(s.segs, func(g *segment) bool { return g.first >= next })
		if at < 0 {
			s.unlock()
			break
		}
		g := s.segs[at]
		end := max(s.nextIndex(at), g.first+1)
		if again := false; err == nil && g.first <= last {
			if again, err = s.retryWithoutLost(s.rewriteAll(at, change)); again {
				end = g.first
			}
		}
		next = end
		s.unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// rewriteAll applies change to the live records of a segment, and rewrites the segment if one of them changed.
func (s *Store) rewriteAll(at int, change func(at int, logs []*hraft.Log) (changed bool, err error)) error {
	from, logs, err := s.liveRecords(at, s.nextIndex(at)-1)
	if err != nil {
		return err
	}
	switch changed, err := change(at, logs); {
	case err != nil:
		return err
	case changed:
		g, err := s.create(from, logs)
		if err != nil {
			return err
		}
		if err := s.swapSegment(at, g); err != nil {
			return err
		}
	}
	if newest := s.segs[len(s.segs)-1].first; newest != s.meta.Load().Newest {
		return s.updateMeta(func(m *meta) { m.Newest = newest })
	}
	return nil
}

// liveRecords returns the undeleted records of a segment up to an index, and the index of the first.
func (s *Store) liveRecords(at int, to uint64) (from uint64, logs []*hraft.Log, err error) {
	from = max(s.segs[at].first, s.meta.Load().Kept)
	r := &Reader{s: s, holdsTurn: true}
	defer r.Close()
	for i := from; i <= to; i++ {
		l, err := r.Read(i)
		if err != nil {
			return 0, nil, err
		}
		logs = append(logs, l)
	}
	return from, logs, nil
}

// swapSegment replaces a segment with its rewritten version.
func (s *Store) swapSegment(at int, g *segment) error {
	old := s.segs[at]
	if old.kept {
		if err := g.f.Close(); err != nil {
			return err
		}
		g.f, g.kept = nil, true
	}
	s.mu.Lock()
	s.segs = append([]*segment(nil), s.segs...)
	s.segs[at] = g
	s.removals++
	s.mu.Unlock()
	if err := old.close(); err != nil || old.name == g.name {
		return err
	}
	return errors.Join(s.o.FS.Remove(old.name), s.syncDir())
}

// segmentPath returns the path of the segment that begins with a record.
func (s *Store) segmentPath(first uint64) string { return filepath.Join(s.dir, segmentName(first)) }
