package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/oplog/state"
)

// decide fills in the round's entry from the snapshot, in the order in which Apply takes its parts.
func (t *thinker) decide(ctx context.Context) error {
	t.aliases()
	taken := map[string]bool{} // memories that are in a conflict now
	for _, g := range t.op.Outdated {
		taken[g.RID] = true
	}
	if t.r.Conflicts {
		if err := t.conflicts(ctx, taken); err != nil {
			return err
		}
	}
	if t.r.Consolidate && len(t.snap.Rows) >= t.r.MinActive {
		if err := t.merges(ctx, taken); err != nil {
			return err
		}
	}
	if t.r.Namespace == "" {
		if err := t.sums(ctx); err != nil {
			return err
		}
	}
	return t.triggers(ctx)
}

// sums are about the database as a whole, or about the newest memories of a large one.
func (t *thinker) sums(ctx context.Context) (err error) {
	s := &t.snap
	if !t.whole {
		s = s.Newest(newestRows)
	}
	if t.r.Patterns {
		if t.op.Patterns, err = mind.FindPatterns(ctx, s); err != nil {
			return err
		}
	}
	if t.r.Personality {
		t.op.Personality = mind.Traits(s)
	}
	t.op.Weights = mind.Learn(&t.snap)
	return nil
}

// aliases replaces aliases by the names that they stand for; it looks up every name once.
func (t *thinker) aliases() {
	known := map[[2]string]string{}
	t.snap.Canonical = func(namespace, name string) string {
		key := [2]string{namespace, name}
		if c, ok := known[key]; ok {
			return c
		}
		c, err := read(t.s, func(v *state.View) string { return v.Canonical(t.c.DB, namespace, name) })
		if err != nil {
			return name // the state is closing; the proposal will say so
		}
		known[key] = c
		return c
	}
}

// conflicts finds contradictions of memories, relations and claims that the state does not have yet.
func (t *thinker) conflicts(ctx context.Context, taken map[string]bool) error {
	t.snap.Known = func(a, b string) bool {
		known, _ := read(t.s, func(v *state.View) bool { return v.HadConflict(t.c.DB, a, b) }) // of a state that is closing the proposal will say so
		if known {
			taken[a], taken[b] = true, true
		}
		return known
	}
	t.snap.Live = func(rid string) bool {
		live, _ := read(t.s, func(v *state.View) bool {
			m, ok := v.Memory(t.c.DB, rid)
			return ok && m.Status == oplog.Active && m.Indexed()
		})
		return live
	}
	found, err := mind.Contradictions(ctx, &t.snap)
	if err != nil {
		return err
	}
	more, bounds := mind.Statements(&t.snap)
	t.op.Bounds = bounds
	found = append(found, more...)
	if len(found) >= mind.MaxConflicts { // there may be more: the next round reads the same again
		t.op.Read, t.op.Reread, t.op.Cursor = 0, nil, 0
	}
	for i, c := range found {
		taken[c.A], taken[c.B] = true, true
		if i < mind.MaxConflicts {
			c.ID, c.Detected = oplog.NewID(), t.snap.Now
			t.op.Conflicts = append(t.op.Conflicts, c)
		}
	}
	return nil
}

// merges are the clusters of memories that say the same, each with the memory that stands for it.
func (t *thinker) merges(ctx context.Context, taken map[string]bool) error {
	if !t.whole && t.r.Conflicts { // what a memory contradicts that no round has read is not known yet
		upTo := max(t.mind.Read, t.op.Read)
		for i := len(t.snap.Rows) - 1; i >= 0 && t.snap.Rows[i].Seq > upTo; i-- {
			taken[t.snap.Rows[i].RID] = true
		}
	}
	clusters, err := mind.Duplicates(ctx, &t.snap, t.seedPlaces(), oplog.Time(api.Hours(t.r.Days*24).Microseconds()), taken)
	if err != nil {
		return err
	}
	for _, cl := range clusters {
		t.snap.Rest()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := t.merge(cl); err != nil {
			return err
		}
	}
	return nil
}

