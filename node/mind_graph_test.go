package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestTextsStateClaims checks that claims are extracted from stored texts, over the wire and over HTTP, and end when
// the memory no longer states them.
func TestTextsStateClaims(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	cl, w := c.dial(0), c.web(0)
	rid, err := cl.Remember(t.Context(), wire.NewRemember("Alice Chen is the CEO of Acme Corp. Bob Stone is not the CEO of Acme Corp."))
	if err != nil {
		t.Fatal(err)
	}
	w.ok("POST", "/v1/remember", obj{"text": "As everybody knows, Alice Chen is the CEO of Acme Corp."}) // stated already
	claims, err := cl.Claims(t.Context(), "Acme Corp", "")
	if err != nil || len(claims) != 2 {
		t.Fatalf("%+v, %v", claims, err)
	}
	var lines []string
	for _, x := range w.ok("GET", "/v1/claims?entity=Acme+Corp", nil)["claims"].([]any) {
		x := x.(obj)
		lines = append(lines,
			fmt.Sprint(x["src"], " ", x["rel_type"], " ", x["dst"], " ", x["polarity"], " ", x["extractor"], " ",
				x["confidence_band"], " ", x["source_memory_rid"] == rid))
	}
	slices.Sort(lines)
	want := "Alice Chen ceo_of Acme Corp 1 heuristic_v1 medium true|Bob Stone ceo_of Acme Corp -1 heuristic_v1 medium true"
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("claims: %s", got)
	}
	w.ok("POST", "/v1/correct", obj{"rid": rid, "reason": "he was promoted", "new_text": "Bob Stone is the CEO of Acme Corp."})
	if got := w.ok("GET", "/v1/claims?entity=Alice+Chen", nil)["claims"].([]any); len(got) != 0 {
		t.Errorf("after a correction: %v", got)
	}
	if got := w.ok("GET", "/v1/claims?entity=Bob+Stone", nil)["claims"].([]any); len(got) != 1 || got[0].(obj)["polarity"] != 1.0 ||
		got[0].(obj)["status_suggestion"] != "active" {
		t.Errorf("after a correction: %v", got)
	}
	if found, err := cl.Forget(t.Context(), rid); err != nil || !found {
		t.Fatal(found, err)
	}
	if claims, err := cl.Claims(t.Context(), "Bob Stone", ""); err != nil || len(claims) != 0 {
		t.Errorf("after forgetting: %+v, %v", claims, err)
	}
}

// TestADisputedClaimSaysSo checks that a claim with an open conflict is marked.
func TestADisputedClaimSaysSo(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for _, place := range []string{"Lisbon", "Porto"} {
		w.ok("POST", "/v1/claim", obj{"src": "Ann", "rel_type": "born_in", "dst": place})
	}
	if got := w.ok("POST", "/v1/think", obj{}); got["conflicts_found"] != 1.0 {
		t.Fatalf("%v", got)
	}
	for _, x := range w.ok("GET", "/v1/claims?entity=Ann", nil)["claims"].([]any) {
		if x := x.(obj); x["status_suggestion"] != "conflicted" {
			t.Errorf("%v", x)
		}
	}
}

