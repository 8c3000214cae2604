package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// A protocol of a node stores a sentence, and returns the answers to a question.
type protocol struct {
	name  string
	store func(sentence string)
	shows func(question string) []string

	capture func(text string) (answer string) // nil if its memories are not marked as captures
}

// protocols lists all protocols of a node that store and find memories.
func protocols(t *testing.T, p *cairntest.Node, token string) []protocol {
	t.Helper()
	post := func(path string, body any) map[string]any {
		t.Helper()
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), "POST", p.Line.HTTP+path, strings.NewReader(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		if path == "/mcp" {
			req.Header.Set("Accept", "application/json, text/event-stream")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		var out map[string]any
		if err != nil || res.StatusCode != 200 || json.Unmarshal(raw, &out) != nil {
			t.Fatalf("%s: %d %s (%v)", path, res.StatusCode, raw, err)
		}
		return out
	}
	tool := func(name string, args map[string]any) map[string]any {
		t.Helper()
		args["format"] = "json"
		out := post("/mcp",
			map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": args}})
		result, _ := out["result"].(map[string]any)
		content, _ := result["structuredContent"].(map[string]any)
		if content == nil || result["isError"] == true {
			t.Fatalf("%s: %v", name, out)
		}
		return content
	}
	texts := func(rows any) (out []string) {
		list, _ := rows.([]any)
		for _, r := range list {
			out = append(out, fmt.Sprint(r.(map[string]any)["text"]))
		}
		return out
	}
	wc, err := client.Dial(t.Context(),
		client.Config{Addrs: []string{p.Line.Wire}, Token: token, DialTimeout: suite.Patience, Patience: suite.Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wc.Close() })
	cov := covenantOf(t, p)
	socket := siftOpenAt(t, p.Line.Home, shortDir(t))
	if got, ok := stringPost(t, p, "/agents", `{"agent_id":"e2e"}`); !strings.Contains(got, `"agent_id":"e2e"`) {
		t.Fatalf("register: %s %v", got, ok)
	}
	return []protocol{
		{"http", func(s string) { post("/v1/remember", map[string]any{"text": s, "namespace": "work"}) },
			func(q string) []string { return texts(post("/v1/recall", map[string]any{"query": q})["results"]) },
			func(s string) string {
				stored := post("/v1/remember",
					map[string]any{"text": s, "memory_type": "capture", "metadata": map[string]any{"out": []string{s}}})
				fixed := post("/v1/correct",
					map[string]any{"rid": stored["rid"], "reason": "again", "new_text": "again " + s,
						"metadata_merge": map[string]any{"more": s}})
				by := post("/v1/remember", map[string]any{"text": s, "metadata": map[string]any{"kind": "capture"}})
				if fixed["redacted"] == nil || by["redacted"] == nil {
					t.Errorf("a correction, and a capture by its metadata: %v, %v", fixed, by)
				}
				return fmt.Sprint(stored["redacted"])
			}},
		{"wire", func(s string) {
			if _, err := wc.Remember(t.Context(), wire.NewRemember(s)); err != nil {
				t.Fatal(err)
			}
		}, func(q string) (out []string) {
			rs, _, err := wc.Recall(t.Context(), wire.NewRecall(q))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rs {
				out = append(out, r.Text)
			}
			return out
		}, func(s string) string {
			m := wire.NewRemember(s)
			m.MemoryType = "capture"
			if _, err := wc.Remember(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			var answer struct {
				Redacted []string `json:"redacted"`
			}
			if err := wc.Change(t.Context(), "remember", map[string]string{"text": s, "memory_type": "capture"}, &answer); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(answer.Redacted)
		}},
		{"mcp", func(s string) { tool("remember", map[string]any{"text": s}) },
			func(q string) []string { return texts(tool("recall", map[string]any{"query": q})["results"]) },
			func(s string) string {
				return fmt.Sprint(tool("remember", map[string]any{"text": s, "memory_type": "capture"})["redacted"])
			}},
		{"stringd", func(s string) { stringDo(t, p, "/remember "+s) },
			func(q string) []string { return []string{stringDo(t, p, "/recall "+q)} }, nil},
		{"covenant", func(s string) { covenantAsked[any](t, cov, map[string]any{"kind": "submit_intent", "text": s}) },
			func(q string) (out []string) {
				for _, r := range covenantAsked[covenantRecords](t, cov, map[string]any{"kind": "search_memory", "query": q}).Records {
					out = append(out, r.Text+" "+string(r.Metadata)) // its records have the answer; the sentence is in the metadata
				}
				return out
			}, nil},
		{"siftcoder", func(s string) {
			b, err := json.Marshal(map[string]any{"kind": "capture", "sessionId": "s", "tool": "Bash",
				"payload": map[string]any{"command": "note", "output": s}})
			if err != nil {
				t.Fatal(err)
			}
			siftDo(t, socket, string(b))
		}, func(q string) []string {
			b, err := json.Marshal(map[string]any{"kind": "search", "query": q})
			if err != nil {
				t.Fatal(err)
			}
			return texts(siftDo(t, socket, string(b))["hits"])
		}, nil},
	}
}

// TestWhatOneDialectStoresTheOthersShow stores a sentence through each protocol of a node, and checks that every
// other protocol finds and shows it. In Covenant the sentence is the question of an answer, and must be shown too.
func TestWhatOneDialectStoresTheOthersShow(t *testing.T) {
	t.Parallel()
	home := filepath.Join(shortDir(t), "home")
	p := cairntest.StartDevIn(t, home)
	token, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	all := protocols(t, p, strings.TrimSpace(string(token)))
	sentence := map[string]string{
		"http": "The heron nests behind the mill since April", "wire": "The quokka was seen near platform nine",
		"mcp":      "Our wombat refuses to eat carrots on Mondays",
		"stringd":  "The ocelot keeps its toys under the stairs",
		"covenant": "The axolotl moved into the cold tank on Friday", "siftcoder": "the pangolin service answers on port 8443",
	}
	all[0].store("The axolotl lives in a tank") // Covenant needs a memory to answer from
	for _, d := range all {
		d.store(sentence[d.name])
	}
	for _, from := range all {
		want := sentence[from.name]
		question := want[:strings.LastIndex(want, " ")] // without the last word, because some protocols repeat the question
		for _, to := range all {
			if got := to.shows(question); !strings.Contains(strings.Join(got, "\n"), want) {
				t.Errorf("%s does not show what was stored through %s: %q", to.name, from.name, got)
			}
		}
	}
}

// TestWeakMatchesAreLeftOut checks that the command line and stringd omit matches below the requested score, and that
// the command line says so.
func TestWeakMatchesAreLeftOut(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	p, home := cairntest.StartDev(t)
	for _, text := range []string{"the violin is in the attic", "a violin, a cello, two bows, a stand and a music case wait below"} {
		if _, code := cairntest.Run(t, "remember", text, "--home", home); code != 0 {
			t.Fatal("not remembered")
		}
	}
	all := jsonOf[recalled](t, "recall", "violin attic", "--min-score", "0", "--home", home)
	if len(all.Results) != 2 || all.Considered != 2 || all.BelowMinScore != 0 {
		t.Fatalf("%+v", all)
	}
	least := fmt.Sprint(all.Results[1].Score + 1e-3)
	if some := jsonOf[recalled](t, "recall", "violin attic", "--min-score", least, "--home", home); len(some.Results) != 1 ||
		some.Results[0].RID != all.Results[0].RID || some.BelowMinScore != 1 {
		t.Errorf("%+v", some)
	}
	c := cairntest.Command(t.Context(), "recall", "violin attic", "--min-score", "100", "--home", home)
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--min-score leaves out 2 memories") {
		t.Errorf("%s, %v", out, err)
	}
	if _, code := cairntest.Run(t, "recall", "violin attic", "--min-score", "-1", "--home", home); code == cli.ExitOK {
		t.Error("a negative min-score is taken")
	}
	stringPost(t, p, "/agents", `{"agent_id":"e2e"}`)
	if got, ok := stringPost(t, p, "/exec", `{"cmd":"/recall violin attic --min-score `+least+`"}`); !ok ||
		!strings.Contains(got, "Recalled 1 of 1") || !strings.Contains(got, "1 more score less than "+least) {
		t.Errorf("stringd: %s", got)
	}
}
