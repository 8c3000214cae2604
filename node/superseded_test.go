package node_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestANewStatementSupersedes checks that a statement stored on a follower supersedes an older one stored on the
// leader, and that all nodes rank the current one first for any matching words. Turns of a dialogue, keyed memories,
// other namespaces, and relations that the database calls multi-valued supersede nothing. An undo makes the older one
// current again, for good.
func TestANewStatementSupersedes(t *testing.T) {
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) { cfg.Surfaces.ForwardWrites = new(true) })
	led := c.leader()
	leader, follower := c.web(led), c.web((led+1)%3)
	old := leader.ok("POST", "/v1/remember", obj{"text": "Billing is Camille's service, ask her before touching the proration code."})
	follower.ok("POST", "/v1/recall", obj{"query": "billing", "min_index": old["log_index"]})
	for _, other := range []obj{
		{"text": "Billing is Anton's service, ask him before touching the proration code.", "namespace": "elsewhere"},
		{"text": "Billing is Anton's service, ask him before touching the proration code.", "memory_type": "episodic"},
		{"text": "Billing is Anton's service, ask him before touching the proration code.", "session_id": "transcript"},
	} {
		a := follower.ok("POST", "/v1/remember", other)
		if a["superseded"] != nil {
			t.Errorf("%v supersedes %v", other, a)
		}
		follower.ok("POST", "/v1/forget", obj{"rid": a["rid"]})
	}
	new := follower.ok("POST", "/v1/remember", obj{"text": "Billing is Anton's service, ask him before touching the proration code."})
	if fmt.Sprint(new["superseded"]) != fmt.Sprint([]any{old["rid"]}) {
		t.Fatalf("superseded: %v", new)
	}
	order := func(question string) string {
		t.Helper()
		var all []string
		for i := range 3 {
			var rids []string
			for _, r := range c.web(i).ok("POST", "/v1/recall", obj{"query": question, "min_index": new["log_index"]})["results"].([]any) {
				rids = append(rids,
					strings.NewReplacer(fmt.Sprint(old["rid"]), "old", fmt.Sprint(new["rid"]),
						"new").Replace(fmt.Sprint(r.(obj)["rid"], r.(obj)["why_retrieved"])))
			}
			all = append(all, strings.Join(rids, ", "))
		}
		if all[0] != all[1] || all[1] != all[2] {
			t.Errorf("the nodes answer %q", all)
		}
		return all[0]
	}
	if got := order("what does Camille own"); !strings.HasPrefix(got, "new") || !strings.Contains(got, "superseded by new") {
		t.Errorf("asked with the words of the old one: %s", got)
	}
	if got := follower.ok("POST", "/v1/context", obj{"query": "who owns billing"})["context"].(string); !strings.Contains(got, "superseded by #") ||
		strings.Index(got, "Anton") > strings.Index(got, "Camille") {
		t.Errorf("in a prompt: %s", got)
	}
	undone := follower.ok("POST", "/v1/undo", obj{"rid": old["rid"]})
	new["log_index"] = undone["log_index"]
	if got := order("what does Camille own"); strings.Contains(got, "superseded") {
		t.Errorf("after an undo: %s", got)
	}
	leader.ok("POST", "/v1/correct",
		obj{"rid": new["rid"], "new_text": "Billing is Anton's service, ask him before changing the proration code.", "reason": "clearer"})
	if m := leader.ok("GET", "/v1/memory/"+fmt.Sprint(old["rid"]), nil); m["superseded_by"] != nil {
		t.Errorf("superseded again after an undo: %v", m)
	}
	leader.ok("POST", "/v1/admin/settings", obj{"multi_valued": []string{"works_at"}})
	leader.ok("POST", "/v1/remember", obj{"text": "Bob works at Acme."})
	if a := leader.ok("POST", "/v1/remember", obj{"text": "Bob works at Globex."}); a["superseded"] != nil {
		t.Errorf("a relation with several values: %v", a)
	}
	offsite := leader.ok("POST", "/v1/remember", obj{"text": "The offsite is in Lisbon."})
	early := leader.ok("POST", "/v1/remember", obj{"text": "The offsite is in Oslo.", "created_at": "2020-01-01"})
	if m := leader.ok("GET", "/v1/memory/"+fmt.Sprint(early["rid"]), nil); early["superseded"] != nil ||
		m["superseded_by"] != offsite["rid"] || early["superseded_by"] != offsite["rid"] {
		t.Errorf("one that is dated earlier: %v, by %v", early, m["superseded_by"])
	}
	suite.Eventually(t, "the states to be the same", func() bool {
		at, sum := c.nodes[0].State().Sum()
		for _, n := range c.nodes[1:] {
			if other, s := n.State().Sum(); other != at || s != sum {
				return false
			}
		}
		return true
	})
}

