package thinking

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

// round is one round of cognition.
type round struct {
	th       *Thinker
	c        api.Caller
	q        api.ThinkRequest
	deadline time.Time // the round stops reading then
	base     oplog.Index
	lastSeq  oplog.Seq // the newest memory at base
	settings oplog.Settings
	progress oplog.Mind
	complete bool              // the snapshot has all memories in scope
	rowOf    map[oplog.Seq]int // memory → index in snap.Rows
	seeds    []oplog.Seq       // in a part: the memories to be compared; the others are their possible partners
	unread   int               // at base: memories whose text changed after a round read them
	snap     mind.Snapshot

	op oplog.Cognition // the decisions
}

// Bounds of the memory and time of one round. Background.ThinkRows bounds its memories; it reads up to ten times as
// many relations and claims.
const (
	maxLimit     = 10_000
	maxRoundTime = time.Minute
	rowsPerSlice = 100 // rows read in one view of the state
	maxRowText   = mind.MaxRead
)

// gather reads the snapshot in slices. Writes go on between them, so every decision carries the revisions that it is
// based on.
func (r *round) gather(ctx context.Context) error {
	if err := r.th.cfg.State.Read(r.begin); err != nil {
		return err
	}
	r.snap.Yield = r.th.yieldToReaders(ctx)
	memories := r.gatherPart
	if r.complete {
		memories = r.gatherAll
	}
	if err := memories(ctx); err != nil {
		return err
	}
	return r.gatherStatements(ctx)
}

// begin records the position of the database, and decides how much of it the round reads.
func (r *round) begin(v *state.View) error {
	db := r.c.DB
	if _, ok := v.Database(db); !ok {
		return oplog.ErrNoDatabase
	}
	r.base, r.progress, r.settings, r.rowOf = v.Index(), v.Mind(db, r.q.Namespace), v.Settings(db), map[oplog.Seq]int{}
	r.progress.Read = max(r.progress.Read, v.Mind(db, "").Read)
	r.snap = mind.Snapshot{Now: oplog.At(r.th.cfg.Now()), Minor: r.q.Minor, Stats: v.Stats(db), Traits: v.Personality(db)}
	r.snap.Weights, _ = v.Weights(db)
	r.lastSeq, r.op.Namespace = oplog.Seq(r.snap.Stats.NextSeq), r.q.Namespace
	if r.q.Namespace == "" {
		r.gatherSmallTables(v)
	}
	n := v.ReachStats(db, oplog.Reach{Name: r.q.Namespace})
	r.complete = r.q.MaxMillis == 0 && n.Active+n.Consolidated+n.Tombstoned+n.Quarantined <= uint64(r.th.cfg.Rows)
	if !r.q.Conflicts {
		return nil
	}
	r.unread = state.CountMatching(func(f func(*oplog.Memory) bool) { v.Reread(db, 0, f) }, func(m *oplog.Memory) bool {
		if r.complete && r.inScope(m) && len(r.op.Reread) < partsPerEntry {
			r.op.Reread = append(r.op.Reread, oplog.Grounds{RID: m.RID, Revision: m.Revision})
		}
		return r.inScope(m)
	})
	if r.complete {
		r.op.Read = r.lastSeq
	}
	return nil
}

// inScope reports whether a memory is in the round's namespace.
func (r *round) inScope(m *oplog.Memory) bool {
	return r.q.Namespace == "" || m.Namespace == r.q.Namespace
}

// walkScope walks the memories in scope from a number on.
func (r *round) walkScope(v *state.View, db oplog.DB, from oplog.Seq, f func(*oplog.Memory) bool) {
	if r.q.Namespace == "" {
		v.Memories(db, from, f)
		return
	}
	v.NamespaceFrom(db, r.q.Namespace, from, func(seq oplog.Seq) bool {
		m, ok := v.MemoryAt(db, seq)
		return !ok || f(m)
	})
}

// gatherAll reads all memories in scope.
func (r *round) gatherAll(ctx context.Context) error {
	return inSlices(ctx, r, 1, r.walkScope, func(v *state.View, m *oplog.Memory) (oplog.Seq, bool) {
		r.applyTierPolicy(m)
		r.addRow(v, m)
		return m.Seq + 1, true
	})
}

