package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// maxGraph bounds the facts and the relations that one call reads.
const maxGraph = 10_000

// A grapher answers one call.
type grapher struct {
	ctx  context.Context
	door api.Door
	c    api.Caller
}

// draft is a fact under a key, to be stored unless the key has a memory.
func draft(f api.GraphFact, key string) (api.BatchStep, error) {
	text, err := json.Marshal(f.Text())
	if err != nil {
		return api.BatchStep{}, err
	}
	d := &api.Draft{} // with the defaults of remember
	err = field.Of(reflect.TypeFor[api.Draft]()).Decode(d,
		map[string]json.RawMessage{"text": text, "source": json.RawMessage(`"` + api.GraphNamespace + `"`)}, false)
	return api.BatchStep{Op: "put", Namespace: api.GraphNamespace, Path: key, Memory: d, Condition: api.Condition{IfAbsent: true}}, err
}

// write does steps, all or none.
func (g *grapher) write(steps []api.BatchStep) error {
	if len(steps) == 0 {
		return nil
	}
	_, err := api.Batch.Do(g.ctx, g.door, g.c, &api.BatchRequest{Steps: steps})
	return err
}

// maxTries bounds how often a write is decided again because another client wrote one of its keys meanwhile.
const maxTries = 8

// decided does the steps that decide makes of what is stored now.
func (g *grapher) decided(decide func() ([]api.BatchStep, error)) error {
	for try := 1; ; try++ {
		steps, err := decide()
		if err == nil {
			err = g.write(steps)
		}
		if !errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) || try == maxTries {
			return err
		}
	}
}

// A stored fact has the key of its memory.
type stored struct {
	api.GraphFact
	key    string
	isType bool
	rid    string
	at     float64
}

// facts reads the facts below a folder, in the order in which they were stored.
func (g *grapher) facts(folder string) (all []stored, err error) {
	err = g.each(folder, func(f stored) error {
		if all = append(all, f); len(all) > maxGraph {
			return oplog.Errorf(oplog.TooLarge,
				"the graph has more than %d observations: open_nodes reads entities by their names, and recall, in another profile, finds observations", maxGraph)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b stored) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.rid, b.rid)) })
	return all, nil
}

// each calls what for every fact below a folder, in the order of their keys.
func (g *grapher) each(folder string, what func(stored) error) error {
	q := &api.ListKeysRequest{Namespace: api.GraphNamespace, Prefix: folder, Limit: 1000, Full: true}
	for {
		page, err := api.ListKeys.Do(g.ctx, g.door, g.c, q)
		if err != nil {
			return err
		}
		for _, row := range page.Keys {
			if row.Memory == nil {
				continue
			}
			f, isType := api.GraphFactOf(row.Path, row.Memory.Text)
			if err := what(stored{f, row.Path, isType, row.RID, row.Created}); err != nil {
				return err
			}
		}
		if page.Next == nil {
			return nil
		}
		q.After = *page.Next
	}
}

// entities puts facts together.
func entities(facts []stored) []graphEntity {
	all, at := []graphEntity{}, map[string]int{}
	for _, f := range facts {
		if f.isType {
			at[f.Entity] = len(all)
			all = append(all, graphEntity{f.Entity, f.Says, []string{}})
		}
	}
	for _, f := range facts {
		if i, ok := at[f.Entity]; ok && !f.isType {
			all[i].Observations = append(all[i].Observations, f.Says)
		}
	}
	return all
}

// relations reads the relations of some entities.
func (g *grapher) relations(names []string) ([]oplog.Edge, error) {
	a, err := api.EdgesOf.Do(g.ctx, g.door, g.c, &api.EdgesOfRequest{Entities: names, Most: maxGraph})
	if err != nil {
		return nil, err
	}
	return a.Edges, nil
}

// with adds the relations that some entities are in.
func (g *grapher) with(list []graphEntity) (*knowledge, error) {
	edges, err := g.relations(api.Each(list, func(e graphEntity) string { return e.Name }))
	all := &knowledge{list, []graphRelation{}}
	for _, e := range edges {
		all.Relations = append(all.Relations, graphRelation{e.Src, e.Dst, e.Type})
	}
	return all, err
}

func (g *grapher) readGraph(*api.Nothing) (*knowledge, error) {
	facts, err := g.facts(api.GraphFolder)
	if err != nil {
		return nil, err
	}
	return g.with(entities(facts))
}

func (g *grapher) searchNodes(q *graphQuery) (*knowledge, error) {
	facts, err := g.facts(api.GraphFolder)
	if err != nil {
		return nil, err
	}
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(q.Query)) }
	return g.with(slices.DeleteFunc(entities(facts), func(e graphEntity) bool {
		return !has(e.Name) && !has(e.Type) && !slices.ContainsFunc(e.Observations, has)
	}))
}

func (g *grapher) openNodes(q *graphOpened) (*knowledge, error) {
	var all []stored
	for _, name := range unique(q.Names) {
		facts, err := g.facts(api.EntityFolder(name))
		if err != nil {
			return nil, err
		}
		all = append(all, facts...)
	}
	return g.with(entities(all))
}

// unique are names without repetitions.
func unique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

