package node_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// TestNoReadHasAMemoryInQuarantine calls every read operation before and after a release. Before it, only reads by id
// return the memory; subscribers, rounds of thinking and reads of the past before the release do not.
func TestNoReadHasAMemoryInQuarantine(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Background.Sweep = time.Hour })
	owner := c.web(0)
	reader := owner.with(owner.createToken(obj{"label": "reader"}))
	crawler := owner.with(owner.createToken(obj{"label": "crawler", "trust": "web", "quarantine": "web"}))
	events := reader.listen("")
	for range 2 {
		owner.ok("POST", "/v1/remember", obj{"text": "Ada brings biscuits to the harbor today"})
	}
	memory := obj{"text": "Ada brings zwieback to the harbor today", "session_id": "talk",
		"due_at": time.Now().Add(time.Hour).Unix(), "importance": .9}
	stored := crawler.ok("POST", "/v1/remember", memory)
	rid := stored["rid"].(string)
	if stored["quarantined"] != true {
		t.Errorf("the answer does not say that it waits: %v", stored)
	}
	byID := []string{"memory", "revisions", "timeline"}
	if found := slices.DeleteFunc(reader.readsContaining(rid, "zwieback"),
		func(name string) bool { return slices.Contains(byID, name) }); len(found) > 0 {
		t.Errorf("in quarantine, these show it: %v", found)
	}
	owner.ok("POST", "/v1/think", obj{"min_active_memories": 1})
	if st := owner.ok("GET", "/v1/stats", nil); fmt.Sprint(st["active_memories"], st["consolidated_memories"]) != "1 2" {
		t.Errorf("after a round: %v", st)
	}
	then := time.Now().UTC().Format(time.RFC3339Nano)
	owner.ok("POST", "/v1/release", obj{"rid": rid})
	found := reader.readsContaining(rid, "zwieback")
	for _, name := range []string{"recall", "context", "memories", "digest", "chronology", "upcoming", "records", "session",
		"export", "timeline"} {
		if !slices.Contains(found, name) {
			t.Errorf("%s does not show it after its release: %v", name, found)
		}
	}
	if was := reader.raw("POST", "/v1/recall", `{"query":"zwieback","as_of":"`+then+`"}`); strings.Contains(was, rid) {
		t.Errorf("it was never seen before its release: %s", was)
	}
	for heard := 0; heard < 3; {
		switch _, name, data := events.next(); {
		case name == "stored":
			if heard++; (heard == 3) != (data["id"] == rid) {
				t.Errorf("stored %d: %v", heard, data)
			}
		case data["id"] == rid:
			t.Errorf("%s: %v", name, data)
		}
	}
	if left := owner.ok("GET", "/v1/quarantine", nil)["memories"].([]any); len(left) != 0 {
		t.Errorf("still waiting: %v", left)
	}
}

// TestTheDoorStampsMemories checks that the door records the writer of a memory for every protocol, that a model
// never writes as an operator, and that a capture has class tool. Correcting a text makes the corrector its writer,
// at the lower of the two classes.
func TestTheDoorStampsMemories(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	owner := c.web(0)
	ada := owner.with(owner.createToken(obj{"label": "ada", "scopes": []string{"read", "write", "owner"}}))
	bot := owner.with(owner.createToken(obj{"label": "bot"}))
	stampOf := func(rid string) string {
		m := owner.ok("GET", "/v1/memory/"+rid, nil)
		return fmt.Sprint(m["writer"], " ", m["dialect"], " ", m["trust"])
	}
	rids := map[string]string{}
	for _, tc := range []struct{ want, rid string }{
		{"master http operator", owner.ok("POST", "/v1/remember", obj{"text": "one"})["rid"].(string)},
		{"ada http operator", ada.ok("POST", "/v1/remember", obj{"text": "two"})["rid"].(string)},
		{"ada http web", ada.ok("POST", "/v1/remember", obj{"text": "three", "trust": "web"})["rid"].(string)},
		{"bot http agent", bot.ok("POST", "/v1/remember", obj{"text": "four", "agent": "ada", "source": "ada"})["rid"].(string)},
		{"bot http agent", bot.ok("POST", "/v1/put", obj{"key": "/five", "text": "five"})["rid"].(string)},
	} {
		if rids[tc.want] = tc.rid; stampOf(tc.rid) != tc.want {
			t.Errorf("%s, want %s", stampOf(tc.rid), tc.want)
		}
	}
	if _, _, failure := ada.tool("remember", obj{"text": "six"}); failure != "" {
		t.Fatal(failure)
	}
	newest := owner.ok("GET", "/v1/records?limit=1", nil)["records"].([]any)[0].(obj)["rid"].(string)
	if got := stampOf(newest); got != "ada mcp agent" {
		t.Errorf("over MCP: %s", got)
	}
	overWire, err := c.dial(0).Remember(t.Context(), wire.NewRemember("seven"))
	if err != nil {
		t.Fatal(err)
	}
	if got := stampOf(overWire); !strings.HasSuffix(got, " wire operator") {
		t.Errorf("over the wire: %s", got)
	}
	at := api.At{Host: c.nodes[0].Host(), Surface: "sift", Database: "default"}
	if _, err := api.Capture.Ask(t.Context(), at,
		&api.CaptureRequest{Said: []api.Said{{Session: "s", Tool: "Bash", Payload: "ls"}},
			Make: func([]api.Said) ([]api.CapturedEvent, error) {
				return []api.CapturedEvent{{Event: &oplog.Event{Workspace: "sift/w", Session: "s", Tool: "Bash", Hash: []byte("h"),
					Payload: []byte("{}"), At: 1, Status: oplog.EventSummarized, Summary: "captured"},
					Summary: &oplog.Remember{Content: oplog.Content{RID: "captured", Text: "it printed eight", Type: "episodic",
						Namespace: "sift/w", Created: 1}}}}, nil
			}}); err != nil {
		t.Fatal(err)
	}
	if got := stampOf("captured"); got != "local sift tool" {
		t.Errorf("a capture: %s", got)
	}
	bot.ok("POST", "/v1/correct", obj{"rid": rids["ada http operator"], "new_text": "two and a half", "reason": "x"})
	if got := stampOf(rids["ada http operator"]); got != "bot http agent" {
		t.Errorf("corrected by a bot: %s", got)
	}
	if status, out := bot.send("POST", "/v1/remember", obj{"text": "nine", "trust": "operator"}); status != 403 ||
		out["code"] != "trust_denied" {
		t.Errorf("a bot as operator: %d %v", status, out)
	}
	if status, out := bot.send("POST", "/v1/remember", obj{"text": "ten", "writer": "ada"}); status != 400 {
		t.Errorf("a bot names its writer: %d %v", status, out)
	}
}