// inSlices walks rows of the round's database in slices, and yields after each.
func inSlices[K, T any](ctx context.Context, r *round, from K, walk func(*state.View, oplog.DB, K, func(T) bool), visit func(*state.View, T) (K, bool)) error {
	for err := range state.InPages(r.th.cfg.State, r.c.DB, rowsPerSlice, from, walk, func(v *state.View, x T) (K, int, bool) {
		next, more := visit(v, x)
		return next, 1, more
	}) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		r.snap.Yield()
	}
	return nil
}

// addRow adds a memory to the snapshot, once, and returns its index there. ok is false if the memory is not active or
// not searchable.
func (r *round) addRow(v *state.View, m *oplog.Memory) (place int, ok bool) {
	if place, exists := r.rowOf[m.Seq]; exists {
		return place, true
	}
	if m.Status != oplog.Active || !m.Indexed() {
		return 0, false
	}
	place = len(r.snap.Rows)
	r.rowOf[m.Seq] = place
	r.snap.Rows = append(r.snap.Rows,
		mind.Row{Seq: m.Seq, RID: m.RID, Text: strings.Clone(m.Text[:min(len(m.Text), maxRowText)]), Type: m.Type,
			Namespace: m.Namespace, Domain: m.Domain, Owner: m.Owner,
			Trust: m.Trust, Created: m.Created, Accessed: m.Accessed, Importance: m.Importance, HalfLife: m.HalfLife,
			Valence: m.Valence, Revision: m.Revision,
			Merged: m.Merged > 0,
			NoMerge: m.Pin || m.Path != "" || m.Expires != 0 || m.Namespace == oplog.Mem0Namespace || m.By != "" ||
				v.InConflict(r.c.DB, m.RID), Entities: m.Entities})
	return place, true
}

// gatherSmallTables reads the tables that are small compared to the memories.
func (r *round) gatherSmallTables(v *state.View) {
	db, visited := r.c.DB, 0
	v.Conflicts(db, nil, func(c oplog.ConflictRow) bool {
		switch {
		case c.Status != oplog.ConflictOpen:
			r.snap.Resolved++
		case c.Priority == oplog.Critical && (r.snap.Critical == 0 || c.Detected < r.snap.Critical):
			r.snap.Critical = c.Detected
		}
		visited++
		return visited < state.MaxScan
	})
	r.snap.Patterns, _ = state.Collect(state.MaxScan, func(f func(oplog.Pattern) bool) { v.Patterns(db, f) },
		func(oplog.Pattern) bool { return true })
	v.Judgements(db, func(j oplog.Judgement) bool {
		j.Query = strings.Clone(j.Query[:min(len(j.Query), maxRowText)])
		r.snap.Judgements = append(r.snap.Judgements, j)
		return true // the table is bounded
	})
	v.SessionsOf(db, "default", func(x oplog.Session) bool {
		r.snap.LastEnd = max(r.snap.LastEnd, x.Ended)
		visited++
		return visited < 2*state.MaxScan
	})
	for _, st := range []oplog.TriggerStatus{oplog.TriggerPending, oplog.TriggerDelivered} {
		v.Triggers(db, st, func(x oplog.TriggerRow) bool {
			if x.Expires <= r.snap.Now {
				r.op.Expired = append(r.op.Expired, x.ID)
			}
			return len(r.op.Expired) < api.MaxList
		})
	}
}

// countUnread counts the memories in scope that no round has read, among those that existed at the start.
func (r *round) countUnread() (int, error) {
	if !r.q.Conflicts {
		return 0, nil
	}
	from, n := max(r.progress.Read, r.op.Read)+1, max(r.unread-len(r.op.Reread), 0)
	if r.q.Namespace == "" {
		return n + int(max(r.lastSeq+1, from)-from), nil
	}
	return n, r.th.cfg.State.Read(func(v *state.View) error {
		seen := 0
		v.NamespaceFrom(r.c.DB, r.q.Namespace, from, func(seq oplog.Seq) bool {
			if seq <= r.lastSeq {
				seen++
			}
			return seq < r.lastSeq && seen < state.MaxScan
		})
		n += seen
		return nil
	})
}
