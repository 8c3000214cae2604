// Package mind makes the decisions of THINK as pure functions: they read no clock, no random numbers and no disk, and
// start no goroutine. Only the leader calls them. A round of thinking gathers a Snapshot, calls these functions, and
// proposes their results. Apply checks each decision against the state again, so all replicas drop the same stale
// decisions. The snapshot of a large database holds only a part of it: the new memories, the older ones that they may
// contradict or repeat, and a range of the others. Relations and claims are always included, up to a bound.
//
// # Contradictions
//
// The package extracts facts from a text: a subject, an attribute, a value (facts.go). Two memories of one namespace
// contradict each other when they give one subject two values of a single-valued attribute (a birthday, a home, a
// deadline, "uses … for billing"), or when one denies what the other states. Similar words alone are no
// contradiction: a false alarm costs a person's time, and a missed contradiction leaves the database as it was.
// Relations and claims are compared in the same way (statements.go). Two values of an attribute that may have several
// are reported only on request, with type minor.
//
// When a memory is stored, Statement.Replaces compares it with an older one (replaces.go) and decides whether it
// replaces the older one. It uses the two texts alone. Besides facts it recognizes the same sentence with another
// value, a sentence that names the change ("we renamed master to main", changes.go), and a sentence with a phrase
// such as "no longer" about the same things (cues.go). The engine then marks the older memory as superseded, and
// recall ranks it below the newer one. Recall omits the older memory only if it states a single relation whose value
// changed.
//
// # Duplicates
//
// Two memories are duplicates when their meaningful words are the same, except for a few that one of them adds, and
// their numbers, the order of their names and their denials agree (duplicates.go). Nothing else is merged: in
// particular no text longer than MaxRead, and no two memories of different trust classes.
//
// # Other decisions
//
// Triggers, patterns, personality and learned weights are simple statistics over the snapshot, one file each.
package mind

import (
	"context"

	"github.com/cairndb/cairn/oplog"
)

// A Row is a memory as thinking sees it.
type Row struct {
	Seq                                       oplog.Seq
	RID, Text, Type, Namespace, Domain, Owner string
	Trust                                     string // the trust class
	Created, Accessed                         oplog.Time
	Importance, HalfLife, Valence             float64
	Revision                                  uint32
	Merged                                    bool // created by a merge
	NoMerge                                   bool // must not be merged: pinned, keyed, expiring, superseded or in an open conflict
	Entities                                  []string
}

// A Snapshot is a database at one log index, or the part of it that a round examines.
type Snapshot struct {
	Now        oplog.Time
	Rows       []Row // active memories, oldest first
	Edges      []oplog.Edge
	Claims     []oplog.StoredClaim
	Stats      oplog.Stats
	Resolved   int        // number of resolved or dismissed conflicts
	Critical   oplog.Time // detection time of the oldest open critical conflict; 0 if none
	LastEnd    oplog.Time // end of the latest session; 0 if none
	Patterns   []oplog.Pattern
	Traits     oplog.Personality
	Weights    oplog.Weights
	Judgements []oplog.Judgement
	Minor      bool                                // also report possible contradictions
	Canonical  func(namespace, name string) string // returns an entity's canonical name; nil: the name itself
	Known      func(a, b string) bool              // reports whether this contradiction was found before; nil: never
	Live       func(rid string) bool               // reports whether a memory is active; nil: if it is in Rows

	Yield func() // called every checkEvery rows to yield the CPU when a time slice is over; nil: never yield

	byRID  map[string]*Row           // built on first use
	frames map[string]map[string]int // set by Contradictions: attribute → one-word value → count
}

// checkEvery is the number of rows between two calls of Yield and two checks of the context.
const checkEvery = 16

// pause calls yieldAt and, every checkEvery rows, returns the context's error.
func (s *Snapshot) pause(ctx context.Context, i int) error {
	s.yieldAt(i)
	if i%checkEvery != 0 {
		return nil
	}
	return ctx.Err()
}

// yieldAt calls Yield every checkEvery rows. It ignores the context, for loops that are short enough to finish.
func (s *Snapshot) yieldAt(i int) {
	if i%checkEvery == 0 && s.Yield != nil {
		s.Yield()
	}
}

// row returns the row with an id, or nil.
func (s *Snapshot) row(rid string) *Row {
	if s.byRID == nil {
		s.byRID = make(map[string]*Row, len(s.Rows))
		for i := range s.Rows {
			s.yieldAt(i)
			s.byRID[s.Rows[i].RID] = &s.Rows[i]
		}
	}
	return s.byRID[rid]
}

// live reports whether a memory is active.
func (s *Snapshot) live(rid string) bool {
	if s.Live != nil {
		return s.Live(rid)
	}
	return s.row(rid) != nil
}

// isNew reports whether the contradiction of a pair has not been found before.
func (s *Snapshot) isNew(a, b string) bool { return s.Known == nil || !s.Known(a, b) }

// Newest returns a copy of the snapshot with only its newest rows, at most the given number.
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
