package node_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestContext checks that a block for a prompt has memories of the requested namespaces, each with its namespace,
// stays within its budget and names what is left out, and that a token of another database sees none of them.
func TestContext(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	storeExamples(w)
	a := w.ok("POST", "/v1/context", obj{"query": "when is the release?", "namespaces": []string{"work", "home"}, "max_tokens": 120})
	block := a["context"].(string)
	for _, want := range []string{`in \"work\": \"The release is on Friday`, `in \"home\": \"The release party`} {
		if !strings.Contains(block, strings.ReplaceAll(want, `\"`, `"`)) {
			t.Errorf("lacks %s:\n%s", want, block)
		}
	}
	if strings.Contains(block, "private") || a["tokens"].(float64) > 120 || len(a["left_out"].([]any)) == 0 {
		t.Errorf("%v", a)
	}
	if a := w.ok("POST", "/v1/context", obj{"query": "release", "filter": obj{"@namespace": "home"}}); len(a["memories"].([]any)) != 1 {
		t.Errorf("with a filter: %v", a)
	}
	newest := w.ok("POST", "/v1/context", obj{"namespaces": []string{"work"}})["context"].(string)
	if !strings.Contains(newest, "Newest first") || strings.Index(newest, "step 19") > strings.Index(newest, "step 18") {
		t.Errorf("without a question:\n%s", newest)
	}
	w.ok("POST", "/v1/databases", obj{"name": "other"})
	stranger := w.ok("POST", "/v1/admin/tokens", obj{"database": "other"})["token"].(string)
	if a := w.with(stranger).ok("POST", "/v1/context", obj{"query": "release"}); a["context"] != "" {
		t.Errorf("another database's token reads %v", a)
	}
}

// TestContextIsTheSameOnEveryNode checks that three nodes format the same block, also after the leader has died.
func TestContextIsTheSameOnEveryNode(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	leader := c.leader()
	index := storeExamples(c.web(leader))
	question := obj{"query": "when is the release, and who leads it?", "min_index": index, "skip_reinforce": true}
	block := func(i int) string { return c.web(i).ok("POST", "/v1/context", question)["context"].(string) }
	want := block(leader)
	if !strings.Contains(want, "The release is on Friday") {
		t.Fatalf("the leader writes:\n%s", want)
	}
	c.stop(leader)
	c.leader() // until there is one, a follower may not know that the last record is committed
	for i := range 3 {
		if i == leader {
			continue
		}
		if got := block(i); got != want {
			t.Errorf("node %d writes\n%s\nand the leader wrote\n%s", i, got, want)
		}
	}
}

// storeExamples stores the memories for the tests, and returns the index.
func storeExamples(w *web) (index any) {
	w.ok("POST", "/v1/remember", obj{"text": "The release is on Friday, and Dana leads it.", "namespace": "work"})
	w.ok("POST", "/v1/remember", obj{"text": "The release party is at Bob's place.", "namespace": "home"})
	w.ok("POST", "/v1/remember", obj{"text": "The release is private.", "namespace": "elsewhere"})
	for i := range 20 {
		index = w.ok("POST", "/v1/remember",
			obj{"text": fmt.Sprintf("The release needs step %d, which somebody has to look at before it starts.", i),
				"namespace": "work"})["log_index"]
	}
	return index
}
