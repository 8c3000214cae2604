package state

import (
	"bytes"
	"fmt"
	"io"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
)

// A Snapshot is the state at one index, held still until it is released.
type Snapshot struct {
	state *State
	view  *View // nil when it was released
	mark  mark
	// Progress, when set, is called now and then with the bytes copied and their total.
	Progress func(done, total int64)
}

// Snapshot holds the state still; Apply goes on meanwhile.
func (s *State) Snapshot() (*Snapshot, error) {
	v, err := s.View()
	if err != nil {
		return nil, err
	}
	out := &Snapshot{state: s, view: v}
	err = recoverDamage(func() error {
		out.mark = v.mark()
		return nil
	})
	if err != nil {
		v.Close()
		return nil, err
	}
	return out, nil
}

// Index is where the snapshot was taken.
func (s *Snapshot) Index() (index, term oplog.Index) { return s.mark.Index, s.mark.Term }

// Release lets go of the state. It may be called twice.
func (s *Snapshot) Release() {
	if s.view != nil {
		s.view.Close()
		s.view = nil
	}
}

// WriteTo streams the snapshot.
//
// Invariant: what it holds is flushed before it ends well. The Raft log is cut behind snapshots that were written, and so never behind
// what a crash leaves of the state.
func (s *Snapshot) WriteTo(w io.Writer) (int64, error) {
	out := &counting{w: w}
	err := s.write(out)
	s.state.reportDamage(err)
	if err != nil {
		return out.n, fmt.Errorf("snapshot: %w", err)
	}
	return out.n, nil
}

func (s *Snapshot) write(out io.Writer) error {
	if err := s.view.of.Flush(); err != nil {
		return damage(err)
	}
	return snapshot.Write(out, s.view.of.Size(), s.view.carried, s.Progress)
}

// carried walks the rows that travel: all but those of the log's window, whose records stay here. Where it is restored, the window begins
// behind it.
func (v *View) carried(f func(k, v []byte) error) error {
	m := v.mark()
	m.First, m.Ops, m.Oldest, m.Trimmed = m.Index+1, 0, oplog.HLC{}, m.Last
	mark, window := appendRow(nil, tMeta, 0, keyMark), under(tLog, 0, nil)
	return v.rows(func(k, val []byte) error {
		switch {
		case bytes.Compare(k, window.lower) >= 0 && bytes.Compare(k, window.upper) < 0:
			return nil
		case bytes.Equal(k, mark):
			return f(k, oplog.Pack(nil, &m))
		}
		return f(k, val)
	})
}

// rows walks all rows of the state until f fails.
func (v *View) rows(f func(k, v []byte) error) error {
	return recoverDamage(func() (err error) {
		for k, val := range v.walk(span{}, false) {
			if err := f(k, val); err != nil {
				return err
			}
		}
		return nil
	})
}

type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
