package node_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// A side is a database of a single-node cluster, and the model of its content.
type side struct {
	*cluster
	t    testing.TB
	name string // of the database
	id   oplog.DB
	web  *web
	peer *peerConn

	wrote    []string                 // the expected log: the effect of each operation
	memories map[string]oplog.Content // the expected memories, as they were first stored
	edges    map[string]float64       // expected weights of relations, by their ends

	cursor wire.OplogPull
	pulled []wire.OplogEntry // operations read since the cursor, page by page
	given  int               // how many of the other side's were pushed here
	taken  map[string]bool   // their ids
}

// open creates a new database, so that earlier runs have no influence.
func (s *side) open(master *web) {
	s.web = master.with(master.createToken(obj{"database": s.name}))
	caller, err := s.nodes[0].Access().Local(s.name)
	if err != nil {
		s.t.Fatal(err)
	}
	s.id, s.cursor.Database = caller.DB, s.name
	s.memories, s.edges, s.taken = map[string]oplog.Content{}, map[string]float64{}, map[string]bool{}
	s.dialPeer()
}

func (s *side) dialPeer() { s.peer = dialStranger(s.t, s.nodes[0].Addrs().Cluster) }

// stored returns a memory from the side's state.
func (s *side) stored(rid string) (found *oplog.Memory) {
	if err := s.nodes[0].State().Read(func(v *state.View) error {
		if m, ok := v.Memory(s.id, rid); ok {
			found = m
		}
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	return found
}

// relations returns the weights of a side's relations.
func (s *side) relations() map[string]float64 {
	all := map[string]float64{}
	if err := s.nodes[0].State().Read(func(v *state.View) error {
		v.EdgesBehind(s.id, "", func(e oplog.Edge) bool {
			all[triple(e.Src, e.Type, e.Dst)] = e.Weight
			return true
		})
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	return all
}

func triple(src, kind, dst string) string { return strings.Join([]string{src, kind, dst}, "\x00") }

// fact describes the effect of an operation that a peer gets.
func fact(op wire.OplogEntry) string {
	var p struct {
		RID string `json:"rid"`
		Src string `json:"src"`
		Dst string `json:"dst"`
		Of  string `json:"rel_type"`
	}
	_ = json.Unmarshal(op.Payload, &p)
	return fmt.Sprintf("%s %q %q", op.OpType, p.RID, triple(p.Src, p.Of, p.Dst))
}

// remember stores a memory with fields of any kind.
func (s *side) remember(t *rapid.T) {
	body := drawnFields(t)
	if rapid.IntRange(0, 3).Draw(t, "keyed") == 0 {
		body["key"] = fmt.Sprintf("/%s/%d", s.name, len(s.wrote))
	}
	path := "/v1/remember"
	if body["key"] != nil {
		path = "/v1/put"
	}
	status, out := s.web.send("POST", path, body)
	if status != 200 {
		t.Skip(out)
	}
	rid := out["rid"].(string)
	s.memories[rid] = s.stored(rid).Content
	s.wrote = append(s.wrote, fact(wire.OplogEntry{OpType: "record", Payload: wire.JSON(`{"rid":"` + rid + `"}`)}))
}

// drawnFields draws some of the fields that a client may set.
func drawnFields(t *rapid.T) obj {
	words := rapid.StringN(0, 12, 48)
	body := obj{"text": "the " + words.Draw(t, "text")}
	for _, f := range field.Of(reflect.TypeFor[api.Draft]()) {
		if slices.Contains([]string{"text", "idempotency_key", "embedding", "ttl"}, f.Name) || !rapid.Bool().Draw(t, f.Name+"?") {
			continue
		}
		body[f.Name] = drawnField(t, f, words)
	}
	return body
}

func drawnField(t *rapid.T, f field.Field, words *rapid.Generator[string]) any {
	switch {
	case f.Name == "expires_at": // far in the future, because each side forgets expired memories by itself
		return float64(rapid.Int64Range(4e9, 2e11).Draw(t, f.Name))
	case f.Name == "refresh_on_read":
		return rapid.Float64Range(1e6, 1e9).Draw(t, f.Name)
	case f.Kind.Name == "date":
		return float64(rapid.Int64Range(-62e9*1000, 253e9*1000).Draw(t, f.Name)) / 1000
	case f.Kind.Type == "number":
		return rapid.Float64Range(max(f.Kind.Min, -1), min(f.Kind.Max, 1e6)).Draw(t, f.Name)
	case f.Kind.Type == "boolean":
		return rapid.Bool().Draw(t, f.Name)
	case len(f.Kind.Enum) > 0:
		return rapid.SampledFrom(f.Kind.Enum).Draw(t, f.Name)
	case f.Kind.Type == "string":
		return words.Draw(t, f.Name)
	}
	return obj{words.Draw(t, f.Name): rapid.SampledFrom([]any{"x", 1, -2.5, true, []any{"a", "b"}}).Draw(t, f.Name)}
}

// forget forgets a memory of either side.
func (s *side) forget(t *rapid.T) {
	if len(s.memories) == 0 {
		t.Skip("none")
	}
	rid := rapid.SampledFrom(slices.Sorted(maps.Keys(s.memories))).Draw(t, "rid")
	s.web.ok("POST", "/v1/forget", obj{"rid": rid})
	delete(s.memories, rid)
	s.wrote = append(s.wrote, fact(wire.OplogEntry{OpType: "forget", Payload: wire.JSON(`{"rid":"` + rid + `"}`)}))
}

var drawnEnds = rapid.SampledFrom([]string{"Ada", "Bob", "mill", "river"})

// relate makes a relation, or changes its weight.
func (s *side) relate(t *rapid.T) {
	src, dst := drawnEnds.Draw(t, "src"), drawnEnds.Draw(t, "dst")
	weight := rapid.Float64Range(0, 9).Draw(t, "weight")
	s.web.ok("POST", "/v1/relate", obj{"entity": src, "target": dst, "relationship": "knows", "weight": weight})
	s.edges[triple(src, "knows", dst)] = weight
	b, err := json.Marshal(obj{"src": src, "dst": dst, "rel_type": "knows"})
	if err != nil {
		t.Fatal(err)
	}
	s.wrote = append(s.wrote, fact(wire.OplogEntry{OpType: "relate", Payload: b}))
}

// unrelate deletes a relation, which is not sent to the other side.
func (s *side) unrelate(t *rapid.T) {
	if len(s.edges) == 0 {
		t.Skip("none")
	}
	one := rapid.SampledFrom(slices.Sorted(maps.Keys(s.edges))).Draw(t, "relation")
	src, _, _ := strings.Cut(one, "\x00")
	for _, e := range s.web.ok("POST", "/v1/graph", obj{"entity": src})["edges"].([]any) {
		if e := e.(obj); triple(e["src"].(string), e["rel_type"].(string), e["dst"].(string)) == one {
			s.web.ok("DELETE", "/v1/edges/"+e["edge_id"].(string), nil)
			delete(s.edges, one)
			return
		}
	}
	t.Fatalf("%s has no relation %q", s.name, one)
}

// restart closes the node and opens it again. Cursors stay valid.
func (s *side) restart(*rapid.T) {
	s.stop(0)
	s.cluster.open(0)
	s.ready(0)
	s.dialPeer()
}

// pull reads a page.
func (s *side) pull(t *rapid.T) (more bool) {
	s.cursor.Limit = rapid.IntRange(1, 7).Draw(t, "limit")
	page, e := s.peer.pull(&s.cursor)
	if e.Code != 0 || len(page.Ops) > s.cursor.Limit {
		t.Fatalf("%s: a page of %d with %d: %+v", s.name, s.cursor.Limit, len(page.Ops), e)
	}
	for i := range page.Ops {
		s.pulled = append(s.pulled, page.Ops[i])
		s.cursor.SinceHLC, s.cursor.SinceOpID = page.Ops[i].HLC, &page.Ops[i].OpID
	}
	return page.HasMore
}

// push sends operations, and returns how many were new.
func (s *side) push(t *rapid.T, ops []wire.OplogEntry) (r wire.OplogPushOK) {
	f := s.peer.ask(wire.OpOplogPush, &wire.OplogPush{Database: s.name, Ops: ops})
	if f.Op != wire.OpOplogPushOK {
		var e wire.Error
		_ = wire.Unpack(f, &e, wire.MaxPlainPeer)
		t.Fatalf("%s: a push is answered with %s %+v", s.name, f.Op, e)
	}
	if err := wire.Unpack(f, &r, wire.MaxPlainPeer); err != nil {
		t.Fatal(err)
	}
	if n := len(ops); n > 0 && (r.LastOpID != ops[n-1].OpID || string(r.LastHLC) != string(ops[n-1].HLC)) {
		t.Fatalf("%s: a push ends with %q, its answer with %q", s.name, ops[n-1].OpID, r.LastOpID)
	}
	return r
}

// give pushes the next operations of the other side, or some earlier ones again.
func (s *side) give(t *rapid.T, from *side) {
	if len(from.pulled) == 0 {
		t.Skip("none")
	}
	first := rapid.IntRange(0, s.given).Draw(t, "from")
	last := rapid.IntRange(first, min(len(from.pulled), s.given+9)).Draw(t, "to")
	s.giveThese(t, from, first, last)
}

func (s *side) giveThese(t *rapid.T, from *side, first, last int) {
	fresh := 0
	for _, op := range from.pulled[first:last] {
		if s.taken[op.OpID] || from.taken[op.OpID] { // it originates here
			continue
		}
		s.taken[op.OpID] = true
		s.wrote = append(s.wrote, fact(op))
		fresh++
		s.follow(t, from, op)
	}
	s.given = max(s.given, last)
	if r := s.push(t, from.pulled[first:last]); r.Applied != uint64(fresh) {
		t.Fatalf("%s: %d of a push are new, want %d", s.name, r.Applied, fresh)
	}
}

// follow applies an operation of the other side to the model.
func (s *side) follow(t *rapid.T, from *side, op wire.OplogEntry) {
	var p struct {
		RID    string  `json:"rid"`
		Src    string  `json:"src"`
		Dst    string  `json:"dst"`
		Type   string  `json:"rel_type"`
		Weight float64 `json:"weight"`
	}
	if err := json.Unmarshal(op.Payload, &p); err != nil {
		t.Fatal(err)
	}
	switch op.OpType {
	case "record":
		s.memories[p.RID] = from.stored(p.RID).Content
	case "forget":
		delete(s.memories, p.RID)
	case "relate":
		s.edges[triple(p.Src, p.Type, p.Dst)] = p.Weight
	}
}

// check compares a side with its model.
func (s *side) check(t *rapid.T) {
	for rid, want := range s.memories {
		m := s.stored(rid)
		if m == nil || m.Status != oplog.Active {
			t.Fatalf("%s does not have %s: %+v", s.name, rid, m)
		}
		got := m.Content
		got.Metadata, want.Metadata = sameJSON(t, got.Metadata), sameJSON(t, want.Metadata)
		if names := lost(got, want, "Updated", "Extractor"); len(names) > 0 {
			t.Fatalf("%s, %s: %s", s.name, rid, strings.Join(names, "; "))
		}
	}
	active := 0
	if err := s.nodes[0].State().Read(func(v *state.View) error {
		active = int(v.Stats(s.id).Active)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if active != len(s.memories) {
		t.Fatalf("%s has %d memories, want %d", s.name, active, len(s.memories))
	}
	if got := s.relations(); !maps.Equal(got, s.edges) {
		t.Fatalf("%s relates %v, want %v", s.name, got, s.edges)
	}
}

func sameJSON(t *rapid.T, raw []byte) []byte {
	var x any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &x); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDrawnPeers lets two clusters write and exchange their operations in pages and pushes of random sizes,
// repeatedly and after restarts. Each reader gets each operation once and in order, and each side has the writes of
// both.
func TestDrawnPeers(t *testing.T) {
	t.Parallel()
	clusters := [2]*cluster{start(t, 1), start(t, 1)}
	draws := 0
	rapid.Check(t, func(rt *rapid.T) {
		draws++
		var sides [2]*side
		for i, c := range clusters {
			master := c.web(0)
			sides[i] = &side{cluster: c, t: t, name: fmt.Sprint("side", i, "-", draws)}
			master.ok("POST", "/v1/databases", obj{"name": sides[i].name})
			sides[i].open(master)
		}
		steps := map[string]func(*rapid.T){}
		for i, s := range sides {
			other := sides[1-i]
			for name, step := range map[string]func(*rapid.T){"remember": s.remember, "forget": s.forget, "relate": s.relate,
				"unrelate": s.unrelate, "pull": func(rt *rapid.T) { s.pull(rt) }, "push": func(rt *rapid.T) { s.give(rt, other) }} {
				steps[fmt.Sprint(name, i)], steps[fmt.Sprint(name, i, " again")] = step, step
			}
			steps[fmt.Sprint("restart", i)] = s.restart
		}
		rt.Repeat(steps)
		for range 2 { // the second round returns the operations of the first
			for i, s := range sides {
				for s.pull(rt) {
				}
				other := sides[1-i]
				other.giveThese(rt, s, other.given, len(s.pulled))
			}
		}
		for i, s := range sides {
			s.check(rt)
			s.reads(rt)
			at := s.nodes[0].Service().RaftStatus().LastIndex
			if r := s.push(rt, sides[1-i].pulled); r.Applied != 0 || s.nodes[0].Service().RaftStatus().LastIndex != at {
				rt.Fatalf("%s: all of it pushed again: %d are new, the log grew by %d", s.name, r.Applied,
					s.nodes[0].Service().RaftStatus().LastIndex-at)
			}
			s.check(rt)
		}
	})
}

// reads compares the side's log with its writes, from the beginning and from after any operation.
func (s *side) reads(t *rapid.T) {
	facts := func(ops []wire.OplogEntry) []string { return api.Each(ops, fact) }
	if got := facts(s.pulled); !slices.Equal(got, s.wrote) {
		t.Fatalf("%s tells\n%s\nwant\n%s", s.name, strings.Join(got, "\n"), strings.Join(s.wrote, "\n"))
	}
	all, e := s.peer.pull(&wire.OplogPull{Database: s.name, Limit: wire.MaxOps})
	if got := facts(all.Ops); e.Code != 0 || !slices.Equal(got, s.wrote) {
		t.Fatalf("%s tells at once\n%s\nwant\n%s", s.name, strings.Join(got, "\n"), strings.Join(s.wrote, "\n"))
	}
	for i := range all.Ops {
		op := all.Ops[i]
		for _, q := range []wire.OplogPull{{SinceHLC: op.HLC, SinceOpID: &op.OpID}, {SinceOpID: &op.OpID}} {
			q.Database, q.Limit = s.name, wire.MaxOps
			rest, e := s.peer.pull(&q)
			if got := facts(rest.Ops); e.Code != 0 || !slices.Equal(got, s.wrote[i+1:]) {
				t.Fatalf("%s tells behind %d (with its time: %t)\n%s\nwant\n%s", s.name, i, q.SinceHLC != nil, strings.Join(got, "\n"),
					strings.Join(s.wrote[i+1:], "\n"))
			}
		}
	}
}
