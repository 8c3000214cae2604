package thinking

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

// decide fills in the round's decisions from the snapshot, in the order in which Apply applies them.
func (r *round) decide(ctx context.Context) error {
	r.resolveAliases()
	excluded := map[string]bool{} // memories that must not be merged: forgotten or in a conflict
	for _, g := range r.op.Outdated {
		excluded[g.RID] = true
	}
	if r.q.Conflicts {
		if err := r.findConflicts(ctx, excluded); err != nil {
			return err
		}
	}
	if r.q.Consolidate && len(r.snap.Rows) >= r.q.MinActive {
		if err := r.findMerges(ctx, excluded); err != nil {
			return err
		}
	}
	if r.q.Namespace == "" {
		if err := r.decideWholeDatabase(ctx); err != nil {
			return err
		}
	}
	return r.triggers(ctx)
}

// decideWholeDatabase makes the decisions about the database as a whole, or about the newest memories of a large one.
func (r *round) decideWholeDatabase(ctx context.Context) (err error) {
	s := &r.snap
	if !r.complete {
		s = s.Newest(newestRows)
	}
	if r.q.Patterns {
		if r.op.Patterns, err = mind.FindPatterns(ctx, s); err != nil {
			return err
		}
	}
	if r.q.Personality {
		r.op.Personality = mind.Traits(s)
	}
	r.op.Weights = mind.Learn(&r.snap)
	return nil
}

// resolveAliases makes the snapshot resolve aliases. It looks up every name once.
func (r *round) resolveAliases() {
	known := map[[2]string]string{}
	r.snap.Canonical = func(namespace, name string) string {
		key := [2]string{namespace, name}
		if c, ok := known[key]; ok {
			return c
		}
		c, err := state.Get(r.th.cfg.State, func(v *state.View) string { return v.Canonical(r.c.DB, namespace, name) })
		if err != nil {
			return name // the state is closing, so the proposal will fail
		}
		known[key] = c
		return c
	}
}

// query evaluates f on the state. If the state is closing, it returns false, and the proposal will fail.
func (r *round) query(f func(*state.View) bool) (ok bool) {
	ok, _ = state.Get(r.th.cfg.State, f)
	return ok
}

// findConflicts finds contradictions of memories, relations and claims that the state does not have yet.
func (r *round) findConflicts(ctx context.Context, excluded map[string]bool) error {
	r.snap.Known = func(a, b string) bool {
		known := r.query(func(v *state.View) bool { return v.HadConflict(r.c.DB, a, b) })
		if known {
			excluded[a], excluded[b] = true, true
		}
		return known
	}
	r.snap.Live = func(rid string) bool {
		return r.query(func(v *state.View) bool {
			m, ok := v.Memory(r.c.DB, rid)
			return ok && m.Status == oplog.Active && m.Indexed()
		})
	}
	found, err := mind.Contradictions(ctx, &r.snap)
	if err != nil {
		return err
	}
	more, bounds := mind.Statements(&r.snap)
	r.op.Bounds = bounds
	found = append(found, more...)
	if len(found) >= mind.MaxConflicts { // there may be more, so the next round reads the same rows again
		r.op.Read, r.op.Reread, r.op.Cursor = 0, nil, 0
	}
	for i, c := range found {
		excluded[c.A], excluded[c.B] = true, true
		if i < mind.MaxConflicts {
			c.ID, c.Detected = oplog.NewID(), r.snap.Now
			r.op.Conflicts = append(r.op.Conflicts, c)
		}
	}
	return nil
}

// findMerges finds clusters of duplicate memories, and the memory that replaces each cluster.
func (r *round) findMerges(ctx context.Context, excluded map[string]bool) error {
	if !r.complete && r.q.Conflicts { // the contradictions of unread memories are not known yet
		upTo := max(r.progress.Read, r.op.Read)
		for i := len(r.snap.Rows) - 1; i >= 0 && r.snap.Rows[i].Seq > upTo; i-- {
			excluded[r.snap.Rows[i].RID] = true
		}
	}
	clusters, err := mind.Duplicates(ctx, &r.snap, r.seedRows(), oplog.Time(api.Hours(r.q.Days*24).Microseconds()), excluded)
	if err != nil {
		return err
	}
	for _, cl := range clusters {
		r.snap.Yield()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.merge(cl); err != nil {
			return err
		}
	}
	return nil
}

