package state

import (
	"context"
	"fmt"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/store"
)

// Scrub reads every block of the state's files once, and sums up all rows again, resting after each quarter of a
// mebibyte. ErrState says that a block is not what was written, or that the rows are not what the Sum speaks of.
func (s *State) Scrub(ctx context.Context, rest time.Duration) error {
	if err := s.with(func(g *generation) error { return g.Check(ctx, pauses(rest)) }); err != nil {
		return err
	}
	// Rows that the cache holds are not read again: without this, damage that comes later would wait in the file for
	// longer.
	defer func() { _ = s.with(func(g *generation) error { g.EmptyCache(); return nil }) }()
	return s.read(func(v *View) error {
		var got Sum
		looked := 0
		for key, val := range v.walk(span{}, false) {
			got.addRow(key, val)
			if looked += len(key) + len(val); looked < 1<<18 {
				continue
			}
			looked = 0
			if err := pause.For(ctx, rest); err != nil {
				return err
			}
		}
		if got != v.Sum() {
			return fmt.Errorf("%w: its rows sum to %s, and the Sum of what was applied is %s", ErrState, got, v.Sum())
		}
		return nil
	})
}

// StoreStats describes what the files of a state cost.
type StoreStats = store.Stats

// StoreStats says what the files cost, and which are damaged; zero when the state is closed.
func (s *State) StoreStats() (out StoreStats) {
	_ = s.with(func(g *generation) error { out = g.Stats(); return nil })
	return out
}

// Size returns the approximate size of the files in bytes; zero when the state is closed.
func (s *State) Size() (bytes int64) {
	_ = s.with(func(g *generation) error { bytes = g.Size(); return nil })
	return bytes
}

// Compact merges the state's files as far as they have rows of some databases, or all of them, resting after each
// quarter of a mebibyte: no file holds what was erased of those before it began.
func (s *State) Compact(ctx context.Context, dbs []oplog.DB, all bool, rest time.Duration) error {
	spans := []store.Span{{}}
	if !all {
		spans = spans[:0]
		for _, db := range dbs {
			spans = append(spans, store.Span{Lower: appendRow(nil, 0, db, nil), Upper: appendRow(nil, 0, db+1, nil)})
		}
	}
	return s.with(func(g *generation) error { return g.Compact(ctx, spans, pauses(rest)) })
}

// Rewrite seals the files that are under a replaced key under the active one. Checkpoints keep theirs: new ones take
// their places.
func (s *State) Rewrite(ctx context.Context, pause func() error) error {
	return s.with(func(g *generation) error { return s.opts.Keys.RewriteAll(ctx, g.dir, pause) })
}

// pauses are rests after each quarter of a mebibyte.
func pauses(rest time.Duration) func(done int64) time.Duration {
	return func(done int64) time.Duration { return time.Duration(1+done>>18) * rest }
}

// Verify is Scrub without rests, and decodes the log's window, whose rows Apply has to read when they leave it.
func (s *State) Verify() error {
	if err := s.Scrub(context.Background(), 0); err != nil {
		return err
	}
	return s.read(func(v *View) error {
		for _, val := range v.scanFrom(tLog, 0, be64(uint64(v.position().First))) {
			decode[logRow](val)
		}
		return nil
	})
}
