package engine

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// thinker is one round.
type thinker struct {
	s      *Service
	c      api.Caller
	r      api.ThinkRequest
	until  time.Time // it reads no more then
	base   oplog.Index
	last   oplog.Seq // the newest memory at base
	set    oplog.Settings
	mind   oplog.Mind
	whole  bool              // all memories that the round is about are in its snapshot
	places map[oplog.Seq]int // of memories in the snapshot
	seeds  []oplog.Seq       // of a part: the memories that the round is for; the others may have to do with them
	unread int               // memories that a round had read and that say something new, at base
	snap   mind.Snapshot

	op oplog.Cognition // what is decided
}

// Bounds of one round, so that its memory and its time are bounded however large the database is. How many memories it
// reads is Background.ThinkRows. Relations and claims are read each time.
const (
	maxLimit     = 10_000
	longestRound = time.Minute
	thinkEdges   = 100_000
	thinkClaims  = 100_000
	thinkSlice   = 100 // rows read at one view
	thinkText    = 2048
)

// gather reads the snapshot in slices. Writes go on between them, so every decision carries the revisions that it was
// made from.
func (t *thinker) gather(ctx context.Context) error {
	if err := t.s.state.Read(t.begin); err != nil {
		return err
	}
	t.snap.Rest = t.s.yieldToReaders(ctx)
	memories := t.gatherPart
	if t.whole {
		memories = t.gatherAll
	}
	if err := memories(ctx); err != nil {
		return err
	}
	return t.gatherStatements(ctx)
}

// begin notes where the database is, and decides how much of it the round reads.
func (t *thinker) begin(v *state.View) error {
	db := t.c.DB
	if _, ok := v.Database(db); !ok {
		return oplog.ErrNoDatabase
	}
	t.base, t.mind, t.set, t.places = v.Index(), v.Mind(db, t.r.Namespace), v.Settings(db), map[oplog.Seq]int{}
	t.mind.Read = max(t.mind.Read, v.Mind(db, "").Read)
	t.snap = mind.Snapshot{Now: oplog.At(t.s.now()), Minor: t.r.Minor, Stats: v.Stats(db), Traits: v.Personality(db)}
	t.snap.Weights, _ = v.Weights(db)
	t.last, t.op.Namespace = oplog.Seq(t.snap.Stats.NextSeq), t.r.Namespace
	if t.r.Namespace == "" {
		t.gatherSmall(v)
	}
	n := v.ReachStats(db, oplog.Reach{Name: t.r.Namespace})
	t.whole = t.r.MaxMillis == 0 && n.Active+n.Consolidated+n.Tombstoned+n.Quarantined <= uint64(t.s.cfg.Background.ThinkRows)
	if !t.r.Conflicts {
		return nil
	}
	t.unread = state.Counted(func(f func(*oplog.Memory) bool) { v.Reread(db, 0, f) }, func(m *oplog.Memory) bool {
		if t.whole && t.about(m) && len(t.op.Reread) < partsAnEntry {
			t.op.Reread = append(t.op.Reread, oplog.Grounds{RID: m.RID, Revision: m.Revision})
		}
		return t.about(m)
	})
	if t.whole {
		t.op.Read = t.last
	}
	return nil
}

// about says whether the round is about a memory.
func (t *thinker) about(m *oplog.Memory) bool {
	return t.r.Namespace == "" || m.Namespace == t.r.Namespace
}

// inScope walks the memories that the round is about from a number on.
func (t *thinker) inScope(v *state.View, db oplog.DB, from oplog.Seq, f func(*oplog.Memory) bool) {
	if t.r.Namespace == "" {
		v.Memories(db, from, f)
		return
	}
	v.NamespaceFrom(db, t.r.Namespace, from, func(seq oplog.Seq) bool {
		m, ok := v.MemoryAt(db, seq)
		return !ok || f(m)
	})
}

// gatherAll reads all memories that the round is about.
func (t *thinker) gatherAll(ctx context.Context) error {
	return inSlices(ctx, t, 1, t.inScope, func(v *state.View, m *oplog.Memory) (oplog.Seq, bool) {
		t.tierPolicy(m)
		t.take(v, m)
		return m.Seq + 1, true
	})
}

