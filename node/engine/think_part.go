package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A database with more memories than a round reads is thought about in parts: what no round has read yet, and a stretch
// of all memories, one after the other. With each of those come its partners, which it may contradict or repeat: they are
// found by its names and by its words, with few look-ups however many memories there are.

// Bounds of a part.
const (
	newestRows     = 1000 // memories that patterns and traits are about
	partnerPage    = 10   // memories whose partners are looked for before the round looks at its time and room
	partnerNames   = 8    // names of a memory that are looked up
	partnersByName = 16   // memories of each name, the newest
	partnersByWord = 16   // memories that have the most of its words
	partnerRows    = 2048 // memories that may have a word that is looked for
	partnerText    = 600  // bytes of a memory's text whose words are looked for
)

// gatherPart reads what is new, with its partners, then a stretch of all memories with theirs.
func (t *thinker) gatherPart(ctx context.Context) error {
	room := t.s.cfg.Background.ThinkRows
	if err := t.policies(ctx); err != nil {
		return err
	}
	if err := t.gatherNewest(ctx, min(newestRows, room/10+1)); err != nil {
		return err
	}
	if t.r.Conflicts {
		if err := t.gatherUnread(ctx, room/2+1); err != nil {
			return err
		}
	}
	if t.r.Limit > 0 && (len(t.seeds) == 0 || !t.full(room)) {
		next, err := t.follow(ctx, t.mind.Cursor, t.r.Limit, room, t.inScope)
		if err != nil {
			return err
		}
		t.op.Cursor = max(next, 1)
	}
	slices.SortFunc(t.snap.Rows, func(a, b mind.Row) int { return cmp.Compare(a.Seq, b.Seq) })
	for i := range t.snap.Rows {
		t.places[t.snap.Rows[i].Seq] = i
	}
	return nil
}

// gatherNewest reads the newest memories, and those that feedback is about.
func (t *thinker) gatherNewest(ctx context.Context, most int) error {
	from := max(t.last, oplog.Seq(most)) - oplog.Seq(most) + 1
	if err := t.s.state.Read(func(v *state.View) error {
		if t.r.Namespace != "" {
			n := 0
			v.NamespaceBack(t.c.DB, t.r.Namespace, 0, func(seq oplog.Seq) bool {
				from, n = seq, n+1
				return n < most
			})
		}
		for _, j := range t.snap.Judgements[:min(len(t.snap.Judgements), mind.MaxLearn)] {
			if m, ok := v.Memory(t.c.DB, j.RID); ok {
				t.take(v, m)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return inSlices(ctx, t, from, t.inScope, func(v *state.View, m *oplog.Memory) (oplog.Seq, bool) {
		t.take(v, m)
		return m.Seq + 1, true
	})
}

// gatherUnread reads what says something new since a round has read it, and then what none has read, the oldest first.
func (t *thinker) gatherUnread(ctx context.Context, room int) error {
	if _, err := t.follow(ctx, 0, partsAnEntry, room, func(v *state.View, db oplog.DB, from oplog.Seq, f func(*oplog.Memory) bool) {
		v.Reread(db, from, func(m *oplog.Memory) bool {
			if !t.about(m) {
				return true
			}
			g := oplog.Grounds{RID: m.RID, Revision: m.Revision}
			if i, there := t.places[m.Seq]; there {
				g.Revision = t.snap.Rows[i].Revision // it may have changed since
			}
			t.op.Reread = append(t.op.Reread, g)
			return f(m)
		})
	}); err != nil {
		return err
	}
	next, err := t.follow(ctx, t.mind.Read+1, room, room, t.inScope)
	if t.op.Read = next - 1; next == 0 { // none is left
		t.op.Read = t.last
	}
	return err
}

// full says whether the round has no room or no time for more.
func (t *thinker) full(room int) bool {
	return len(t.snap.Rows) >= room || time.Now().After(t.until)
}

// follow reads memories from a number on, each with its partners, until it has no room or time for more. It reads a page
// whatever the time is, so that every round gets on. It returns the number to go on from, 0 at the end.
func (t *thinker) follow(ctx context.Context, from oplog.Seq, most, room int, walk func(*state.View, oplog.DB, oplog.Seq, func(*oplog.Memory) bool)) (next oplog.Seq, err error) {
	for n := 0; n < most; n += partnerPage {
		looked, page := 0, []int(nil)
		if err := t.s.state.Read(func(v *state.View) error {
			walk(v, t.c.DB, from, func(m *oplog.Memory) bool {
				from, looked = m.Seq+1, looked+1
				if place, ok := t.take(v, m); ok {
					page = append(page, place)
				}
				return looked < partnerPage
			})
			return nil
		}); err != nil {
			return 0, err
		}
		for _, place := range page {
			t.seeds = append(t.seeds, t.snap.Rows[place].Seq)
			if err := t.partners(ctx, t.snap.Rows[place]); err != nil {
				return 0, err
			}
			t.snap.Rest()
		}
		if looked < partnerPage {
			return 0, nil
		}
		if t.full(room) {
			break
		}
	}
	return from, nil
}

// partners reads the memories of a memory's namespace that it may contradict or repeat.
func (t *thinker) partners(ctx context.Context, r mind.Row) error {
	if r.Made {
		return nil
	}
	text := strings.ToValidUTF8(r.Text[:min(len(r.Text), partnerText)], "")
	hits, _, err := t.s.index.Search(ctx, t.c.DB, index.Query{Text: text, K: partnersByWord, Rare: partnerRows, Now: t.snap.Now.Time(), Without: rank.Switches(), Bare: true,
		Filter: index.Filter{Namespace: r.Namespace, Spaces: t.c.Spaces}})
	if err != nil {
		return err
	}
	return t.s.state.Read(func(v *state.View) error {
		for _, h := range hits {
			if m, ok := v.MemoryAt(t.c.DB, h.Memory.Seq); ok {
				t.take(v, m)
			}
		}
		for _, name := range r.Entities[:min(len(r.Entities), partnerNames)] {
			looked := 0
			v.EntityMemories(t.c.DB, name, func(m *oplog.Memory) bool {
				if looked++; m.Namespace == r.Namespace {
					t.take(v, m)
				}
				return looked < partnersByName
			})
		}
		return nil
	})
}