// seedPlaces are the places of the memories whose duplicates are looked for: those that a part was read for, or those
// whose turn it is in a database that was read whole.
func (t *thinker) seedPlaces() (places []int) {
	if t.r.Limit == 0 {
		return nil
	}
	if !t.whole {
		slices.Sort(t.seeds)
		return api.Each(slices.Compact(t.seeds), func(seq oplog.Seq) int { return t.places[seq] })
	}
	n := len(t.snap.Rows)
	from, _ := slices.BinarySearchFunc(t.snap.Rows, t.mind.Cursor, func(r mind.Row, at oplog.Seq) int { return cmp.Compare(r.Seq, at) })
	for i := range min(t.r.Limit, n) {
		places = append(places, (from+i)%n)
	}
	if n > 0 {
		t.op.Cursor = t.snap.Rows[(from+len(places))%n].Seq
	}
	return places
}

// merge makes the memory that stands for a cluster, from the sources as they are now.
func (t *thinker) merge(cluster []int) error {
	return t.s.state.Read(func(v *state.View) error {
		m := oplog.Merge{}
		var sources []*oplog.Memory
		var vectors [][]float32
		for _, i := range cluster {
			x, ok := v.MemoryAt(t.c.DB, t.snap.Rows[i].Seq)
			if !ok || x.Status != oplog.Active || x.Revision != t.snap.Rows[i].Revision {
				return nil // a source has changed since: the next round looks again
			}
			sources = append(sources, x)
			m.Sources = append(m.Sources, oplog.Grounds{RID: x.RID, Revision: x.Revision})
			if f := v.Vector(t.c.DB, x.Seq).Floats(); len(f) > 0 {
				vectors = append(vectors, f)
			}
			for _, e := range v.Edges(t.c.DB, x.RID, oplog.MaxCopied) {
				m.Edges = append(m.Edges, oplog.Copied{Of: e.ID, ID: oplog.NewID()})
			}
		}
		if m.Into = t.product(sources, vectors); len(m.Into.Text) > MaxText {
			return nil
		}
		m.Into.Extractor, m.Into.Entities, m.Into.Claims = readText(v, t.c.DB, m.Into.Text)
		for i := range m.Edges {
			m.Edges[i].Into = m.Into.RID
		}
		t.op.Merges = append(t.op.Merges, m)
		return nil
	})
}

// product is the memory that a cluster becomes.
func (t *thinker) product(sources []*oplog.Memory, vectors [][]float32) oplog.Remember {
	best := slices.MaxFunc(sources, func(a, b *oplog.Memory) int {
		return cmp.Or(cmp.Compare(a.Importance, b.Importance), cmp.Compare(b.Created, a.Created), cmp.Compare(b.RID, a.RID))
	})
	texts := []string{best.Text}
	var d api.Draft
	d.Inherit(sources)
	var valence, halfLife float64
	var rids []string
	for _, x := range sources {
		if !slices.Contains(texts, x.Text) {
			texts = append(texts, x.Text)
		}
		rids = append(rids, x.RID)
		valence += x.Valence
		halfLife = max(halfLife, x.HalfLife)
	}
	meta, _ := json.Marshal(struct { // ids and numbers always encode
		From []string `json:"consolidated_from"`
		Size int      `json:"cluster_size"`
		Time float64  `json:"consolidation_time"`
	}{rids, len(rids), t.snap.Now.Seconds()})
	return oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: strings.Join(texts, " | "), Type: "semantic",
		Importance: min(1.1*d.Importance, 1), HalfLife: 1.5 * halfLife, Valence: valence / float64(len(sources)), Certainty: .8,
		Namespace: best.Namespace, Domain: d.Domain, Source: d.Source, Tier: d.Tier, Owner: d.Owner, Metadata: meta,
		Stamp: oplog.Stamp{Dialect: "think"}, Attributes: filter.Shared(api.Each(sources, func(m *oplog.Memory) []byte { return m.Attributes })...), Created: t.snap.Now,
		Updated: t.snap.Now}, Vector: oplog.MeanVector(vectors)}
}

