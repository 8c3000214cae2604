// Package mind makes the decisions of THINK, as functions of plain values: no clock, no chance, no disk, no
// goroutine. Only the leader calls it, from one round of thinking: it gathers a Snapshot, calls these functions, and
// proposes what they return. Apply checks each decision against the state again, so all replicas drop a stale one
// alike. The snapshot of a large database is a part of it: what is new with what that may contradict or repeat, and a
// stretch of the rest. Relations and claims are always there, up to a bound.
//
// # Contradictions
//
// A text is read for facts: a subject, an attribute, a value (facts.go). Two memories of one namespace contradict
// each other when they give one subject two values of an attribute that has one (a birthday, a home, a deadline,
// "uses … for billing"), or when one denies what the other states. Words that are merely similar contradict nothing:
// a false alarm costs a person's time, a missed one costs nothing that was not lost before. Relations and claims are
// compared in the same way (statements.go). Values of an attribute that may well have several are reported only when
// they are requested, as minor.
//
// Statement.Replaces compares two texts alone, when the newer one is stored (replaces.go), and decides whether it
// replaces the older one. It reads more than facts: the same sentence with another value, a sentence that says what
// has changed ("we renamed master to main", changes.go), and one that says that something has changed. What it finds
// marks the older memory, which recall returns behind the newer one; only a memory that states one relation, with
// another value by now, is left out.
//
// # Duplicates
//
// Two memories say the same when the words that carry meaning are the same but for a few that one of them adds, with
// the same numbers, the same names in the same order, and the same denials (duplicates.go). Nothing else is merged,
// in particular no text that is too long to be read whole, and nothing with a memory of another class of trust.
//
// # The rest
//
// Triggers, patterns, personality and learned weights are small sums over the snapshot, one file each.
package mind

import (
	"context"

	"github.com/cairndb/cairn/oplog"
)

// A Row is a memory as thinking sees it.
type Row struct {
	Seq                                oplog.Seq
	RID, Text, Type, Namespace, Domain string
	Trust                              string // class
	Created, Accessed                  oplog.Time
	Importance, HalfLife, Valence      float64
	Revision                           uint32
	Made                               bool // by a merge
	Held                               bool // not to be merged: it is in an open conflict
	Entities                           []string
}

// A Snapshot is a database at one index, or the part of it that a round looks at.
type Snapshot struct {
	Now        oplog.Time
	Rows       []Row // active ones, the oldest first
	Edges      []oplog.Edge
	Claims     []oplog.StoredClaim
	Stats      oplog.Stats
	Resolved   int        // conflicts that were resolved or dismissed
	Critical   oplog.Time // when the oldest open critical conflict was found; 0 for none
	LastEnd    oplog.Time // of the session that ended last; 0 for none
	Patterns   []oplog.Pattern
	Traits     oplog.Personality
	Weights    oplog.Weights
	Judgements []oplog.Judgement
	Minor      bool                                // report what may be a contradiction too
	Canonical  func(namespace, name string) string // nil: names stand for themselves
	Known      func(a, b string) bool              // says whether a pair's contradiction was found before; nil: none was
	Live       func(rid string) bool               // says whether a memory is an active one; nil: those among Rows are

	Rest func() // called every few rows: it rests when it has been long enough; nil for no rest

	byRID  map[string]*Row           // made when first needed
	frames map[string]map[string]int // what Contradictions read: single words by the attribute they were the value of
}

// checkEvery is the number of rows between two looks at the caller's context.
const checkEvery = 16

// pause rests, and returns the error of a context that has ended, every few rows.
func (s *Snapshot) pause(ctx context.Context, i int) error {
	s.rest(i)
	if i%checkEvery != 0 {
		return nil
	}
	return ctx.Err()
}

// rest calls Rest every few rows, in loops that are short enough to be finished.
func (s *Snapshot) rest(i int) {
	if i%checkEvery == 0 && s.Rest != nil {
		s.Rest()
	}
}

// row is the row with an id; nil when there is none.
func (s *Snapshot) row(rid string) *Row {
	if s.byRID == nil {
		s.byRID = make(map[string]*Row, len(s.Rows))
		for i := range s.Rows {
			s.rest(i)
			s.byRID[s.Rows[i].RID] = &s.Rows[i]
		}
	}
	return s.byRID[rid]
}

// live reports whether a memory is an active one.
func (s *Snapshot) live(rid string) bool {
	if s.Live != nil {
		return s.Live(rid)
	}
	return s.row(rid) != nil
}

// isNew reports whether the contradiction of a pair was not found before.
func (s *Snapshot) isNew(a, b string) bool { return s.Known == nil || !s.Known(a, b) }

// Newest is the snapshot with no more than its newest rows.
func (s *Snapshot) Newest(most int) *Snapshot {
	n := *s
	n.Rows, n.byRID = s.Rows[max(0, len(s.Rows)-most):], nil
	return &n
}

func (s *Snapshot) canonical(namespace, name string) string {
	if s.Canonical == nil {
		return name
	}
	return s.Canonical(namespace, name)
}

const day = oplog.Time(24 * 3600 * 1e6)