// TestARelationFindsOlderMemories checks that a name becomes an entity when it is related, and that the graph then
// leads to older memories with the name.
func TestARelationFindsOlderMemories(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	cl := c.dial(0)
	rid, err := cl.Remember(t.Context(), wire.NewRemember("somebody left the kiln on over night"))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := cl.Remember(t.Context(), wire.NewRemember("nothing to do with pottery at all, kilns aside")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cl.Relate(t.Context(), wire.Relate{Entity: "studio nine", Target: "kiln", Relationship: "owns", Weight: 1}); err != nil {
		t.Fatal(err)
	}
	if m := c.web(0).ok("GET", "/v1/memory/"+rid, nil); fmt.Sprint(m["entities"]) != "[kiln]" {
		t.Errorf("tied to %v", m["entities"])
	}
	profile := c.web(0).ok("GET", "/v1/entities/kiln", nil)
	if profile["memories"] != 1.0 {
		t.Errorf("profile %v", profile)
	}
}

// TestAMergeHandsRelationsOn checks that a merged memory has the relations of its sources.
func TestAMergeHandsRelationsOn(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	s, caller := c.local(0)
	drafts := []api.Draft{{RID: "a", Text: "Bob asked for the quarterly report on Thursday."},
		{RID: "b", Text: "Note that Bob asked for the quarterly report on Thursday."}}
	for i := range 10 {
		drafts = append(drafts, api.Draft{RID: fmt.Sprint("n", i), Text: fmt.Sprintf("ticket %d was closed by team %d", 100+i, i)})
	}
	if _, err := remember(t.Context(), s, caller, "", drafts...); err != nil {
		t.Fatal(err)
	}
	for _, e := range [][2]string{{"b", "n1"}, {"n2", "a"}, {"a", "b"}} {
		if _, err := api.Relate.Do(t.Context(), s, caller,
			&api.RelateRequest{Src: e[0], Type: "follows", Dst: e[1], Weight: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := api.Think.Do(t.Context(), s, caller,
		&api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true}, Limit: 50}); err != nil || a.Merged != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	made := *memory(t, s, caller, "a").Into
	related, err := api.Edges.Do(t.Context(), s, caller, &api.EdgesRequest{Entity: made})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range related.Edges {
		got = append(got, strings.ReplaceAll(e.Src+" "+e.Dst, made, "made"))
	}
	if slices.Sort(got); strings.Join(got, ", ") != "made n1, n2 made" {
		t.Errorf("%v", got)
	}
}

// TestAResolutionIsEmbedded checks that the text that resolves a conflict gets a vector.
func TestAResolutionIsEmbedded(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Embedder = builtin(t, 64) })
	_, caller := c.local(0)
	w := c.web(0)
	w.ok("POST", "/v1/remember/batch",
		obj{"memories": []obj{{"text": "Bob works as a designer at Acme."}, {"text": "Alice lives in Lisbon."},
			{"text": "Alice lives in Berlin."}}})
	if got := w.ok("POST", "/v1/think", obj{}); got["conflicts_found"] != 1.0 {
		t.Fatalf("%v", got)
	}
	id := w.ok("GET", "/v1/conflicts?status=open", nil)["conflicts"].([]any)[0].(obj)["conflict_id"].(string)
	const text = "Alice commutes between Lisbon and Berlin fortnightly"
	done := w.ok("POST", "/v1/conflicts/"+id+"/resolve", obj{"strategy": "merge", "new_text": text})
	rid, _ := done["new_memory_rid"].(string)
	var vec []float32
	if err := c.nodes[0].State().Read(func(v *state.View) error {
		m, _ := v.Memory(caller.DB, rid)
		vec = v.Vector(caller.DB, m.Seq).Floats()
		return nil
	}); err != nil || len(vec) != 64 {
		t.Fatalf("a vector of %d, %v", len(vec), err)
	}
	want, err := builtin(t, 64).Embed(t.Context(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	var cosine float32
	for i, x := range want[0] {
		cosine += x * vec[i]
	}
	if cosine < .99 {
		t.Errorf("the vector is not the text's: a cosine of %v", cosine)
	}
}

// TestReadsThatLeaveNoTrace checks that every surface with a recall can disable reinforcement.
func TestReadsThatLeaveNoTrace(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 1)
	cl, w := c.dial(0), c.web(0)
	rid, err := cl.Remember(t.Context(), wire.NewRemember("the heron stood in the pond"))
	if err != nil {
		t.Fatal(err)
	}
	q := wire.NewRecall("heron pond")
	q.SkipReinforce = true
	if _, _, err := cl.Recall(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	w.ok("POST", "/v1/recall", obj{"query": "heron pond", "skip_reinforce": true})
	before := w.ok("GET", "/v1/memory/"+rid, nil)["access_count"]
	w.ok("POST", "/v1/recall", obj{"query": "heron pond"}) // this one is counted, after the others
	suite.Eventually(t, "one access is counted", func() bool { return w.ok("GET", "/v1/memory/"+rid, nil)["access_count"] == 1.0 })
	if before != 0.0 {
		t.Errorf("%v accesses", before)
	}
}