// seedRows returns the rows whose duplicates are searched for: in a part the seeds, in a complete snapshot the next
// rows after the cursor.
func (r *round) seedRows() (places []int) {
	if r.q.Limit == 0 {
		return nil
	}
	if !r.complete {
		slices.Sort(r.seeds)
		return api.Each(slices.Compact(r.seeds), func(seq oplog.Seq) int { return r.rowOf[seq] })
	}
	n := len(r.snap.Rows)
	from, _ := slices.BinarySearchFunc(r.snap.Rows, r.progress.Cursor, func(x mind.Row, at oplog.Seq) int { return cmp.Compare(x.Seq, at) })
	for i := range min(r.q.Limit, n) {
		places = append(places, (from+i)%n)
	}
	if n > 0 {
		r.op.Cursor = r.snap.Rows[(from+len(places))%n].Seq
	}
	return places
}

// merge adds the merge of a cluster to the decisions, from the current state of its sources.
func (r *round) merge(cluster []int) error {
	return r.th.cfg.State.Read(func(v *state.View) error {
		m := oplog.Merge{}
		var sources []*oplog.Memory
		for _, i := range cluster {
			x, ok := v.MemoryAt(r.c.DB, r.snap.Rows[i].Seq)
			if !ok || x.Status != oplog.Active || x.Revision != r.snap.Rows[i].Revision {
				return nil // a source has changed, so leave it to the next round
			}
			sources = append(sources, x)
			m.Sources = append(m.Sources, oplog.Grounds{RID: x.RID, Revision: x.Revision})
			for _, e := range v.Edges(r.c.DB, x.RID, oplog.MaxCopied) {
				m.Edges = append(m.Edges, oplog.Copied{Of: e.ID, ID: oplog.NewID()})
			}
		}
		if m.Into = r.mergedMemory(sources, v.MeanVector(r.c.DB, sources)); len(m.Into.Text) > oplog.MaxText {
			return nil
		}
		m.Into.Extractor, m.Into.Entities, m.Into.Claims = r.th.cfg.ReadText(v, r.c, m.Into.Text)
		for i := range m.Edges {
			m.Edges[i].Into = m.Into.RID
		}
		r.op.Merges = append(r.op.Merges, m)
		return nil
	})
}

// mergedMemory returns the memory that replaces a cluster.
func (r *round) mergedMemory(sources []*oplog.Memory, vector oplog.Vector) oplog.Remember {
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
	meta, _ := json.Marshal(struct { // strings and numbers always encode
		From []string `json:"consolidated_from"`
		Size int      `json:"cluster_size"`
		Time float64  `json:"consolidation_time"`
	}{rids, len(rids), r.snap.Now.Seconds()})
	return oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: strings.Join(texts, " | "), Type: "semantic",
		Importance: min(1.1*d.Importance, 1), HalfLife: 1.5 * halfLife, Valence: valence / float64(len(sources)), Certainty: .8,
		Namespace: best.Namespace, Domain: d.Domain, Source: d.Source, Tier: d.Tier, Owner: d.Owner, Metadata: meta,
		Stamp:      oplog.Stamp{Dialect: "think"},
		Attributes: filter.Shared(api.Each(sources, func(m *oplog.Memory) []byte { return m.Attributes })...), Created: r.snap.Now,
		Updated: r.snap.Now}, Vector: vector}
}

