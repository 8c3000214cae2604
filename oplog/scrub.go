package oplog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A scrub computes the Sum from the keys themselves, a few at a time, while Apply goes on. It keeps the sum of all keys
// before a place; Apply adds to it what it changes there. At the end it is what the whole state hashes to, and differs
// from the Sum that Apply has kept only if the file no longer holds what was written: bits that flipped on a disk or in
// memory, in pages that look whole.
//
// Invariant: under mu, sum is that of the keys before at, as of the last commit, unless spoilt.
type scrub struct {
	mu     sync.Mutex // held by a step while it reads, and by Apply while it commits
	on     bool
	spoilt bool // the state was replaced, or lost a database: the pass begins anew
	at     spot
	sum    Sum
}

// spot is a stored key's place, in the order in which a scrub goes through the file.
type spot struct {
	db    DB
	table tableID
	key   []byte // nil: before all keys of the table
}

func (p spot) compare(o spot) int {
	return cmp.Or(cmp.Compare(p.db, o.db), cmp.Compare(p.table, o.table), bytes.Compare(p.key, o.key))
}

// moved is what a change of a key does to the Sum.
type moved struct {
	spot
	by Sum
}

const (
	scrubRows  = 256       // of a step
	scrubBytes = 256 << 10 // of a step, about
)

// Scrub goes through the state once, resting between steps, and says ErrState when it holds something else than was
// written. What one pass finds is confirmed by reading everything at once.
func (s *State) Scrub(ctx context.Context, rest time.Duration) error {
	defer s.scrub.end()
	for {
		s.scrub.begin()
		same, err := s.pass(ctx, rest)
		if same || err != nil && !errors.Is(err, errSpoilt) {
			return err
		}
		if err == nil {
			return s.Verify()
		}
	}
}

var (
	errSpoilt = errors.New("the state was replaced")
	errBusy   = errors.New("a commit is under way")
)

func (s *State) pass(ctx context.Context, rest time.Duration) (same bool, err error) {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-s.noticed: // a reader was faster
			return false, nil
		case <-t.C:
		}
		done := false
		if done, same, err = s.step(scrubRows); done || err != nil && !errors.Is(err, errBusy) {
			return same, err
		}
		t.Reset(rest)
	}
}

// step reads a few keys. It never waits for a commit while it has a view open: the commit may be waiting for views to end.
func (s *State) step(most int) (done, same bool, err error) {
	v, err := s.View()
	if err != nil {
		return false, false, err
	}
	defer v.Close()
	c := &s.scrub
	if !c.mu.TryLock() {
		return false, false, errBusy
	}
	defer c.mu.Unlock()
	if c.spoilt {
		return false, false, errSpoilt
	}
	if v.mark.index != s.mark().index {
		return false, false, errBusy // a commit came in between
	}
	err = caught(func() error {
		done = v.sumSome(&c.at, &c.sum, most)
		return nil
	})
	return done, c.sum == v.mark.sum, err
}

// sumSome adds the rows from a place on to a sum, and moves the place behind them; true at the end.
func (v *View) sumSome(at *spot, sum *Sum, most int) (done bool) {
	rows, size := 0, 0
	for {
		if b := v.bucket(at.table, at.db); b != nil {
			c := b.Cursor()
			k, sealed := c.Cursor.Seek(at.key) // at or behind the last one read
			c.seen.from(b, at.key, k, true)
			if k != nil && bytes.Equal(k, at.key) {
				k, sealed = c.above()
			}
			for ; k != nil; k, sealed = c.above() {
				if rows == most || size >= scrubBytes {
					return false
				}
				plain, value := c.row(k, sealed)
				sum.add(element(b.id.table, b.id.db, plain, value))
				rows, size, at.key = rows+1, size+len(value), bytes.Clone(k)
			}
		}
		if !v.nextTable(at) {
			return true
		}
	}
}

var tableOrder = slices.Sorted(maps.Keys(tableNames))

// nextTable moves a place to the next table, of the next database after the last; false when there is none.
func (v *View) nextTable(at *spot) bool {
	if i, _ := slices.BinarySearch(tableOrder, at.table); i+1 < len(tableOrder) {
		*at = spot{db: at.db, table: tableOrder[i+1]}
		return true
	}
	all := v.tx.Bucket(bktDatabases)
	if all == nil {
		return false
	}
	k, _ := all.Cursor().Seek(dbKey(at.db + 1))
	if k == nil {
		return false
	}
	*at = spot{db: DB(beUint32(k)), table: tableOrder[0]}
	return true
}

func (c *scrub) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on, c.spoilt, c.at, c.sum = true, false, spot{table: tableOrder[0]}, Sum{}
}

func (c *scrub) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = false
}

func (c *scrub) spoil() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spoilt = true
}

func (c *scrub) watching() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.on
}

// commit commits a transaction and lets a pass that is under way know what it changed.
func (c *scrub) commit(tx *bolt.Tx, t *txn, committed func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := tx.Commit(); err != nil {
		return err
	}
	committed()
	if c.on && (!t.watched || t.dropped) { // it does not know
		c.spoilt = true
	}
	for _, m := range t.moves {
		if c.on && m.compare(c.at) <= 0 {
			c.sum.add(m.by)
		}
	}
	return nil
}

// count keeps the Sum, and for a scrub what it did to it.
func (t *txn) count(b *bucket, key, old, value []byte, had, has bool) {
	var by Sum
	if had {
		by.sub(element(b.id.table, b.id.db, key, old))
	}
	if has {
		by.add(element(b.id.table, b.id.db, key, value))
	}
	t.sum.add(by)
	if t.watched {
		t.moves = append(t.moves, moved{spot{b.id.db, b.id.table, bytes.Clone(b.c.key(b.id, key))}, by})
	}
}
