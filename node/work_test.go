package node_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// texts returns the contents of a namespace's turns on a node.
func (w *web) texts(namespace string) (all []string) {
	for _, turn := range w.ok("GET", "/v1/conversation/recent?consistency=linearizable&limit=1000&namespace="+namespace,
		nil)["turns"].([]any) {
		all = append(all, turn.(map[string]any)["content"].(string))
	}
	return all
}

// TestTurnsOfManyNodes lets clients of all three nodes add turns to one conversation concurrently. It keeps the last
// ones, each once, those of one client in order, and all nodes have the same.
func TestTurnsOfManyNodes(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	const each, keep = 8, 20
	var clients sync.WaitGroup
	for i := range c.nodes {
		w := c.web(i)
		clients.Go(func() {
			for n := range each {
				if status, said := w.send("POST", "/v1/conversation/turns",
					obj{"role": "user", "content": fmt.Sprintf("node %d says %02d", i, n), "max_turns": keep,
						"namespace": "talk"}); status != http.StatusOK {
					t.Errorf("%d %v", status, said)
				}
			}
		})
	}
	clients.Wait()
	first := c.web(0).texts("talk")
	if len(first) != keep {
		t.Fatalf("%d turns are kept, want %d: %v", len(first), keep, first)
	}
	for i := range c.nodes {
		if got := c.web(i).texts("talk"); !slices.Equal(got, first) {
			t.Errorf("node %d has %v, node 1 has %v", i+1, got, first)
		}
		own := slices.DeleteFunc(slices.Clone(first), func(s string) bool { return !strings.HasPrefix(s, fmt.Sprintf("node %d ", i)) })
		if !slices.IsSorted(own) || len(slices.Compact(slices.Clone(own))) != len(own) {
			t.Errorf("the turns of client %d are %v", i, own)
		}
	}
	if got := c.web(1).ok("POST", "/v1/conversation/clear", obj{"namespace": "talk"})["turns"]; got != float64(keep) {
		t.Errorf("%v turns were cleared", got)
	}
	if got := c.web(2).texts("talk"); len(got) != 0 {
		t.Errorf("after clearing: %v", got)
	}
	c.agree()
}

// TestWorkOnAFollower checks that tasks and skills stored on one node are read, changed and searched on another.
func TestWorkOnAFollower(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	here, there := c.web(0), c.web(1)
	added := here.ok("POST", "/v1/tasks", obj{"title": "renew the certificate", "namespace": "ops", "idempotency_key": "once"})
	if again := there.ok("POST", "/v1/tasks",
		obj{"title": "renew the certificate", "namespace": "ops", "idempotency_key": "once"}); again["id"] != added["id"] {
		t.Errorf("a repeated request added %v, the first one %v", again["id"], added["id"])
	}
	id := added["id"].(string)
	var clients sync.WaitGroup
	for i, status := range []string{"in_progress", "blocked", "done"} {
		clients.Go(func() { c.web(i).ok("PATCH", "/v1/tasks/"+id, obj{"status": status}) })
	}
	clients.Wait()
	for i := range c.nodes {
		if got := c.web(i).ok("GET", "/v1/tasks/"+id+"?consistency=linearizable", nil); got["revision"] != 3.0 ||
			got["priority"] != "medium" {
			t.Errorf("node %d after three changes: %v", i+1, got)
		}
	}
	rid := here.ok("POST", "/v1/remember", obj{"text": "the certificate ends in May", "namespace": "ops"})["rid"].(string)
	if status, said := there.send("DELETE", "/v1/tasks/"+rid, nil); status != http.StatusNotFound {
		t.Errorf("a memory that is no task: %d %v", status, said)
	}
	there.ok("DELETE", "/v1/tasks/"+id, nil)
	if got := here.ok("GET", "/v1/tasks?consistency=linearizable&namespace=ops", nil)["tasks"].([]any); len(got) != 0 {
		t.Errorf("after deleting: %v", got)
	}

	const body = "Ask the authority for a new certificate, wait until all nodes have it, then end the old one."
	made := here.ok("POST", "/v1/skills/define",
		obj{"skill_id": "ops.certificate.renew", "body": body, "skill_type": "procedure", "applies_to": []string{"tls"}})
	found := there.ok("POST", "/v1/skills/search",
		obj{"query": "how is a certificate renewed", "applies_to": "tls", "consistency": "linearizable"})["skills"].([]any)
	if len(found) != 1 || found[0].(map[string]any)["skill_id"] != "ops.certificate.renew" ||
		found[0].(map[string]any)["rid"] != made["rid"] {
		t.Errorf("on another node: %v", found)
	}
	there.ok("POST", "/v1/skills/ops.certificate.renew/outcome", obj{"succeeded": true})
	for _, r := range there.ok("POST", "/v1/recall",
		obj{"query": "certificate renew outcome", "consistency": "linearizable"})["results"].([]any) {
		if ns := r.(map[string]any)["namespace"]; ns == "outcome_substrate" {
			t.Errorf("a recall finds %v", r)
		}
	}
}

// TestTurnsAtTheQuota checks that a full database accepts further turns of an existing conversation, but no new
// tasks.
func TestTurnsAtTheQuota(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	turn := func(n int) (int, map[string]any) {
		return w.send("POST", "/v1/conversation/turns", obj{"role": "user", "content": fmt.Sprint("turn ", n), "max_turns": 2})
	}
	turn(1)
	turn(2)
	w.ok("POST", "/v1/admin/databases/default/quota", obj{"max_memories": 2})
	if status, said := turn(3); status != http.StatusOK {
		t.Errorf("%d %v", status, said)
	}
	if got := w.texts(""); !slices.Equal(got, []string{"turn 2", "turn 3"}) {
		t.Errorf("%v", got)
	}
	if status, said := w.send("POST", "/v1/tasks", obj{"title": "one more"}); status != http.StatusTooManyRequests {
		t.Errorf("a task over the quota: %d %v", status, said)
	}
}

// TestLargeTurnsAndSkillsAreCounted checks that lists of turns and of skills end where they have no room together, and
// say so.
func TestLargeTurnsAndSkillsAreCounted(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	large := strings.Repeat("x ", 490_000)
	for i := range 20 {
		w.ok("POST", "/v1/conversation/turns", obj{"role": "user", "content": fmt.Sprint(i, " ", large), "max_turns": 20})
		w.ok("POST", "/v1/skills/define", obj{"skill_id": fmt.Sprint("release.part", i), "skill_type": "procedure", "applies_to": []string{"release"},
			"body": "Before a release, read the notes and run the tests twice.", "metadata": obj{"x": large}})
	}
	turns := w.ok("GET", "/v1/conversation/recent?limit=20", nil)
	if all := turns["turns"].([]any); len(all) < 10 || len(all) > 17 || turns["left_out"] != true ||
		!strings.HasPrefix(all[len(all)-1].(obj)["content"].(string), "19 ") || !strings.HasPrefix(all[0].(obj)["content"].(string), fmt.Sprint(20-len(all), " ")) {
		t.Errorf("%d turns, left out: %v", len(all), turns["left_out"])
	}
	if turns = w.ok("GET", "/v1/conversation/recent?limit=2", nil); turns["left_out"] != nil || turns["count"] != 2. {
		t.Errorf("of two turns: %v, %v", turns["count"], turns["left_out"])
	}
	skills := w.ok("POST", "/v1/skills/search", obj{"query": "release notes", "top_k": 20})
	if rows := len(skills["skills"].([]any)); rows < 10 || rows > 17 || skills["left_out"] != float64(20-rows) {
		t.Errorf("%d skills, left out: %v", rows, skills["left_out"])
	}
}
