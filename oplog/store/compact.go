package store

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cairndb/cairn/oplog/pause"
)

// pieceBytes is about how much of the tables Compact merges at once: no other merge runs meanwhile.
const pieceBytes = 64 << 20

// A Span is the range of keys from Lower to Upper, exclusive; nil for no bound.
type Span struct{ Lower, Upper []byte }

// clip cuts a range of keys to the span. The result may be empty.
func (p Span) clip(from, to []byte) (_, _ []byte) {
	if bytes.Compare(p.Lower, from) > 0 {
		from = p.Lower
	}
	if p.Upper != nil && bytes.Compare(p.Upper, to) < 0 {
		to = p.Upper
	}
	return from, to
}

// Compact merges the tables that have keys of some spans, resting between pieces: when it returns, no file holds what
// was deleted or replaced in them before it began. Files that a reader still has open are waited for.
func (s *Store) Compact(ctx context.Context, spans []Span, rest func(merged int64) time.Duration) error {
	if err := s.Flush(); err != nil {
		return err
	}
	before, err := filepath.Glob(filepath.Join(s.dir, "*.sst"))
	if err != nil {
		return err
	}
	levels, err := s.db.SSTables()
	if err != nil {
		return damageError(err)
	}
	first, last, ends := pieces(levels)
	if len(ends) == 0 {
		return s.awaitRemoval(ctx, before)
	}
	ends = append(ends, pieceEnd{last, 0})
	for _, end := range ends {
		if err := s.diskError(); err != nil {
			return err
		}
		merged := int64(0)
		for _, p := range spans {
			if from, to := p.clip(first, end.key); bytes.Compare(from, to) < 0 {
				if err := s.db.Compact(ctx, from, to, false); err != nil {
					return damageError(err)
				}
				merged = end.size
			}
		}
		first = end.key
		if err := pause.For(ctx, rest(merged)); err != nil {
			return err
		}
	}
	return s.awaitRemoval(ctx, before)
}

// A pieceEnd is the first key after a piece, and the piece's approximate size.
type pieceEnd struct {
	key  []byte
	size int64
}

// pieces cuts the keys of all tables into pieces by the level that has most: the first key of all, one behind the
// last, and the ends between.
func pieces(levels [][]pebble.SSTableInfo) (first, last []byte, ends []pieceEnd) {
	var most []pebble.SSTableInfo
	var bytes uint64
	for _, level := range levels {
		var size uint64
		for _, t := range level {
			size += t.Size
			if first == nil || string(t.Smallest.UserKey) < string(first) {
				first = t.Smallest.UserKey
			}
			if key := append(append([]byte(nil), t.Largest.UserKey...), 0); string(key) > string(last) {
				last = key
			}
		}
		if size >= bytes {
			most, bytes = level, size
		}
	}
	var size int64
	for i, t := range most {
		if size += int64(t.Size); size >= pieceBytes || i == len(most)-1 {
			ends, size = append(ends, pieceEnd{append(append([]byte(nil), t.Largest.UserKey...), 0), size}), 0
		}
	}
	return first, last, ends
}

// awaitRemoval waits until of the tables of before only those are left that are in use: pebble removes the others in
// the background, and those that a reader has open when that ends.
func (s *Store) awaitRemoval(ctx context.Context, before []string) error {
	for {
		levels, err := s.db.SSTables()
		if err != nil {
			return damageError(err)
		}
		used := map[string]bool{}
		for _, level := range levels {
			for _, t := range level {
				used[s.tablePath(t)] = true
			}
		}
		left := false
		for _, path := range before {
			if _, err := os.Stat(path); err == nil && !used[path] {
				left = true
			}
		}
		if !left {
			return nil
		}
		if err := s.diskError(); err != nil {
			return err
		}
		if err := pause.For(ctx, removalPoll); err != nil {
			return err
		}
	}
}

// removalPoll is the interval at which awaitRemoval checks the tables.
const removalPoll = 50 * time.Millisecond

func (s *Store) tablePath(t pebble.SSTableInfo) string {
	return filepath.Join(s.dir, t.BackingSSTNum.String()+".sst")
}