// triggers collects the triggers that have cooled down, the most urgent first.
func (t *thinker) triggers(ctx context.Context) error {
	t.snap.Stats.OpenConflicts += uint64(len(t.op.Conflicts))
	found, err := mind.Triggers(ctx, &t.snap)
	if err != nil {
		return err
	}
	found = append(found, mind.Growth(&t.snap)...)
	found = append(found, mind.PatternTriggers(&t.snap, t.op.Patterns)...)
	if t.op.Weights != nil {
		found = append(found, t.snap.Trigger("weights_updated", .3, "recall has learned from feedback", ""))
	}
	if t.r.Namespace != "" { // what names no memory is about the whole database
		found = slices.DeleteFunc(found, func(x oplog.TriggerRow) bool { return len(x.Sources) == 0 })
	}
	mind.SortTriggers(found)
	return t.s.state.Read(func(v *state.View) error {
		for _, x := range found {
			if last, ok := v.CoolTrigger(t.c.DB, x.Cooldown); ok && last.Status <= oplog.TriggerDelivered && x.Created < last.Created+last.CoolFor &&
				!slices.Contains(t.op.Expired, last.ID) {
				continue
			}
			if len(t.op.Triggers) == t.r.MaxTriggers {
				break
			}
			x.ID = oplog.NewID()
			t.op.Triggers = append(t.op.Triggers, x)
		}
		return nil
	})
}

// An entry of cognition holds no more than this many merges, and the rest in the last one.
const (
	mergesAnEntry = 200
	partsAnEntry  = 2000
	mergeBytes    = 4 << 20
)

// propose takes the round into the log: merges and tier moves in entries of their own when they are many, the rest in
// one.
func (t *thinker) propose(ctx context.Context) (*api.Thought, error) {
	a, raised := &api.Thought{Triggers: []api.Attention{}}, []string{}
	t.op.Base, t.op.At, t.op.Last = t.base, t.snap.Now, true
	var entries []oplog.Cognition
	merges := chunkMerges(t.op.Merges)
	if len(merges) > 1 || len(t.op.Retier)+len(t.op.Outdated) > partsAnEntry {
		add := func(part oplog.Cognition) {
			part.Base, part.At = t.base, t.snap.Now
			entries = append(entries, part)
		}
		add(oplog.Cognition{Conflicts: t.op.Conflicts, Bounds: t.op.Bounds}) // before merges, so that none of the conflicts' sides is merged
		for _, c := range merges {
			add(oplog.Cognition{Merges: c})
		}
		for c := range slices.Chunk(t.op.Retier, partsAnEntry) {
			add(oplog.Cognition{Retier: c})
		}
		for c := range slices.Chunk(t.op.Outdated, partsAnEntry) {
			add(oplog.Cognition{Outdated: c})
		}
		t.op.Conflicts, t.op.Bounds, t.op.Merges, t.op.Retier, t.op.Outdated = nil, nil, nil, nil, nil
	}
	for _, e := range append(entries, t.op) {
		t.snap.Rest() // applying a part costs a moment on this node too
		w, err := t.s.write(ctx, t.c, &e)
		if err != nil {
			return nil, err
		}
		a.Index = w.Index
		if done := w.First.Thought; done != nil {
			a.Merged, a.Conflicts, a.New, a.Updated = a.Merged+done.Merged, a.Conflicts+done.Conflicts, a.New+done.PatternsNew, a.Updated+done.PatternsUpdated
			a.Personality = a.Personality || done.Personality
			raised = append(raised, done.Triggers...)
		}
	}
	for _, x := range t.op.Triggers {
		if slices.Contains(raised, x.ID) {
			a.Triggers = append(a.Triggers, api.Attention{Type: x.Type, Reason: x.Reason, Urgency: x.Urgency, Sources: api.OrEmpty(x.Sources), Action: x.Action})
		}
	}
	return a, nil
}

// chunkMerges cuts merges into what an entry may hold.
func chunkMerges(merges []oplog.Merge) (chunks [][]oplog.Merge) {
	for start, size, i := 0, 0, 0; i < len(merges); i++ {
		size += len(merges[i].Into.Text) + len(merges[i].Into.Vector) + len(merges[i].Into.Metadata) + len(merges[i].Into.Attributes) + 512
		if i+1 == len(merges) || i+1-start == mergesAnEntry || size > mergeBytes {
			chunks = append(chunks, merges[start:i+1])
			start, size = i+1, 0
		}
	}
	return chunks
}
