package state

import (
	"context"
	"fmt"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/store"
)

// Scrub reads every block of the state's files and computes the Sum of all rows again. It rests after each 256 KiB.
// ErrState says that a block's checksum is wrong, or that the Sum differs.
func (s *State) Scrub(ctx context.Context, rest time.Duration) error {
	if err := s.with(func(g *generation) error { return g.Check(ctx, pauses(rest)) }); err != nil {
		return err
	}
	// Reads of cached blocks do not touch the file. With an empty cache, later damage is found sooner.
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

// StoreStats holds the counters of a state's files.
type StoreStats = store.Stats

// StoreStats returns the counters of the files, and the damaged ones; zero if the state is closed.
func (s *State) StoreStats() (out StoreStats) {
	_ = s.with(func(g *generation) error { out = g.Stats(); return nil })
	return out
}

// Size returns the approximate size of the files in bytes; zero when the state is closed.
func (s *State) Size() (bytes int64) {
	_ = s.with(func(g *generation) error { bytes = g.Size(); return nil })
	return bytes
}

// Compact merges the files that have rows of some databases, or all files, and rests after each 256 KiB. Afterwards
// no file holds rows of these databases that were erased before the call.
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

// Rewrite seals again, under the active key, the files that are sealed under a replaced key. Checkpoints keep their
// key: new checkpoints replace them.
func (s *State) Rewrite(ctx context.Context, pause func() error) error {
	return s.with(func(g *generation) error { return s.opts.Keys.RewriteAll(ctx, g.dir, pause) })
}

// pauses returns a function that gives the rest after a number of bytes: one rest for each 256 KiB.
func pauses(rest time.Duration) func(done int64) time.Duration {
	return func(done int64) time.Duration { return time.Duration(1+done>>18) * rest }
}

// Verify is Scrub without rests. It also decodes the rows of the log's window, because Apply reads them when it trims
// it.
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