// triggers adds the triggers that have cooled down, the most urgent first.
func (r *round) triggers(ctx context.Context) error {
	r.snap.Stats.OpenConflicts += uint64(len(r.op.Conflicts))
	found, err := mind.Triggers(ctx, &r.snap)
	if err != nil {
		return err
	}
	found = append(found, mind.CategoryTriggers(&r.snap)...)
	found = append(found, mind.PatternTriggers(&r.snap, r.op.Patterns)...)
	if r.op.Weights != nil {
		found = append(found, r.snap.Trigger("weights_updated", .3, "recall has learned from feedback", ""))
	}
	if r.q.Namespace != "" { // triggers without memories are about the whole database
		found = slices.DeleteFunc(found, func(x oplog.TriggerRow) bool { return len(x.Sources) == 0 })
	}
	mind.SortTriggers(found)
	return r.th.cfg.State.Inspect(func(v *state.View) {
		for _, x := range found {
			if last, ok := v.TriggerByCooldown(r.c.DB, x.Cooldown); ok && last.Status <= oplog.TriggerDelivered &&
				x.Created < last.Created+last.CoolFor &&
				!slices.Contains(r.op.Expired, last.ID) {
				continue
			}
			if len(r.op.Triggers) == r.q.MaxTriggers {
				break
			}
			x.ID = oplog.NewID()
			r.op.Triggers = append(r.op.Triggers, x)
		}
	})
}

// Bounds of one entry of cognition: merges, other parts of a kind, and bytes of merged memories.
const (
	mergesPerEntry = 200
	partsPerEntry  = 2000
	mergeBytes     = 4 << 20
)

// propose writes the decisions to the log. Many merges and tier moves go into their own entries before the last one,
// which has the rest.
func (r *round) propose(ctx context.Context) (*api.Thought, error) {
	a, raised := &api.Thought{Triggers: []api.Attention{}}, []string{}
	r.op.Base, r.op.At, r.op.Last = r.base, r.snap.Now, true
	var entries []oplog.Cognition
	merges := chunkMerges(r.op.Merges)
	if len(merges) > 1 || len(r.op.Retier)+len(r.op.Outdated) > partsPerEntry {
		add := func(part oplog.Cognition) {
			part.Base, part.At = r.base, r.snap.Now
			entries = append(entries, part)
		}
		// Conflicts go before the merges, so that no side of a conflict is merged.
		add(oplog.Cognition{Conflicts: r.op.Conflicts, Bounds: r.op.Bounds})
		for _, c := range merges {
			add(oplog.Cognition{Merges: c})
		}
		for c := range slices.Chunk(r.op.Retier, partsPerEntry) {
			add(oplog.Cognition{Retier: c})
		}
		for c := range slices.Chunk(r.op.Outdated, partsPerEntry) {
			add(oplog.Cognition{Outdated: c})
		}
		r.op.Conflicts, r.op.Bounds, r.op.Merges, r.op.Retier, r.op.Outdated = nil, nil, nil, nil, nil
	}
	for _, e := range append(entries, r.op) {
		r.snap.Yield() // applying an entry costs time on this node too
		at, results, err := r.th.cfg.Write(ctx, r.c, &e)
		if err != nil {
			return nil, err
		}
		a.Index = at
		if done := results[0].Thought; done != nil {
			a.Merged, a.Conflicts, a.New, a.Updated = a.Merged+done.Merged, a.Conflicts+done.Conflicts, a.New+done.PatternsNew, a.Updated+done.PatternsUpdated
			a.Personality = a.Personality || done.Personality
			raised = append(raised, done.Triggers...)
		}
	}
	for _, x := range r.op.Triggers {
		if slices.Contains(raised, x.ID) {
			a.Triggers = append(a.Triggers,
				api.Attention{Type: x.Type, Reason: x.Reason, Urgency: x.Urgency, Sources: api.OrEmpty(x.Sources), Action: x.Action})
		}
	}
	return a, nil
}

// chunkMerges splits merges into chunks that fit into an entry.
func chunkMerges(merges []oplog.Merge) (chunks [][]oplog.Merge) {
	for start, size, i := 0, 0, 0; i < len(merges); i++ {
		size += len(merges[i].Into.Text) + len(merges[i].Into.Vector) + len(merges[i].Into.Metadata) + len(merges[i].Into.Attributes) + 512
		if i+1 == len(merges) || i+1-start == mergesPerEntry || size > mergeBytes {
			chunks = append(chunks, merges[start:i+1])
			start, size = i+1, 0
		}
	}
	return chunks
}
