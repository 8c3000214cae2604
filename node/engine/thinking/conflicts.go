package thinking

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// Conflicts lists contradictions with the texts of their sides.
func (th *Thinker) Conflicts(v *state.View, c api.Caller, q *api.ConflictsRequest) (*api.ConflictList, error) {
	a := &api.ConflictList{}
	a.Conflicts, a.Bounded = FindConflicts(v, c, q)
	for i, bytes := 0, 0; i < len(a.Conflicts); i++ {
		x := &a.Conflicts[i]
		x.SideA, x.SideB = conflictSide(v, c.DB, x.A), conflictSide(v, c.DB, x.B)
		fits := c.Hold.Fits
		if i == 0 {
			fits = c.Hold.FitsFirst
		}
		if bytes += 512 + len(x.Reason) + len(api.OrOld(x.SideA.Text, "")) + len(api.OrOld(x.SideB.Text, "")); !fits(bytes) {
			a.Conflicts, a.Bounded = a.Conflicts[:i], api.Cut(i, "contradictions, whose texts fill an answer,", "name a type, an entity or a memory")
		}
	}
	return a, nil
}

// FindConflicts returns contradictions, the most urgent first, then the newest. It does not read their sides.
func FindConflicts(v *state.View, c api.Caller, q *api.ConflictsRequest) ([]api.Conflict, api.Bounded) {
	n, rows, more, truncated := api.Limit(q.Limit), []oplog.ConflictRow(nil), false, false
	for _, status := range conflictStatuses { // each status is sorted; the union is sorted below
		if q.Status == "" || q.Status == "all" || q.Status == status.String() {
			found, hasMore := state.Collect(n, func(f func(oplog.ConflictRow) bool) { v.Conflicts(c.DB, []oplog.ConflictStatus{status}, f) },
				func(r oplog.ConflictRow) bool {
					return wantsConflict(q, &r) && v.ConflictWithin(c.DB, c.Reach(q.Namespace), &r)
				})
			rows = append(rows, found...)
			more, truncated = more || hasMore, truncated || hasMore && len(found) < n
		}
	}
	slices.SortStableFunc(rows, func(a, b oplog.ConflictRow) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Detected, a.Detected))
	})
	bounded := api.Ended(min(len(rows), n), more || len(rows) > n, "name a status, a type or an entity")
	if truncated {
		bounded = api.Cut(state.MaxScan, "contradictions of a status, the most urgent,", "resolve some of them")
	}
	return api.Each(rows[:min(len(rows), n)], conflictOf), bounded
}

var conflictStatuses = []oplog.ConflictStatus{oplog.ConflictOpen, oplog.ConflictResolved, oplog.ConflictDismissed}

func wantsConflict(q *api.ConflictsRequest, r *oplog.ConflictRow) bool {
	return (q.Type == "" || q.Type == r.Type) && (q.Entity == "" || strings.EqualFold(q.Entity, r.Entity)) &&
		(q.Memory == "" || q.Memory == r.A || q.Memory == r.B || q.Memory == r.Winner) &&
		(q.Priority == "" || q.Priority == r.Priority.String())
}

// OpenConflicts counts the open contradictions within reach.
func OpenConflicts(v *state.View, db oplog.DB, r oplog.Reach) uint64 {
	return uint64(v.ConflictsWithin(db, r, oplog.ConflictOpen))
}

// maxNote bounds the note of a resolution, and the query of feedback.
const maxNote = 64 << 10

var conflictOf = api.Made[oplog.ConflictRow, api.Conflict]()

// conflictSide describes a side of a conflict. Its text is null if the side no longer exists.
func conflictSide(v *state.View, db oplog.DB, id string) *api.Side {
	side := func(kind, text string, at oplog.Time) *api.Side {
		return &api.Side{Kind: kind, Text: api.OrNil(text), Created: api.When(at)}
	}
	if edge, ok := strings.CutPrefix(id, "edge:"); ok {
		if e, ok := v.Edge(db, edge); ok {
			return side("relation", sentence(e.Src, e.Type, e.Dst), e.Created)
		}
		return side("relation", "", 0)
	}
	if claim, ok := strings.CutPrefix(id, "claim:"); ok {
		c, ok := v.Claim(db, claim)
		switch {
		case !ok || c.ValidTo != nil:
			return side("claim", "", 0)
		case c.Polarity < 0:
			return side("claim", "not so: "+sentence(c.Src, c.Type, c.Dst), c.At)
		}
		return side("claim", sentence(c.Src, c.Type, c.Dst), c.At)
	}
	if m, ok := v.Memory(db, id); ok && m.Status != oplog.Tombstoned {
		return side("memory", m.Text, m.Created)
	}
	return side("memory", "", 0)
}

