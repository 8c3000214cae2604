package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Bounds of the comparison of a new statement. It does not search for words that more memories have, so it costs the
// same however many memories there are.
const (
	closest     = 3   // memories that have the most of its words
	rareRows    = 512 // memories that may have a word that is looked for
	statedBytes = 600 // of a statement: a longer text is a document, and supersedes nothing
	mostStated  = 32  // memories of one request: more are a load of what was known before
)

// supersede finds the older statements of a namespace that new ones replace, before the entry enters the log: Apply
// must not search. It adds its findings to the memories, and Apply drops those that no longer hold. It compares
// neither memories of one request with each other, nor those that two nodes store at the same moment, nor those of a
// large request.
func (s *Service) supersede(ctx context.Context, db oplog.DB, ops []*oplog.Remember) error {
	now, err := s.state.Current(db)
	if err != nil || now.Stats.Active == 0 || len(ops) > mostStated {
		return err
	}
	for _, op := range ops {
		m := oplog.Memory{Content: op.Content}
		if op.Was != nil || op.Held || op.Session != "" {
			continue
		}
		if op.Marks, err = s.findMarks(ctx, db, &m, m.Created, oplog.At(s.now())); err != nil {
			return err
		}
	}
	return nil
}

// addEarlierSuperseded completes the answer to a write that its idempotency key repeats: it adds the memories that
// the written ones superseded then and still supersede.
func (s *Service) addEarlierSuperseded(db oplog.DB, w *Written) error {
	again := func(r oplog.Result) bool { return r.ID != "" && (w.Replayed || !r.Changed) }
	if !slices.ContainsFunc(w.Results, again) {
		return nil
	}
	return s.state.Inspect(func(v *state.View) {
		for _, r := range w.Results {
			if again(r) {
				for c := range v.ConflictsOf(db, r.ID) {
					if c.Strategy == oplog.Superseded && c.Winner == r.ID {
						w.Superseded = append(w.Superseded, c.Other(r.ID))
					}
				}
			}
		}
	})
}

// dividedMarks returns the memories that a written one supersedes, and the one that supersedes it: a memory of an
// earlier date is superseded by a stored one.
func (s *Service) dividedMarks(db oplog.DB, rid string, w *Written) (older []string, by string, err error) {
	if w.Replayed || slices.Contains(w.Superseded, rid) {
		m, err := s.memory(db, rid)
		if err != nil {
			return nil, "", err
		}
		by = m.By
	}
	return slices.DeleteFunc(w.Superseded, func(other string) bool { return other == rid }), by, nil
}

// replaceable reports whether a memory is a statement that another one may replace. Turns of a dialogue, events,
// keyed memories and kinds that stay as they were said are not.
func replaceable(v *state.View, db oplog.DB, m *oplog.Memory) bool {
	if m.Session != "" {
		if x, ok := v.Session(db, m.Session); !ok || x.Status == oplog.SessionImplicit {
			return false // a transcript's
		}
	}
	return m.Speaker == "" && m.Path == "" && !m.Unsearchable && !m.Pin && m.Namespace != oplog.Mem0Namespace && m.Merged == 0 &&
		len(m.Text) <= statedBytes &&
		!slices.Contains(neverReplaced, m.Type)
}

// neverReplaced lists the kinds of memories that no other memory replaces.
var neverReplaced = []string{"episodic", "emotional", "capture", "cache", kindTurn, "constraint", "rule", "goal", selfModel}

// findMarks compares a memory, whose text holds since a time, with the memories that share its words.
func (s *Service) findMarks(ctx context.Context, db oplog.DB, m *oplog.Memory, since, at oplog.Time) (marks []oplog.Mark, err error) {
	if len(m.Text) > statedBytes {
		return nil, nil
	}
	said := mind.Read(m.Text)
	words := said.LookFor()
	if words == "" {
		return nil, nil
	}
	ok, err := state.Get(s.state, func(v *state.View) bool { return replaceable(v, db, m) })
	if err != nil || !ok {
		return nil, err
	}
	hits, _, err := s.index.Search(ctx, db,
		index.Query{Text: words, K: closest, MaxDF: rareRows, Now: at.Time(), Without: rank.Switches(),
			Filter: index.Filter{Namespace: m.Namespace}})
	if err != nil {
		return nil, err
	}
	return marks, s.state.Inspect(func(v *state.View) {
		relations := mind.Relations{Single: v.Settings(db).Single, Several: v.Settings(db).Several}
		for place, h := range hits {
			o, ok := v.Memory(db, h.Memory.RID)
			if !ok || o.RID == m.RID || o.Status != oplog.Active || o.Owner != m.Owner || o.Tier != m.Tier || o.By != "" && o.By != m.RID ||
				!replaceable(v, db, o) {
				continue
			}
			older, newer, said := o, m, said
			if holdsSince(v, db, o) > since {
				older, newer, said = m, o, mind.Read(o.Text)
			}
			if o.By == m.RID {
				o.Revision++ // the correction makes it current first
			}
			r, ok := said.Replaces(older.Text, relations)
			if !ok || place > 0 && r.How == mind.Changed || v.HadConflict(db, m.RID, o.RID) && o.By != m.RID && m.By != o.RID && !v.InConflict(db, o.RID) {
				continue
			}
			marks = append(marks, markOf(older, newer, r, at))
			if newer == o || r.How != mind.Stated {
				break
			}
		}
	})
}

// holdsSince returns the time since which a memory's text holds: for a current memory, its last correction. A
// correction of a superseded memory is about the past.
func holdsSince(v *state.View, db oplog.DB, m *oplog.Memory) oplog.Time {
	if m.By != "" {
		return m.Created
	}
	return max(m.Created, v.Corrected(db, m))
}

// markOf returns the mark by which a memory replaces another, with its record in the list of conflicts.
func markOf(older, newer *oplog.Memory, r mind.Replacement, at oplog.Time) oplog.Mark {
	c := oplog.ConflictRow{ID: oplog.NewID(), Type: r.Kind, Priority: oplog.Low, Entity: r.Subject, Relation: r.Relation, Detected: at}
	switch r.How {
	case mind.Stated:
		c.Reason = fmt.Sprintf("%s: %s superseded by %s via %s", r.Subject, r.Was, r.Is, r.Relation)
	case mind.Reworded:
		c.Reason = fmt.Sprintf("'%s' superseded by '%s' in the same sentence", r.Was, r.Is)
	case mind.Told:
		c.Reason = fmt.Sprintf("the newer text says that '%s' has changed", r.Was)
	default:
		c.Reason = "the newer text says that something has changed"
	}
	return oplog.Mark{RID: older.RID, Revision: older.Revision, By: newer.RID, ByRevision: newer.Revision,
		Surely: r.How == mind.Stated && isSingleStatement(older.Text), Record: c}
}

// isSingleStatement reports whether a text makes a single statement. A text with more statements stays in answers
// when one of them is replaced.
func isSingleStatement(text string) bool {
	text = strings.TrimRight(strings.TrimSpace(text), ".!")
	return !strings.ContainsAny(text, ".!;,\n") && !strings.Contains(text, " and ")
}