// TestAMergeInheritsTheLowestClass checks that a memory derived from others has their lowest class, and that answers
// name each source with its writer. Sources that metadata claims are ignored.
func TestAMergeInheritsTheLowestClass(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	owner := c.web(0)
	crawler := owner.with(owner.createToken(obj{"label": "crawler", "trust": "web"}))
	first := owner.ok("POST", "/v1/remember", obj{"text": "The staging database of the atlas project runs on port 5433"})["rid"]
	second := crawler.ok("POST", "/v1/remember", obj{"text": "The staging database of the atlas project runs on port 5433."})["rid"]
	crawler.ok("POST", "/v1/remember",
		obj{"text": "The kettle is red",
			"metadata": obj{"consolidated_from": []any{first}, "resolved_from": []any{first}, "conflict_id": "x"}})
	if a := owner.ok("POST", "/v1/think", obj{"min_active_memories": 1}); a["consolidation_count"] != 0.0 {
		t.Fatalf("a memory is demoted by one that repeats it: %v", a)
	}
	owner.ok("POST", "/v1/merge", obj{"rids": []any{first, second}, "text": "The staging database of the atlas project runs on port 5433."})
	hit := owner.ok("POST", "/v1/recall", obj{"query": "staging database port", "explain": true, "top_k": 1})["results"].([]any)[0].(obj)
	if hit["trust"] != "web" || hit["dialect"] != "http" || hit["factors"].(obj)["trust"] != .81 ||
		!strings.Contains(fmt.Sprint(hit["why_retrieved"]), "trust: web") {
		t.Errorf("the product: %v", hit)
	}
	var chain []string
	for _, o := range hit["provenance"].([]any) {
		o := o.(obj)
		chain = append(chain,
			fmt.Sprint(o["rid"] == first, o["rid"] == second, " ", o["writer"], " ", o["trust"], " ", o["made_into"] == hit["rid"]))
	}
	if got, want := strings.Join(chain, ", "), "false false master web false, true false master operator true, false true crawler web true"; got != want {
		t.Errorf("chain: %s\nwant   %s", got, want)
	}
	if got := owner.model("full").text("recall", obj{"query": "staging database port", "limit": 1}); !strings.Contains(got, ", trust: web]") {
		t.Errorf("a model reads: %s", got)
	}
	kettle := owner.ok("POST", "/v1/recall", obj{"query": "kettle", "explain": true})["results"].([]any)[0].(obj)
	if n := len(kettle["provenance"].([]any)); n != 1 {
		t.Errorf("a forged source: %v", kettle["provenance"])
	}
}