// sentence returns a relation in readable form.
func sentence(subject, relation, object string) string {
	return subject + " " + strings.ReplaceAll(relation, "_", " ") + " " + object
}

// checkResolution rejects invalid resolutions, with the error texts that clients match.
func checkResolution(q *api.ResolveRequest) error {
	switch {
	case q.Strategy == "":
		return oplog.Errorf(oplog.Invalid, "missing 'strategy'")
	case !slices.Contains(oplog.Strategies, q.Strategy):
		return oplog.Errorf(oplog.Invalid, "sync error: unknown resolution strategy: %s", q.Strategy)
	case q.Strategy == oplog.MergeAB && strings.TrimSpace(q.NewText) == "":
		return oplog.Errorf(oplog.Invalid, "sync error: merge strategy requires new_text")
	case len(q.Note) > maxNote:
		return oplog.Errorf(oplog.TooLarge, "resolution note of %d bytes is over %d", len(q.Note), maxNote)
	}
	return nil
}

// Resolve closes an open conflict in one entry.
func (th *Thinker) Resolve(ctx context.Context, c api.Caller, q *api.ResolveRequest) (*api.Resolved, error) {
	if err := checkResolution(q); err != nil {
		return nil, err
	}
	op := &oplog.Resolve{ID: q.ID, Strategy: q.Strategy, Winner: q.Winner, Note: q.Note, At: oplog.At(th.cfg.Now())}
	var at oplog.Index
	var results []oplog.Result
	var err error
	if q.Strategy == oplog.MergeAB {
		op.Merged, err = th.mergedSides(ctx, c, q)
	}
	if err == nil {
		at, results, err = th.cfg.Write(ctx, c, op)
	}
	switch {
	case errors.Is(err, oplog.ErrNoConflict):
		return nil, oplog.Errorf(oplog.NotFound, "memory not found: conflict: %s", q.ID)
	case errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) && !errors.Is(err, oplog.ErrErasedText):
		return nil, oplog.Errorf(oplog.Conflict, "sync error: conflict %s is already resolved", q.ID)
	case err != nil:
		return nil, err
	}
	x, err := state.Get(th.cfg.State, func(v *state.View) oplog.ConflictRow { x, _ := v.Conflict(c.DB, q.ID); return x })
	return &api.Resolved{ID: q.ID, Strategy: q.Strategy, Winner: api.OrNil(x.Winner), Lost: results[0].Num > 0,
		NewRID: api.OrNil(x.Merged), Index: field.Token(at)}, err
}

// mergedSides returns the memory that merges the sides of a conflict.
func (th *Thinker) mergedSides(ctx context.Context, c api.Caller, q *api.ResolveRequest) (*oplog.Remember, error) {
	var near oplog.Vector
	d := api.Draft{Text: q.NewText, Type: "semantic", Certainty: .8, Importance: .5, HalfLife: api.DefaultHalfLife,
		Source: "user", Domain: "general"}
	err := th.cfg.State.Read(func(v *state.View) error {
		x, ok := v.Conflict(c.DB, q.ID)
		if !ok {
			return oplog.ErrNoConflict
		}
		d.Namespace = x.Namespace
		var sides []*oplog.Memory
		for _, rid := range []string{x.A, x.B} {
			if m, ok := v.Memory(c.DB, rid); ok && m.Status != oplog.Tombstoned {
				sides = append(sides, m)
			}
		}
		d.Inherit(sides)
		near = v.MeanVector(c.DB, sides)
		var err error
		d.Metadata, err = json.Marshal(map[string]any{"resolved_from": []string{x.A, x.B}, "conflict_id": x.ID})
		return err
	})
	if err != nil {
		return nil, err
	}
	return th.cfg.Compose(ctx, c, d, near)
}
