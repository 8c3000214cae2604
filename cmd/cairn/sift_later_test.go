package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestSiftLaterKinds sends the requests of client version 1.1 and later to a single node.
func TestSiftLaterKinds(t *testing.T) {
	t.Parallel()
	p := &cairntest.Node{T: t,
		Args: []string{"dev", "--home", filepath.Join(shortDir(t), "h"), "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))}}
	t.Cleanup(p.Kill)
	p.Launch()()
	laterKinds(t, p.Line.Home, p.Line.Home)
}

// siftLater sends the same requests to a follower, and reads the results on another node.
func (d *dialectCluster) siftLater(t *testing.T) {
	laterKinds(t, d.followerNode().Line.Home, d.nodes[(d.follower+1)%3].Line.Home)
}

// later is a client of a workspace's socket.
type later struct {
	t      *testing.T
	socket string
}

func (l later) do(request string) map[string]any {
	l.t.Helper()
	return siftDo(l.t, l.socket, request)
}

// is checks the JSON of a part of an answer.
func (l later) is(what string, got any, want string) {
	l.t.Helper()
	b, err := json.Marshal(got)
	if err != nil || string(b) != want {
		l.t.Errorf("%s: %s, want %s (%v)", what, b, want, err)
	}
}

func (l later) capture(session, tool, payload string, more ...string) map[string]any {
	l.t.Helper()
	return l.do(fmt.Sprintf(`{"kind":"capture","sessionId":%q,"tool":%q,"payload":%s%s}`, session, tool, payload, strings.Join(more, "")))
}

// laterKinds writes to a workspace of one node, and reads on another, which may be the same.
func laterKinds(t *testing.T, home, elsewhere string) {
	project := shortDir(t)
	l := later{t, siftOpenAt(t, home, project)}
	there := l
	if elsewhere != home {
		there.socket = siftOpenAt(t, elsewhere, project)
	}
	write := l.capture("one", "Write",
		`{"tool_input":{"file_path":"gate.go","content":"func openGate(x int) error {\n}\ntype gate struct{}\n"},"tool_response":"ok"}`)
	run := l.capture("one", "Bash", `{"tool_input":{"command":"make heron"},"tool_response":"error: no rule to make heron"}`)
	l.capture("two", "Bash", `{"tool_input":{"command":"make heron"},"tool_response":"error: no rule to make heron"}`, `,"ts":1000`)
	sum, event := int(run["summaryId"].(float64)), int(run["id"].(float64))

	l.pins(there, sum)
	l.drain(there, event, sum)
	l.compared(there, write)
	l.cache(there)
	l.expired()
	l.copied(home)
	l.federated(home, project)
}

func (l later) pins(there later, sum int) {
	l.t.Helper()
	for range 2 {
		l.is("pin", l.do(fmt.Sprintf(`{"kind":"pin","summaryId":%d}`, sum)), fmt.Sprintf(`{"pinned":true,"summaryId":%d}`, sum))
	}
	l.is("pin of nothing", l.do(`{"kind":"pin","summaryId":999999999}`), `{"pinned":false,"summaryId":999999999}`)
	suite.Eventually(l.t, "the pinned summary on another node", func() bool {
		all := there.do(`{"kind":"pinned"}`)["pinned"].([]any)
		return len(all) == 1 && all[0].(map[string]any)["id"] == float64(sum)
	})
	l.is("doctor", l.do(`{"kind":"doctor"}`)["pinned"], `1`)
	l.is("unpin", l.do(fmt.Sprintf(`{"kind":"unpin","summaryId":%d}`, sum)), fmt.Sprintf(`{"pinned":false,"summaryId":%d}`, sum))
	l.is("pinned", l.do(`{"kind":"pinned"}`), `{"pinned":[]}`)
}

// drain checks that the summary of an event by a host's model is found, and so is the first summary.
func (l later) drain(there later, event, sum int) {
	l.t.Helper()
	first := l.do(`{"kind":"claim_for_summary","batch":2}`)["events"].([]any)
	second := l.do(`{"kind":"claim_for_summary","batch":10}`)["events"].([]any)
	if len(first) != 2 || len(second) != 1 {
		l.t.Fatalf("claimed %v, then %v", first, second)
	}
	claimed := first[1].(map[string]any)
	if claimed["id"] != float64(event) || claimed["tool"] != "Bash" || claimed["sessionId"] != "one" ||
		!json.Valid([]byte(claimed["payloadJson"].(string))) ||
		!strings.Contains(claimed["payloadJson"].(string), "make heron") || len(claimed["inputHash"].(string)) != 64 {
		l.t.Errorf("claimed %v", claimed)
	}
	record := func(text string) map[string]any {
		return l.do(fmt.Sprintf(`{"kind":"record_summary","eventId":%d,"model":"host-model","promptHash":"p","text":%q,"confidence":0.9,"tokensIn":100,"tokensOut":12,"embedding":[0.1]}`,
			event, text))
	}
	l.is("recorded", record("The build has no rule for the bird target; token ghp_"+strings.Repeat("a", 36)), fmt.Sprintf(`{"id":%d}`, sum))
	l.is("recorded again", record("Another text"), fmt.Sprintf(`{"id":%d}`, sum))
	suite.Eventually(l.t, "the recorded summary on another node", func() bool {
		rows := there.do(fmt.Sprintf(`{"kind":"get","ids":[%d]}`, sum))["rows"].([]any)
		r := rows[0].(map[string]any)
		return r["text"] == "The build has no rule for the bird target; token [REDACTED:github]" && r["model"] == "host-model" &&
			r["promptHash"] == "p" && r["confidence"] == 0.9 &&
			r["tokensIn"] == 100.0 && r["tokensOut"] == 12.0 && r["eventId"] == float64(event)
	})
	for _, q := range []string{"bird target", "make heron"} {
		if hits := l.do(fmt.Sprintf(`{"kind":"search","query":%q}`, q))["hits"].([]any); !slices.ContainsFunc(hits,
			func(h any) bool { return h.(map[string]any)["id"] == float64(sum) }) {
			l.t.Errorf("%s: %v", q, hits)
		}
	}
	other := int(second[0].(map[string]any)["id"].(float64))
	release := func(more string) any {
		return l.do(fmt.Sprintf(`{"kind":"release_summary","eventId":%d,"error":"rate limit"%s}`, other, more))["status"]
	}
	l.is("released", release(""), `"released"`)
	if again := l.do(`{"kind":"claim_for_summary"}`)["events"].([]any); len(again) != 1 ||
		again[0].(map[string]any)["id"] != float64(other) {
		l.t.Errorf("a released event is offered as %v", again)
	}
	l.is("skipped", release(`,"terminal":true`), `"skipped"`)
	l.is("nothing is left", l.do(`{"kind":"claim_for_summary"}`)["events"], `[]`)
	l.is("requeued", l.do(`{"kind":"retry_skipped"}`), `{"requeued":1}`)
	l.is("offered again", len(l.do(`{"kind":"claim_for_summary"}`)["events"].([]any)), `1`)
	release(`,"terminal":true`)
	l.is("pruned", l.do(`{"kind":"prune","maxAgeMs":1000,"superseded":true}`), `{"removedEvents":1,"removedSummaries":0}`)
	l.is("nothing to requeue", l.do(`{"kind":"retry_skipped"}`), `{"requeued":0}`)
}

func (l later) compared(there later, write map[string]any) {
	l.t.Helper()
	suite.Eventually(l.t, "the session with the same event", func() bool {
		s := there.do(`{"kind":"thread","sessionId":"one"}`)["sessions"].([]any)
		return len(s) == 1 && s[0].(map[string]any)["sessionId"] == "two" && s[0].(map[string]any)["sharedEvents"] == 1.0 &&
			s[0].(map[string]any)["lastTs"] == "1970-01-01T00:00:01.000Z"
	})
	for q, want := range map[string]int{"function:openGate": 1, "openGa": 1, "struct:gate": 0, "type:gate": 1,
		"function:nothing": 0, "": 0} {
		hits := there.do(fmt.Sprintf(`{"kind":"symbol_search","query":%q}`, q))["hits"].([]any)
		if len(hits) != want || want > 0 && hits[0].(map[string]any)["summaryId"] != write["summaryId"] {
			l.t.Errorf("symbol %q: %v", q, hits)
		}
	}
	s := there.do(`{"kind":"stats"}`)
	l.is("top tools", s["topTools"], `[{"count":2,"tool":"Bash"},{"count":1,"tool":"Write"}]`)
	l.is("top sessions", s["topSessions"], `[{"events":2,"sessionId":"one"},{"events":1,"sessionId":"two"}]`)
	l.is("throughput", s["throughput"].(map[string]any)["eventsPerMin"], fmt.Sprint(2.0/60))
	l.is("integrity", there.do(`{"kind":"doctor","heal":true}`)["integrity"], `"ok"`)
}

func (l later) cache(there later) {
	l.t.Helper()
	l.is("an empty cache", l.do(`{"kind":"cache_get","cacheKey":"abc"}`), `{"cached":null}`)
	for _, text := range []string{"first", "second"} {
		l.is("cache_put", l.do(fmt.Sprintf(`{"kind":"cache_put","cacheKey":"abc","text":%q,"tokensIn":7,"tokensOut":null}`, text)),
			`{"ok":true}`)
	}
	suite.Eventually(l.t, "the cached text on another node", func() bool {
		b, err := json.Marshal(there.do(`{"kind":"cache_get","cacheKey":"abc"}`))
		return err == nil && string(b) == `{"cached":{"text":"second","tokensIn":7,"tokensOut":null}}`
	})
	if hits := l.do(`{"kind":"search","query":"second"}`)["hits"].([]any); len(hits) != 0 {
		l.t.Errorf("a search finds what is cached: %v", hits)
	}
	if rows := l.do(`{"kind":"summaries"}`)["summaries"].([]any); slices.ContainsFunc(rows,
		func(r any) bool { return r.(map[string]any)["text"] == "second" }) {
		l.t.Errorf("the cache is among the summaries: %v", rows)
	}
}

// expired checks that an expired capture is not found, and that a sweep, on request or by the leader, forgets it.
func (l later) expired() {
	l.t.Helper()
	r := l.capture("one", "Notification", `{"message":"a short-lived quagga"}`, `,"ts":1000,"ttlMs":1000`)
	suite.Eventually(l.t, "the end of a capture", func() bool {
		l.do(`{"kind":"sweep_expired"}`)
		return len(l.do(fmt.Sprintf(`{"kind":"get","ids":[%v]}`, r["summaryId"]))["rows"].([]any)) == 0
	})
	if hits := l.do(`{"kind":"search","query":"quagga"}`)["hits"].([]any); len(hits) != 0 {
		l.t.Errorf("found: %v", hits)
	}
}

// copied checks that another workspace that imports an export has the same events once each, and a host's texts.
func (l later) copied(home string) {
	l.t.Helper()
	all := l.do(`{"kind":"export","all":true}`)
	if all["done"] != true || all["omitted"] != 0.0 || all["records"] != 8.0 { // two sessions, three events and three summaries
		l.t.Errorf("export: %v", all)
	}
	chunk := l.do(`{"kind":"export","cursor":0}`)
	if chunk["chunk"] != all["ndjson"] || chunk["cursor"] != 0.0 || chunk["done"] != true {
		l.t.Errorf("in chunks: %v", chunk)
	}
	other := later{l.t, siftOpenAt(l.t, home, shortDir(l.t))}
	b, err := json.Marshal(map[string]any{"kind": "import", "ndjson": all["ndjson"].(string) + "\nno JSON"})
	if err != nil {
		l.t.Fatal(err)
	}
	l.is("import", other.do(string(b)), `{"errors":1,"inserted":3,"skipped":5}`)
	l.is("import again", other.do(string(b)), `{"errors":1,"inserted":0,"skipped":8}`)
	if hits := other.do(`{"kind":"search","query":"bird target"}`)["hits"].([]any); len(hits) == 0 ||
		!strings.Contains(hits[0].(map[string]any)["text"].(string), "no rule for the bird target") {
		l.t.Errorf("the host's text is not found where it was imported: %v", hits)
	}
	a, c := other.do(`{"kind":"export"}`), all["ndjson"].(string)
	if got := strings.Count(a["ndjson"].(string), `"input_hash"`); got != strings.Count(c, `"input_hash"`) {
		l.t.Errorf("%d events came back", got)
	}
}

// federated checks that a search of other workspaces finds events only of those with a consent file.
func (l later) federated(home, project string) {
	l.t.Helper()
	dir := shortDir(l.t)
	other := later{l.t, siftOpenAt(l.t, home, dir)}
	other.capture("s", "Notification", `{"message":"the axolotl migration took a week"}`)
	find := func() []any { return l.do(`{"kind":"federate_search","query":"axolotl migration"}`)["hits"].([]any) }
	if hits := find(); len(hits) != 0 {
		l.t.Errorf("without consent: %v", hits)
	}
	key := other.do(`{"kind":"status"}`)["workspace"].(string)
	consent := filepath.Join(filepath.Dir(filepath.Dir(other.socket)), "workspaces", key, "federate.consent")
	if err := os.WriteFile(consent, nil, 0o600); err != nil {
		l.t.Fatal(err)
	}
	if hits := find(); len(hits) != 1 || hits[0].(map[string]any)["workspace"] != key || !strings.Contains(fmt.Sprint(hits[0]), "axolotl") {
		l.t.Errorf("with consent: %v", hits)
	}
	if hits := l.do(`{"kind":"search","query":"axolotl"}`)["hits"].([]any); len(hits) != 0 {
		l.t.Errorf("a search of this workspace finds %v", hits)
	}
}