// gatherStatements reads relations and claims. Relations belong to no namespace: a round about one has none.
func (t *thinker) gatherStatements(ctx context.Context) error {
	if t.r.Namespace == "" {
		if err := inSlices(ctx, t, "", (*state.View).EdgesBehind, func(_ *state.View, e oplog.Edge) (string, bool) {
			t.snap.Edges = append(t.snap.Edges, e)
			return e.ID, len(t.snap.Edges) < thinkEdges
		}); err != nil {
			return err
		}
	}
	looked := 0
	return inSlices(ctx, t, "", (*state.View).ClaimsBehind, func(_ *state.View, c oplog.StoredClaim) (string, bool) {
		if looked++; t.r.Namespace == "" || c.Namespace == t.r.Namespace {
			t.snap.Claims = append(t.snap.Claims, c)
		}
		return c.ID, looked < thinkClaims
	})
}

// inSlices walks rows of the round's database in slices, and rests behind each.
func inSlices[K, T any](ctx context.Context, t *thinker, from K, walk func(*state.View, oplog.DB, K, func(T) bool), each func(*state.View, T) (K, bool)) error {
	for err := range state.InPages(t.s.state, t.c.DB, thinkSlice, from, walk, func(v *state.View, x T) (K, int, bool) {
		next, on := each(v, x)
		return next, 1, on
	}) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		t.snap.Rest()
	}
	return nil
}

// take puts a memory into the snapshot, once, and returns its place there. One that is not active, or cannot be
// searched for, has none.
func (t *thinker) take(v *state.View, m *oplog.Memory) (place int, ok bool) {
	if i, there := t.places[m.Seq]; there {
		return i, true
	}
	if m.Status != oplog.Active || !m.Indexed() {
		return 0, false
	}
	place = len(t.snap.Rows)
	t.places[m.Seq] = place
	t.snap.Rows = append(t.snap.Rows, mind.Row{Seq: m.Seq, RID: m.RID, Text: strings.Clone(m.Text[:min(len(m.Text), thinkText)]), Type: m.Type, Namespace: m.Namespace, Domain: m.Domain,
		Source: m.Source, Created: m.Created, Accessed: m.Accessed, Importance: m.Importance, HalfLife: m.HalfLife, Valence: m.Valence, Revision: m.Revision,
		Made: m.Merged > 0, Held: m.Pin || m.Path != "" || m.Expires != 0 || m.Namespace == oplog.Mem0Namespace || m.By != "" || v.InConflict(t.c.DB, m.RID), Entities: m.Entities})
	return place, true
}

// gatherSmall reads the tables that are small compared with the memories.
func (t *thinker) gatherSmall(v *state.View) {
	db, looked := t.c.DB, 0
	v.Conflicts(db, nil, func(c oplog.ConflictRow) bool {
		switch {
		case c.Status != oplog.ConflictOpen:
			t.snap.Resolved++
		case c.Priority == oplog.Critical && (t.snap.Critical == 0 || c.Detected < t.snap.Critical):
			t.snap.Critical = c.Detected
		}
		looked++
		return looked < state.MaxLook
	})
	v.Patterns(db, func(p oplog.Pattern) bool {
		t.snap.Patterns = append(t.snap.Patterns, p)
		return len(t.snap.Patterns) < state.MaxLook
	})
	v.Judgements(db, func(j oplog.Judgement) bool {
		t.snap.Judgements = append(t.snap.Judgements, j)
		return true // the table is bounded
	})
	v.SessionsOf(db, "default", func(x oplog.Session) bool {
		t.snap.LastEnd = max(t.snap.LastEnd, x.Ended)
		looked++
		return looked < 2*state.MaxLook
	})
	for _, st := range []oplog.TriggerStatus{oplog.TriggerPending, oplog.TriggerDelivered} {
		v.Triggers(db, st, func(x oplog.TriggerRow) bool {
			if x.Expires <= t.snap.Now {
				t.op.Expired = append(t.op.Expired, x.ID)
			}
			return len(t.op.Expired) < api.MaxList
		})
	}
}

// left counts the memories in the round's scope that no round has read, of those that there were when it began.
func (t *thinker) left() (int, error) {
	if !t.r.Conflicts {
		return 0, nil
	}
	from, n := max(t.mind.Read, t.op.Read)+1, max(t.unread-len(t.op.Reread), 0)
	if t.r.Namespace == "" {
		return n + int(max(t.last+1, from)-from), nil
	}
	return n, t.s.state.Read(func(v *state.View) error {
		seen := 0
		v.NamespaceFrom(t.c.DB, t.r.Namespace, from, func(seq oplog.Seq) bool {
			if seq <= t.last {
				seen++
			}
			return seq < t.last && seen < state.MaxLook
		})
		n += seen
		return nil
	})
}
