package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// maxGraph bounds the facts and the relations that one call reads.
const maxGraph = 10_000

// A graphCall executes one call of a graph tool.
type graphCall struct {
	ctx  context.Context
	door api.Door
	c    api.Caller
}

// putStep returns a step that stores a fact under a key, unless the key already has a memory.
func putStep(f api.GraphFact, key string) (api.BatchStep, error) {
	text, err := json.Marshal(f.Text())
	if err != nil {
		return api.BatchStep{}, err
	}
	d := &api.Draft{} // with the defaults of remember
	err = field.Of(reflect.TypeFor[api.Draft]()).Decode(d,
		map[string]json.RawMessage{"text": text, "source": json.RawMessage(`"` + api.GraphNamespace + `"`)}, false)
	return api.BatchStep{Op: "put", Namespace: api.GraphNamespace, Path: key, Memory: d, Condition: api.Condition{IfAbsent: true}}, err
}

// write executes steps, all or none.
func (g *graphCall) write(steps []api.BatchStep) error {
	if len(steps) == 0 {
		return nil
	}
	_, err := api.Batch.Do(g.ctx, g.door, g.c, &api.BatchRequest{Steps: steps})
	return err
}

// maxTries bounds the attempts of a write whose keys other clients change at the same time.
const maxTries = 8

// retryOnConflict executes the steps that decide returns for the stored graph, and decides again after a conflict.
func (g *graphCall) retryOnConflict(decide func() ([]api.BatchStep, error)) error {
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

// A storedFact is a fact with the key, id and creation time of its memory.
type storedFact struct {
	api.GraphFact
	key    string
	isType bool
	rid    string
	at     float64
}

// facts returns the facts below a folder, in the order in which they were stored.
func (g *graphCall) facts(folder string) (all []storedFact, err error) {
	err = g.eachFact(folder, func(f storedFact) error {
		if all = append(all, f); len(all) > maxGraph {
			return oplog.Errorf(oplog.TooLarge,
				"the graph has more than %d observations: open_nodes reads entities by their names, and recall, in another profile, finds observations", maxGraph)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b storedFact) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.rid, b.rid)) })
	return all, nil
}

// eachFact calls what for every fact below a folder, in the order of their keys.
func (g *graphCall) eachFact(folder string, what func(storedFact) error) error {
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
			if err := what(storedFact{f, row.Path, isType, row.RID, row.Created}); err != nil {
				return err
			}
		}
		if page.Next == nil {
			return nil
		}
		q.After = *page.Next
	}
}

// entities groups facts by entity, in the order of their type facts. It drops facts of entities without a type.
func entities(facts []storedFact) []graphEntity {
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

// relations returns the relations of some entities.
func (g *graphCall) relations(names []string) ([]oplog.Edge, error) {
	a, err := api.EdgesOf.Do(g.ctx, g.door, g.c, &api.EdgesOfRequest{Entities: names, Most: maxGraph})
	if err != nil {
		return nil, err
	}
	return a.Edges, nil
}

// withRelations returns entities together with their relations.
func (g *graphCall) withRelations(list []graphEntity) (*knowledge, error) {
	edges, err := g.relations(api.Each(list, func(e graphEntity) string { return e.Name }))
	all := &knowledge{list, []graphRelation{}}
	for _, e := range edges {
		all.Relations = append(all.Relations, graphRelation{e.Src, e.Dst, e.Type})
	}
	return all, err
}

func (g *graphCall) readGraph(*api.Nothing) (*knowledge, error) {
	facts, err := g.facts(api.GraphFolder)
	if err != nil {
		return nil, err
	}
	return g.withRelations(entities(facts))
}

func (g *graphCall) searchNodes(q *graphQuery) (*knowledge, error) {
	facts, err := g.facts(api.GraphFolder)
	if err != nil {
		return nil, err
	}
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(q.Query)) }
	return g.withRelations(slices.DeleteFunc(entities(facts), func(e graphEntity) bool {
		return !has(e.Name) && !has(e.Type) && !slices.ContainsFunc(e.Observations, has)
	}))
}

func (g *graphCall) openNodes(q *graphOpened) (*knowledge, error) {
	var all []storedFact
	for _, name := range unique(q.Names) {
		facts, err := g.facts(api.EntityFolder(name))
		if err != nil {
			return nil, err
		}
		all = append(all, facts...)
	}
	return g.withRelations(entities(all))
}

// unique returns sorted names without duplicates.
func unique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

func (g *graphCall) createEntities(q *graphEntities) (*graphEntities, error) {
	var created graphEntities
	err := g.retryOnConflict(func() (steps []api.BatchStep, err error) {
		created.Entities = []graphEntity{}
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
			step, err := putStep(kind, kind.TypeKey())
			if err != nil {
				return nil, err
			}
			more, added, err := newObservations(e.Name, e.Observations, there)
			if err != nil {
				return nil, err
			}
			steps, e.Observations = append(append(steps, step), more...), added
			created.Entities = append(created.Entities, e)
		}
		return steps, nil
	})
	return &created, err
}

