package state

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/cairndb/cairn/oplog/store"
)

// Scrub reads every block of the state's files once, resting after each quarter of a mebibyte, and says ErrState when one does not
// pin what was written.
func (s *State) Scrub(ctx context.Context, rest time.Duration) error {
	g, err := s.pin()
	if err != nil {
		return err
	}
	defer g.unpin()
	return damage(g.Check(ctx, func(read int64) time.Duration { return time.Duration(1+read>>18) * rest }))
}

// StoreStats is what the files of a state cost.
type StoreStats = store.Stats

// StoreStats says what the files cost; zero when the state is closed. Damaged files are named from the directory that the state's is in.
func (s *State) StoreStats() (out StoreStats) {
	g, err := s.pin()
	if err != nil {
		return out
	}
	defer g.unpin()
	out = g.Store.Stats()
	for i, path := range out.DamagedFiles {
		if short, err := filepath.Rel(filepath.Dir(s.dir), path); err == nil {
			out.DamagedFiles[i] = short
		}
	}
	return out
}

// Size is how many bytes the files have, about; zero when the state is closed.
func (s *State) Size() int64 {
	g, err := s.pin()
	if err != nil {
		return 0
	}
	defer g.unpin()
	return g.Store.Size()
}

// Compact merges the state's files, resting after each quarter of a mebibyte: no file holds what was erased before it began.
func (s *State) Compact(ctx context.Context, rest time.Duration) error {
	g, err := s.pin()
	if err != nil {
		return err
	}
	defer g.unpin()
	return damage(g.Store.Compact(ctx, func(merged int64) time.Duration { return time.Duration(1+merged>>18) * rest }))
}

// Verify reads every block, and all rows as well: it computes the hash of what the state holds and compares it with the one it has
// kept, and decodes the log's window, whose rows Apply has to read when they leave it.
func (s *State) Verify() error {
	if err := s.Scrub(context.Background(), 0); err != nil {
		return err
	}
	return s.read(func(v *View) error {
		for _, val := range v.scanFrom(tLog, 0, be64(uint64(v.mark().first))) {
			decode[retained](val)
		}
		if got := v.Recount(); got != v.mark().sum {
			return fmt.Errorf("%w: its hash is %s, and the one it recorded is %s", ErrState, got, v.mark().sum)
		}
		return nil
	})
}
