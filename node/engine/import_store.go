package engine

import (
	"cmp"
	"errors"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// storeDrafts stores memories as one entry.
func (im *importer) storeDrafts(c api.Caller, lines []draftLine) error {
	if slices.ContainsFunc(lines, func(d draftLine) bool { return d.Path != "" }) {
		return im.storeKeyed(c, lines)
	}
	key, drafts := im.batchKey(), api.Each(lines, func(d draftLine) api.Draft { return d.Draft })
	keys := func() []string { return api.Each(drafts, func(d api.Draft) string { return cmp.Or(key, d.Key) }) }
	if err := im.s.checkQuota(c, len(drafts), keys); err != nil {
		return err
	}
	r, err := storeWithFreeIDs(im, func(v *state.View) { im.freeRIDs(v, pointers(drafts)) },
		func() (storeResult, error) { return im.s.store(im.ctx, c, key, slices.Clone(drafts)...) })
	if err != nil {
		return err
	}
	for _, made := range r.Results {
		if made.Changed {
			im.done.Memories++
		} else {
			im.done.Kept++
		}
	}
	im.done.Index, im.done.Redacted = field.Token(r.Index), mergeSorted(im.done.Redacted, r.Redacted)
	return nil
}

// storeEdges stores relations as one entry.
func (im *importer) storeEdges(c api.Caller, lines []edgeLine) error {
	w, edges := write{key: im.batchKey()}, api.Each(lines, func(e edgeLine) *oplog.Relate { return e.Relate })
	if w.key != "" {
		w.digest = digestRelations(edges)
	}
	done, err := storeWithFreeIDs(im, func(v *state.View) { im.freeEdges(v, edges) }, func() (Written, error) {
		w.ops = api.Each(edges, func(e *oplog.Relate) oplog.Op { return e })
		return im.s.propose(im.ctx, c, w)
	})
	if err == nil {
		im.done.Edges, im.done.Index = im.done.Edges+len(edges), field.Token(done.Index)
	}
	return err
}

// digestRelations returns a digest of the relations of an import, without the ids and times that differ in a retry.
func digestRelations(edges []*oplog.Relate) []byte {
	parts := make([]any, 0, 4*len(edges))
	for _, e := range edges {
		parts = append(parts, e.Src, e.Type, e.Dst, e.Weight)
	}
	return digest(parts...)
}

// storeKeyed stores a batch of which some memories have a key, in its order. A key that is taken stays with its memory,
// which is corrected unless it is as new.
func (im *importer) storeKeyed(c api.Caller, lines []draftLine) error {
	k := &keyedBatch{s: im.s, c: c, newer: true}
	seen := map[string]bool{}
	for _, l := range lines {
		d := l.Draft
		if d.Path == "" {
			k.steps = append(k.steps, api.BatchStep{Op: store, Memory: &d})
			continue
		}
		at := orDefault(d.Namespace) + d.Path
		if seen[at] { // two lines of one key: the later one is put over the earlier
			if err := im.storeSteps(k); err != nil {
				return err
			}
			k, seen = &keyedBatch{s: im.s, c: c, newer: true}, map[string]bool{}
		}
		seen[at] = true
		k.steps = append(k.steps, api.BatchStep{Op: "put", Namespace: d.Namespace, Path: d.Path, Memory: &d})
	}
	return im.storeSteps(k)
}

func (im *importer) storeSteps(k *keyedBatch) error {
	if len(k.steps) == 0 {
		return nil
	}
	w, err := keyedWrite(im.batchKey(), k.steps)
	if err != nil {
		return err
	}
	free := func(v *state.View) {
		im.freeRIDs(v, api.Each(k.steps, func(st api.BatchStep) *api.Draft { return st.Memory }))
	}
	done, err := storeWithFreeIDs(im, free, func() (keyedResults, error) { return im.s.applyKeyed(im.ctx, k, w) })
	if err != nil {
		return err
	}
	for i := range k.steps {
		if done.after[i].Changed {
			im.done.Memories++
		} else {
			im.done.Kept++
		}
	}
	im.done.Index, im.done.Redacted = field.Token(done.Index), mergeSorted(im.done.Redacted, k.redacted)
	return nil
}

// storeWithFreeIDs stores a batch after free has given its rows ids that are not taken, and again when another import
// took one meanwhile: this node has applied that one by the time it knows of the rejection.
func storeWithFreeIDs[T any](im *importer, free func(*state.View), store func() (T, error)) (T, error) {
	for tries := 0; ; tries++ {
		if err := im.s.state.Inspect(free); err != nil {
			var none T
			return none, err
		}
		stored, err := store()
		if im.keep || tries == 3 || !errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) {
			return stored, err
		}
	}
}

func pointers(drafts []api.Draft) []*api.Draft {
	list := make([]*api.Draft, len(drafts))
	for i := range drafts {
		list[i] = &drafts[i]
	}
	return list
}

// freeRIDs gives memories without an id new ones, and those whose id is taken, unless the import keeps ids.
func (im *importer) freeRIDs(v *state.View, list []*api.Draft) {
	seen := map[string]bool{}
	for _, d := range list {
		if _, taken := v.Seq(im.c.DB, d.RID); d.RID == "" || !im.keep && (taken || seen[d.RID]) {
			d.RID = oplog.NewID()
		}
		seen[d.RID] = true
	}
}

// freeEdges does the same for relations. One that is there already keeps its id, whatever the line says.
func (im *importer) freeEdges(v *state.View, edges []*oplog.Relate) {
	seen := map[string]bool{}
	for _, e := range edges {
		was, taken := v.Edge(im.c.DB, e.ID)
		taken = taken && (was.Src != e.Src || was.Dst != e.Dst || was.Type != e.Type)
		if e.ID == "" || !im.keep && (taken || seen[e.ID]) {
			e.ID = oplog.NewID()
		}
		seen[e.ID] = true
	}
}
