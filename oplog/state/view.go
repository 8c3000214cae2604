package state

import (
	"errors"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/store"
)

// A View reads the state at one index, so all its reads agree. Close it soon: while it is open, the rows that it sees
// stay on the disk. It is for one goroutine at a time.
type View struct {
	*txn
	snap  *store.Snapshot
	gen   *generation
	state *State
	pos   *position   // cached by position
	start oplog.Index // cached by windowStart; 0: not computed yet
}

// View opens the state as it is now.
func (s *State) View() (*View, error) {
	g, err := s.pin()
	if err != nil {
		return nil, err
	}
	snap, err := g.Snapshot()
	if err != nil {
		g.unpin()
		return nil, stateError(err)
	}
	return &View{txn: newTxn(snap), snap: snap, gen: g, state: s}, nil
}

// position reads the position on the first call: most views never need it.
func (v *View) position() position {
	if v.pos == nil {
		m := v.txn.position()
		v.pos = &m
	}
	return *v.pos
}

// Read runs f on a view and closes it. What f returns must not share the view's memory.
// Damage that f meets comes back as an error, and Damaged receives.
func (s *State) Read(f func(*View) error) error {
	err := s.read(f)
	s.reportDamage(err)
	return err
}

func (s *State) reportDamage(err error) {
	if errors.Is(err, ErrState) {
		pause.Offer(s.damaged, struct{}{})
	}
}

func (s *State) read(f func(*View) error) error {
	v, err := s.View()
	if err != nil {
		return err
	}
	defer v.Close()
	return recoverDamage(func() error { return f(v) })
}

// Inspect is Read for an f that returns no error.
func (s *State) Inspect(f func(*View)) error {
	return s.Read(func(v *View) error {
		f(v)
		return nil
	})
}

// Get returns the result of f on a view of the state. With an error, such as of a state that is closing, it is zero.
func Get[T any](s *State, f func(*View) T) (x T, err error) {
	err = s.Inspect(func(v *View) { x = f(v) })
	return x, err
}

// Damaged receives when a reader or a background task of the store has met damage. The receiver scrubs the state.
func (s *State) Damaged() <-chan struct{} { return s.damaged }

// Close ends the view. It may be called twice.
func (v *View) Close() {
	if v.snap != nil {
		v.snap.Close()
		v.snap = nil
		v.gen.unpin()
	}
}

// Index returns the state's place in the log.
func (v *View) Index() oplog.Index { return v.position().Index }

// Sum returns the hash of the whole replicated state.
func (v *View) Sum() Sum { return v.position().Sum }

// Time returns the time of the newest entry.
func (v *View) Time() oplog.HLC { return v.position().Last }

// Stats returns a database's counters. Expired memories count as forgotten.
func (v *View) Stats(db oplog.DB) oplog.Stats {
	st := v.counters(db)
	if st.Expiring == 0 {
		return st
	}
	for _, by := range v.unsweptCounts(db) { // sums: the order is free
		st.Add(by)
	}
	return st
}

// counters returns a database's counters as Apply wrote them: expired memories count until a Sweep forgets them.
func (v *View) counters(db oplog.DB) oplog.Stats {
	return load[oplog.Stats](v.txn, tStats, db, statsKey)
}
