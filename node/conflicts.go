package node

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// A ConflictQuery filters conflicts; empty fields do not.
type ConflictQuery struct {
	Status    string // open, resolved, dismissed; all is none
	Type      string
	Entity    string
	Namespace string
	Priority  string
	Limit     int // 50; at most maxList
}

const (
	defaultList = 50
	maxList     = 1000
	maxLook     = 20_000 // rows a filtered list looks at
)

func limit(n int) int {
	if n <= 0 {
		return defaultList
	}
	return min(n, maxList)
}

// Conflicts lists contradictions, the most urgent first, then the newest.
func (s *Service) Conflicts(ctx context.Context, c Caller, q ConflictQuery, f Freshness) (rows []oplog.ConflictRow, err error) {
	var statuses []oplog.ConflictStatus
	switch q.Status {
	case "", "all":
	case oplog.ConflictOpen.String():
		statuses = []oplog.ConflictStatus{oplog.ConflictOpen}
	case oplog.ConflictResolved.String():
		statuses = []oplog.ConflictStatus{oplog.ConflictResolved}
	case oplog.ConflictDismissed.String():
		statuses = []oplog.ConflictStatus{oplog.ConflictDismissed}
	default:
		return nil, s.read(ctx, c, f, func(*oplog.View) error { return nil }) // no conflict has it
	}
	n := limit(q.Limit)
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		for _, one := range orAll(statuses) { // each status is in order; together they are sorted
			taken, looked := 0, 0
			v.Conflicts(c.DB, []oplog.ConflictStatus{one}, func(r oplog.ConflictRow) bool {
				if q.admits(&r) {
					rows = append(rows, r)
					taken++
				}
				looked++
				return taken < n && looked < maxLook
			})
		}
		return nil
	})
	slices.SortStableFunc(rows, func(a, b oplog.ConflictRow) int {
		if a.Priority != b.Priority {
			return int(a.Priority) - int(b.Priority)
		}
		return int(max(-1, min(1, b.Detected-a.Detected)))
	})
	return rows[:min(len(rows), n)], err
}

func orAll(s []oplog.ConflictStatus) []oplog.ConflictStatus {
	if len(s) == 0 {
		return []oplog.ConflictStatus{oplog.ConflictOpen, oplog.ConflictResolved, oplog.ConflictDismissed}
	}
	return s
}

func (q *ConflictQuery) admits(r *oplog.ConflictRow) bool {
	return (q.Type == "" || q.Type == r.Type) && (q.Entity == "" || strings.EqualFold(q.Entity, r.Entity)) &&
		(q.Namespace == "" || q.Namespace == r.Namespace) && (q.Priority == "" || q.Priority == r.Priority.String())
}

// maxNote bounds what is said of a resolution, and the questions that feedback is about.
const maxNote = 64 << 10

// A Resolution says how a conflict is to be settled.
type Resolution struct {
	ID       string
	Strategy string    // keep_a, keep_b, keep_both, merge, dismiss
	Winner   string    // a side's id; overrides which one keep_a and keep_b keep
	NewText  string    // of a merge
	Vector   []float32 // of NewText; made by the database's embedder, if it has one
	Note     string
}

// Resolved is what a resolution did.
type Resolved struct {
	Conflict  oplog.ConflictRow // as it is now
	Winner    string
	Forgotten int    // sides that were taken away
	NewRID    string // of a merge
}

// Resolve settles an open conflict in one entry.
func (s *Service) Resolve(ctx context.Context, c Caller, r Resolution) (Resolved, Written, error) {
	op := &oplog.Resolve{ID: r.ID, Strategy: r.Strategy, Winner: r.Winner, Note: r.Note, At: oplog.At(time.Now())}
	if len(r.Note) > maxNote {
		return Resolved{}, Written{}, oplog.Errorf(oplog.TooLarge, "resolution note of %d bytes is over %d", len(r.Note), maxNote)
	}
	if r.Strategy == oplog.MergeAB {
		made, err := s.mergedSides(ctx, c, r)
		if err != nil {
			return Resolved{}, Written{}, err
		}
		op.Merged = made
	}
	w, err := s.write(ctx, c, write{scope: Write, ops: []oplog.Op{op}})
	if err != nil {
		return Resolved{}, w, err
	}
	out := Resolved{Forgotten: int(w.Results[0].Num)}
	err = s.state.Read(func(v *oplog.View) error {
		out.Conflict, _ = v.Conflict(c.DB, r.ID)
		return nil
	})
	out.Winner, out.NewRID = out.Conflict.Winner, out.Conflict.Merged
	return out, w, err
}

// mergedSides is the memory that a merge makes of a conflict's sides.
func (s *Service) mergedSides(ctx context.Context, c Caller, r Resolution) (*oplog.Remember, error) {
	if strings.TrimSpace(r.NewText) == "" {
		return nil, oplog.Errorf(oplog.Invalid, "strategy merge needs new_text")
	}
	var vectors [][]float32
	d := Draft{Text: r.NewText, Type: "semantic", Certainty: .8, Importance: .5, HalfLife: defaultHalfLife, Source: "user", Domain: "general", Embedding: r.Vector}
	err := s.state.Read(func(v *oplog.View) error {
		x, ok := v.Conflict(c.DB, r.ID)
		if !ok {
			return oplog.ErrNoConflict
		}
		d.Namespace = x.Namespace
		var sides []*oplog.Memory
		for _, rid := range []string{x.A, x.B} {
			if m, ok := v.Memory(c.DB, rid); ok && m.Status != oplog.Tombstoned {
				sides = append(sides, m)
				if f := v.Vector(c.DB, m.Seq).Floats(); len(f) > 0 {
					vectors = append(vectors, f)
				}
			}
		}
		inherit(&d, sides)
		var err error
		d.Metadata, err = json.Marshal(map[string]any{"resolved_from": []string{x.A, x.B}, "conflict_id": x.ID})
		return err
	})
	if err != nil {
		return nil, err
	}
	ops, err := s.settleDrafts(ctx, c, []Draft{d})
	if err != nil {
		return nil, err
	}
	if d, err := s.databaseInfo(c.DB); err != nil {
		return nil, err
	} else if len(ops[0].Vector) == 0 && !s.embedsFor(d) { // none will come: what lies between the sides is nearer to them than nothing
		ops[0].Vector = mean(vectors)
	}
	return ops[0], nil
}

const week = 7 * 24 * time.Hour

// inherit gives a memory made of others what these agree on.
func inherit(d *Draft, from []*oplog.Memory) {
	for i, m := range from {
		if i == 0 {
			d.Importance, d.HalfLife = m.Importance, m.HalfLife/3600
			d.Namespace, d.Domain, d.Source, d.Tier, d.Owner = m.Namespace, m.Domain, m.Source, m.Tier, m.Owner
			continue
		}
		d.Importance = max(d.Importance, m.Importance)
		d.HalfLife = max(d.HalfLife, m.HalfLife/3600)
		if d.Domain != m.Domain {
			d.Domain = "general"
		}
		if d.Source != m.Source {
			d.Source = "user"
		}
		if d.Tier != m.Tier {
			d.Tier = ""
		}
		if d.Owner != m.Owner {
			d.Owner = ""
		}
	}
}