func (g *grapher) createEntities(q *graphEntities) (*graphEntities, error) {
	var made graphEntities
	err := g.decided(func() (steps []api.BatchStep, err error) {
		made.Entities = []graphEntity{}
		seen := map[string]bool{}
		for _, e := range q.Entities {
			there, err := g.facts(api.EntityFolder(e.Name))
			if err != nil {
				return nil, err
			}
			if seen[e.Name] || len(entities(there)) > 0 {
				continue
			}
			seen[e.Name] = true
			kind := api.GraphFact{Entity: e.Name, Says: e.Type}
			step, err := draft(kind, kind.TypeKey())
			if err != nil {
				return nil, err
			}
			more, added, err := additions(e.Name, e.Observations, there)
			if err != nil {
				return nil, err
			}
			steps, e.Observations = append(append(steps, step), more...), added
			made.Entities = append(made.Entities, e)
		}
		return steps, nil
	})
	return &made, err
}

// additions are the steps that store what is new of some observations.
func additions(entity string, contents []string, there []stored) (steps []api.BatchStep, added []string, err error) {
	added = []string{}
	for _, says := range contents {
		known := slices.ContainsFunc(there, func(f stored) bool { return !f.isType && f.Says == says })
		if known || slices.Contains(added, says) {
			continue
		}
		f := api.GraphFact{Entity: entity, Says: says}
		step, err := draft(f, f.Key())
		if err != nil {
			return nil, nil, err
		}
		steps, added = append(steps, step), append(added, says)
	}
	return steps, added, nil
}

func (g *grapher) addObservations(q *graphAdditions) (*graphAllAdded, error) {
	var done graphAllAdded
	err := g.decided(func() (steps []api.BatchStep, err error) {
		done.Results = []graphAdded{}
		for _, o := range q.Observations {
			there, err := g.facts(api.EntityFolder(o.Entity))
			if err != nil {
				return nil, err
			}
			if len(entities(there)) == 0 {
				return nil, oplog.Errorf(oplog.NotFound, "Entity with name %s not found", api.OneLine(o.Entity))
			}
			more, added, err := additions(o.Entity, o.Contents, there)
			if err != nil {
				return nil, err
			}
			steps, done.Results = append(steps, more...), append(done.Results, graphAdded{o.Entity, added})
		}
		return steps, nil
	})
	return &done, err
}

// drop deletes the facts below an entity's folder that which holds for: all or none of up to maxGraph, and of more than
// that as many at a time.
func (g *grapher) drop(entity string, which func(stored) bool) error {
	var steps []api.BatchStep
	err := g.each(api.EntityFolder(entity), func(f stored) (err error) {
		if !which(f) {
			return nil
		}
		if len(steps) == maxGraph {
			err, steps = g.write(steps), nil
		}
		steps = append(steps, api.BatchStep{Op: "delete", Namespace: api.GraphNamespace, Path: f.key})
		return err
	})
	if err != nil {
		return err
	}
	return g.write(steps)
}

// unrelate deletes the relations of some entities that which holds for. Of more than maxGraph it reads the rest once
// the first are gone.
func (g *grapher) unrelate(names []string, which func(graphRelation) bool) error {
	for {
		edges, err := g.relations(names)
		if err != nil {
			return err
		}
		gone := 0
		for _, e := range edges {
			if !which(graphRelation{e.Src, e.Dst, e.Type}) {
				continue
			}
			if _, err := api.Unrelate.Do(g.ctx, g.door, g.c, &api.UnrelateRequest{ID: e.ID}); err != nil {
				return err
			}
			gone++
		}
		if len(edges) < maxGraph || gone == 0 {
			return nil
		}
	}
}

func (g *grapher) deleteEntities(q *graphNames) (*graphDone, error) {
	names := unique(q.Names)
	for _, name := range names {
		if err := g.drop(name, func(stored) bool { return true }); err != nil {
			return nil, err
		}
	}
	err := g.unrelate(names, func(graphRelation) bool { return true })
	return &graphDone{true, "Entities deleted successfully"}, err
}

func (g *grapher) deleteObservations(q *graphDeletions) (*graphDone, error) {
	for _, d := range q.Deletions {
		if err := g.drop(d.Entity, func(f stored) bool { return !f.isType && slices.Contains(d.Observations, f.Says) }); err != nil {
			return nil, err
		}
	}
	return &graphDone{true, "Observations deleted successfully"}, nil
}

func (g *grapher) createRelations(q *graphRelations) (*graphRelations, error) {
	made := &graphRelations{[]graphRelation{}}
	for _, r := range q.Relations {
		done, err := api.Relate.Do(g.ctx, g.door, g.c, &api.RelateRequest{Src: r.From, Dst: r.To, Type: r.Type, Weight: 1})
		if err != nil {
			return nil, err
		}
		if done.New {
			made.Relations = append(made.Relations, r)
		}
	}
	return made, nil
}

func (g *grapher) deleteRelations(q *graphRelations) (*graphDone, error) {
	names := unique(api.Each(q.Relations, func(r graphRelation) string { return r.From }))
	err := g.unrelate(names, func(r graphRelation) bool { return slices.Contains(q.Relations, r) })
	return &graphDone{true, "Relations deleted successfully"}, err
}