// newObservations returns the observations that are not stored yet, and the steps that store them.
func newObservations(entity string, contents []string, there []storedFact) (steps []api.BatchStep, added []string, err error) {
	added = []string{}
	for _, says := range contents {
		known := slices.ContainsFunc(there, func(f storedFact) bool { return !f.isType && f.Says == says })
		if known || slices.Contains(added, says) {
			continue
		}
		f := api.GraphFact{Entity: entity, Says: says}
		step, err := putStep(f, f.Key())
		if err != nil {
			return nil, nil, err
		}
		steps, added = append(steps, step), append(added, says)
	}
	return steps, added, nil
}

func (g *graphCall) addObservations(q *graphAdditions) (*graphAllAdded, error) {
	var done graphAllAdded
	err := g.retryOnConflict(func() (steps []api.BatchStep, err error) {
		done.Results = []graphAdded{}
		there := map[string][]storedFact{} // by entity, with what this call adds
		for _, o := range q.Observations {
			if there[o.Entity] == nil {
				if there[o.Entity], err = g.facts(api.EntityFolder(o.Entity)); err != nil {
					return nil, err
				}
			}
			if len(entities(there[o.Entity])) == 0 {
				return nil, oplog.Errorf(oplog.NotFound, "Entity with name %s not found", api.OneLine(o.Entity))
			}
			more, added, err := newObservations(o.Entity, o.Contents, there[o.Entity])
			if err != nil {
				return nil, err
			}
			for _, says := range added {
				there[o.Entity] = append(there[o.Entity], storedFact{GraphFact: api.GraphFact{Entity: o.Entity, Says: says}})
			}
			steps, done.Results = append(steps, more...), append(done.Results, graphAdded{o.Entity, added})
		}
		return steps, nil
	})
	return &done, err
}

// deleteFacts deletes the facts of an entity for which which returns true, in batches of at most maxGraph. Each batch
// is all or none.
func (g *graphCall) deleteFacts(entity string, which func(storedFact) bool) error {
	var steps []api.BatchStep
	err := g.eachFact(api.EntityFolder(entity), func(f storedFact) (err error) {
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

// deleteRelationsOf deletes up to most relations of some entities for which which returns true. If the entities have
// more than maxGraph, it reads the next ones after the first are deleted.
func (g *graphCall) deleteRelationsOf(names []string, most int, which func(graphRelation) bool) error {
	for {
		edges, err := g.relations(names)
		if err != nil {
			return err
		}
		deleted := 0
		for _, e := range edges {
			if !which(graphRelation{e.Src, e.Dst, e.Type}) {
				continue
			}
			if _, err := api.Unrelate.Do(g.ctx, g.door, g.c, &api.UnrelateRequest{ID: e.ID}); err != nil {
				return err
			}
			if deleted++; deleted == most {
				return nil
			}
		}
		most -= deleted
		if len(edges) < maxGraph {
			return nil
		}
		if deleted == 0 {
			return oplog.Errorf(oplog.TooLarge, "these entities have over %d relations, which is as many as are looked at: use unrelate", maxGraph)
		}
	}
}

func (g *graphCall) deleteEntities(q *graphNames) (*graphDone, error) {
	names := unique(q.Names)
	for _, name := range names {
		if err := g.deleteFacts(name, func(storedFact) bool { return true }); err != nil {
			return nil, err
		}
	}
	err := g.deleteRelationsOf(names, math.MaxInt, func(graphRelation) bool { return true })
	return &graphDone{true, "Entities deleted successfully"}, err
}

func (g *graphCall) deleteObservations(q *graphDeletions) (*graphDone, error) {
	for _, d := range q.Deletions {
		if err := g.deleteFacts(d.Entity, func(f storedFact) bool { return !f.isType && slices.Contains(d.Observations, f.Says) }); err != nil {
			return nil, err
		}
	}
	return &graphDone{true, "Observations deleted successfully"}, nil
}

func (g *graphCall) createRelations(q *graphRelations) (*graphRelations, error) {
	created := &graphRelations{[]graphRelation{}}
	for _, r := range q.Relations {
		done, err := api.Relate.Do(g.ctx, g.door, g.c, &api.RelateRequest{Src: r.From, Dst: r.To, Type: r.Type, Weight: 1})
		if err != nil {
			return nil, err
		}
		if done.New {
			created.Relations = append(created.Relations, r)
		}
	}
	return created, nil
}

func (g *graphCall) deleteRelations(q *graphRelations) (*graphDone, error) {
	names := unique(api.Each(q.Relations, func(r graphRelation) string { return r.From }))
	wanted := map[graphRelation]bool{}
	for _, r := range q.Relations {
		wanted[r] = true
	}
	err := g.deleteRelationsOf(names, len(wanted), func(r graphRelation) bool { return wanted[r] })
	return &graphDone{true, "Relations deleted successfully"}, err
}