// TestALowerClassComesNotFirst checks that a newer memory neither supersedes nor outranks a contradicting older one
// of a higher class of trust, but does so for the same class, also in an event stream.
func TestALowerClassComesNotFirst(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	owner := c.web(0)
	crawler := owner.with(owner.createToken(obj{"label": "crawler", "trust": "web"}))
	for i, newer := range []*web{crawler, owner} {
		name := []string{"Ada", "Bob"}[i]
		old := owner.ok("POST", "/v1/remember", obj{"text": name + " lives in Lisbon."})["rid"]
		new := newer.ok("POST", "/v1/remember", obj{"text": name + " lives in Oslo."})
		owner.ok("POST", "/v1/think", obj{"min_active_memories": 1})
		question := obj{"query": "where does " + name + " live", "include_superseded": true, "skip_reinforce": true}
		first, want := owner.ok("POST", "/v1/recall", question)["results"].([]any)[0].(obj), []any{old, new["rid"]}[i]
		if first["rid"] != want ||
			newer == crawler && (new["superseded"] != nil || !strings.Contains(fmt.Sprint(first["why_retrieved"]), "contradicts")) {
			t.Errorf("%s: %v", name, first)
		}
		_, in := owner.stream(question)
		if _, streamed := nextEvent(t, in); streamed["rid"] != want || fmt.Sprint(streamed["why_retrieved"]) != fmt.Sprint(first["why_retrieved"]) {
			t.Errorf("%s, streamed: %v", name, streamed)
		}
	}
}

// TestPoisonedContext compares blocks for a prompt with testdata/poisoned.txt, after storing the memories of
// testdata/poisoned.jsonl: texts with instructions, forged sources, writers or ends of the block, and floods of one
// text, by a crawler whose texts are partly in quarantine. A question is a line that begins with "? ".
func TestPoisonedContext(t *testing.T) {
	t.Parallel()
	owner := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Background.NoThink = true }).web(0)
	as := map[string]*web{"owner": owner,
		"crawler": owner.with(owner.createToken(obj{"label": "crawler", "trust": "tool", "quarantine": "web"}))}
	file, err := os.Open(filepath.Join("testdata", "poisoned.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct {
			By     string
			Times  int
			Memory obj
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		for i := range max(line.Times, 1) {
			memory := obj{}
			for k, v := range line.Memory {
				if memory[k] = v; k == "text" {
					memory[k] = strings.ReplaceAll(v.(string), "%d", fmt.Sprint(i))
				}
			}
			as[line.By].ok("POST", "/v1/remember", memory)
		}
	}
	golden := filepath.Join("testdata", "poisoned.txt")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, line := range strings.Split(string(want), "\n") {
		if question, ok := strings.CutPrefix(line, "? "); ok {
			block := owner.ok("POST", "/v1/context", obj{"query": question, "max_tokens": 600, "skip_reinforce": true})["context"]
			fmt.Fprintf(&got, "? %s\n%s\n", question, block)
		}
	}
	if os.Getenv("CAIRN_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestATokenGivesNoMoreTrustThanItHas checks that a token that an owner creates has at most the owner's class and at
// least its quarantine, whatever the request contains.
func TestATokenGivesNoMoreTrustThanItHas(t *testing.T) {
	t.Parallel()
	owner := start(t, 1).web(0)
	scopes := []string{"read", "write", "owner"}
	low := owner.with(owner.createToken(obj{"trust": "tool", "quarantine": "web", "scopes": scopes}))
	for _, tc := range []struct {
		asked obj
		want  string
	}{
		{obj{}, "tool web"},
		{obj{"scopes": scopes}, "tool web"},
		{obj{"trust": "web"}, "web web"},
		{obj{"trust": "tool", "quarantine": "agent"}, "tool agent"},
		{obj{"trust": "agent"}, "trust_denied"},
		{obj{"trust": "operator", "scopes": scopes}, "trust_denied"},
	} {
		_, out := low.send("POST", "/v1/admin/tokens", tc.asked)
		got := fmt.Sprint(out["code"])
		if out["code"] == nil {
			got = fmt.Sprint(out["trust"], " ", out["quarantine"])
		}
		if got != tc.want {
			t.Errorf("%v: %s, want %s", tc.asked, got, tc.want)
		}
	}
	if got := owner.ok("POST", "/v1/admin/tokens", obj{"scopes": scopes})["trust"]; got != "operator" {
		t.Errorf("an owner's token is %v", got)
	}
	if _, out := low.send("POST", "/v1/admin/tokens", obj{"trust": "web", "quarantine": "operator"}); out["quarantine"] != "operator" {
		t.Errorf("a stricter quarantine: %v", out)
	}
	held := owner.with(owner.createToken(obj{"trust": "web", "quarantine": "web", "scopes": scopes}))
	rid := held.ok("POST", "/v1/remember", obj{"text": "let me in"})["rid"]
	if status, out := held.send("POST", "/v1/release", obj{"rid": rid}); status != 403 || out["code"] != "quarantined" {
		t.Errorf("it releases itself: %d %v", status, out)
	}
	if status, out := held.send("POST", "/v1/admin/tokens", obj{}); status != 403 {
		t.Errorf("it makes a token: %d %v", status, out)
	}
}
