package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestFiltersOnAFollower stores memories with attributes through every surface of a follower, and kills the leader in
// between. Then it queries every surface with a filter, and checks that each answer has exactly the matching
// memories.
func TestFiltersOnAFollower(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	nodes, token := startThreeIn(t, t.TempDir(), func(*config.NodeFile) {}, 0, 1, 2)
	l := leaderOf(t, nodes)
	p := nodes[(l+1)%3]
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(method, path string, body any) (string, bool) {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, p.Line.HTTP+path, bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			return err.Error(), false
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		return string(b), err == nil && r.StatusCode == http.StatusOK && !bytes.Contains(b, []byte(`"isError":true`))
	}
	tool := func(name string, args map[string]any) (string, bool) {
		return ask("POST", "/mcp",
			map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": args}})
	}
	cairn := func(endpoint string, args ...string) (string, bool) {
		out, code := cairntest.Run(t, append(args, "--endpoints", endpoint, "--token-file", tokenFile)...)
		return out, code == 0
	}
	writes := map[string]func(text string, attributes map[string]any) bool{
		"HTTP": func(text string, attributes map[string]any) bool {
			_, ok := ask("POST", "/v1/remember", map[string]any{"text": text, "attributes": attributes})
			return ok
		},
		"MCP": func(text string, attributes map[string]any) bool {
			_, ok := tool("remember", map[string]any{"text": text, "attributes": attributes})
			return ok
		},
		"wire": func(text string, attributes map[string]any) bool {
			m := wire.NewRemember(text)
			m.Attributes, _ = json.Marshal(attributes)
			_, err := connect(t, []*cairntest.Node{p, nodes[(l+2)%3]}, token).Remember(t.Context(), m)
			return err == nil
		},
		"CLI": func(text string, attributes map[string]any) bool {
			raw, _ := json.Marshal(attributes)
			_, ok := cairn(p.Line.Wire+","+nodes[(l+2)%3].Line.Wire, "remember", text, "--attributes", string(raw))
			return ok
		},
	}
	var wanted, others []string
	store := func(round int) {
		t.Helper()
		for surface, write := range writes {
			for _, project := range []string{"atlas", "borealis"} {
				text := fmt.Sprintf("harbour note of %s by %s in round %d.", project, surface, round)
				suite.Eventually(t, surface+" stores", func() bool {
					return write(text, map[string]any{"project": project, "round": round, "by": []string{surface}})
				})
				if project == "atlas" {
					wanted = append(wanted, text)
				} else {
					others = append(others, text)
				}
			}
		}
	}
	const filter = `{"project":"atlas","round":{"lte":1},"by":{"in":["HTTP","MCP","wire","CLI"]}}`
	asked := map[string]any{"query": "harbour note", "top_k": 100, "filter": json.RawMessage(filter), "skip_reinforce": true,
		"consistency": "linearizable"}
	query := "?limit=100&filter=" + url.QueryEscape(filter)
	reads := map[string]func() (string, bool){
		"HTTP recall": func() (string, bool) { return ask("POST", "/v1/recall", asked) },
		"HTTP list":   func() (string, bool) { return ask("GET", "/v1/memories"+query, nil) },
		"HTTP export": func() (string, bool) { return ask("GET", "/v1/export?filter="+url.QueryEscape(filter), nil) },
		"MCP recall": func() (string, bool) {
			return tool("recall", map[string]any{"query": "harbour note", "top_k": 100, "filter": json.RawMessage(filter)})
		},
		"wire RECALL": func() (string, bool) {
			q := wire.NewRecall("harbour note")
			q.TopK, q.Filter = 100, wire.JSON(filter)
			found, _, err := connect(t, []*cairntest.Node{p}, token).Recall(t.Context(), q)
			return fmt.Sprintf("%+v", found), err == nil
		},
		"wire OPERATION": func() (string, bool) {
			var a json.RawMessage
			err := connect(t, []*cairntest.Node{p}, token).Query(t.Context(), "records",
				map[string]any{"limit": 100, "filter": json.RawMessage(filter)}, &a)
			return string(a), err == nil
		},
		"CLI recall": func() (string, bool) {
			return cairn(p.Line.Wire, "recall", "harbour note", "--top", "100", "--filter", filter)
		},
		"CLI list": func() (string, bool) {
			return cairn(p.Line.HTTP, "list", "--limit", "100", "--json", "--filter", filter)
		},
	}
	check := func(when string) {
		t.Helper()
		suite.Eventually(t, "all is there "+when, func() bool { // wait until this node has everything, for the other surfaces
			out, ok := reads["HTTP recall"]()
			for _, text := range wanted {
				ok = ok && strings.Contains(out, text)
			}
			return ok
		})
		for surface, read := range reads {
			out, ok := read()
			if !ok {
				t.Errorf("%s: %s: %s", when, surface, out)
				continue
			}
			for _, text := range wanted {
				if !strings.Contains(out, text) {
					t.Errorf("%s: %s lacks %q: %s", when, surface, text, out)
				}
			}
			for _, text := range others {
				if strings.Contains(out, text) {
					t.Errorf("%s: %s lets %q pass", when, surface, text)
				}
			}
		}
	}
	store(0)
	check("before the leader dies")
	nodes[l].Kill()
	store(1)
	check("after the leader died")
	var count struct{ Count int }
	if out, ok := ask("GET", "/v1/count?filter="+url.QueryEscape(`{"project":"borealis"}`), nil); !ok ||
		json.Unmarshal([]byte(out), &count) != nil || count.Count < len(others) {
		t.Errorf("count: %s", out) // a write that was repeated counts twice
	}
	forgot, ok := ask("POST", "/v1/forget/matching", map[string]any{"filter": map[string]any{"project": "borealis"}})
	if !ok {
		t.Fatal(forgot)
	}
	if out, ok := ask("GET", "/v1/count?filter="+url.QueryEscape(`{"project":"borealis"}`), nil); !ok ||
		!strings.Contains(out, `"count":0`) {
		t.Errorf("after %s: %s", forgot, out)
	}
	check("after the others were forgotten")
}