// TestACorrectionHoldsFromItsDay: a memory whose text was corrected says what is so since then, and is not superseded
// by a statement that is dated between the memory and its correction. The correction of a superseded memory is about
// the past, and leaves it superseded.
func TestACorrectionHoldsFromItsDay(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	say := func(text, day string) string {
		return w.ok("POST", "/v1/remember", obj{"text": text, "created_at": day})["rid"].(string)
	}
	supersededBy := func(rid string) any { return w.ok("GET", "/v1/memory/"+rid, nil)["superseded_by"] }

	ada := say("Ada likes herons.", "2020-01-01")
	w.ok("POST", "/v1/correct", obj{"rid": ada, "new_text": "Ada lives in Oslo.", "reason": "she moved"})
	rome := say("Ada lives in Rome.", "2020-02-01")
	if supersededBy(ada) != nil || supersededBy(rome) != ada {
		t.Errorf("a statement from before the correction: %v and %v", supersededBy(ada), supersededBy(rome))
	}

	old, current := say("Bob lives in Riga.", "2020-01-01"), say("Bob lives in Turin.", "2020-02-01")
	past := w.ok("POST", "/v1/correct", obj{"rid": old, "new_text": "Bob lives in Vilnius.", "reason": "it was never Riga"})
	if supersededBy(old) != current || supersededBy(current) != nil || past["superseded_by"] != current || past["superseded"] != nil {
		t.Errorf("a correction of the past: %v and %v, answered with %v", supersededBy(old), supersededBy(current), past)
	}

	cat, acme := say("Carl has a cat.", "2020-01-01"), say("Carl works at Acme.", "2020-02-01")
	got := w.ok("POST", "/v1/correct", obj{"rid": cat, "new_text": "Carl works at Globex.", "reason": "he changed"})
	if supersededBy(cat) != nil || supersededBy(acme) != cat {
		t.Errorf("a correction that replaces a later statement: %v, %v and %v", got, supersededBy(cat), supersededBy(acme))
	}
}

// TestSupersededRowsTakeNoPlace checks that an answer has as many memories as were requested, also where some of the
// matches are left out because their successors are in it, over HTTP, as an event stream and for a prompt.
func TestSupersededRowsTakeNoPlace(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for _, name := range []string{"Ada", "Bob", "Cleo", "Dan", "Eve", "Finn"} {
		for _, city := range []string{"Lisbon", "Oslo", "Rome"} {
			w.ok("POST", "/v1/remember", obj{"text": name + " lives in " + city + "."})
		}
	}
	for _, k := range []int{1, 2, 5, 6} {
		question := obj{"query": "who lives where", "top_k": k, "skip_reinforce": true, "min_score": 0}
		rows := w.ok("POST", "/v1/recall", question)["results"].([]any)
		if len(rows) != k {
			t.Errorf("of %d memories requested, %d are returned", k, len(rows))
		}
		for _, r := range rows {
			if text := r.(obj)["text"].(string); !strings.HasSuffix(text, "Rome.") {
				t.Errorf("%d requested: %s", k, text)
			}
		}
		_, in := w.stream(question)
		for i := 0; ; i++ {
			name, row := nextEvent(t, in)
			if name != "result" {
				if i != k {
					t.Errorf("of %d memories requested, %d are streamed", k, i)
				}
				break
			}
			if i >= len(rows) || row["rid"] != rows[i].(obj)["rid"] {
				t.Errorf("%d requested, %d streamed: %v", k, i, row)
			}
		}
	}
	if got := w.ok("POST", "/v1/context", obj{"query": "who lives where", "max_tokens": 200, "min_score": 0})["context"].(string); strings.Count(got, "Rome") != 6 {
		t.Errorf("a prompt: %s", got)
	}
}
