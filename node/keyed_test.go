package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// keyed are the fields of answers about a key.
type keyed struct {
	RID      string `json:"rid"`
	Text     string `json:"text"`
	Revision uint32 `json:"revision"`
	SHA256   string `json:"sha256"`
}

// TestNoKeyedWriteIsLost lets clients of all three nodes, over HTTP and the wire, increment one number by
// compare-and-set. The number includes each acknowledged increment, and each rejection has the current value.
func TestNoKeyedWriteIsLost(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	const adds, key = 6, "/counters/visits"
	c.web(0).ok("POST", "/v1/put", obj{"key": key, "text": "0 visits", "if_absent": true})
	next := func(text string) string {
		n := 0
		if _, err := fmt.Sscanf(text, "%d visits", &n); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		return fmt.Sprintf("%d visits", n+1)
	}
	var clients sync.WaitGroup
	for i := range c.nodes {
		w, wired := c.web(i), c.dial(i, (i+1)%3, (i+2)%3)
		clients.Go(func() {
			for done := 0; done < adds; {
				was := w.ok("GET", "/v1/get?consistency=linearizable&key="+key, nil)
				status, said := w.send("POST", "/v1/put",
					obj{"key": key, "text": next(was["text"].(string)), "if_revision": was["revision"]})
				switch status {
				case http.StatusOK:
					done++
				case http.StatusConflict:
					if said["code"] != "precondition_failed" || said["rid"] != was["rid"] || said["sha256"] == was["sha256"] ||
						said["revision"].(float64) <= was["revision"].(float64) {
						t.Errorf("read %v, then refused with %v", was, said)
						return
					}
				default:
					t.Errorf("%d %v", status, said)
					return
				}
			}
		})
		clients.Go(func() {
			for done := 0; done < adds; {
				var was keyed
				if err := wired.Query(t.Context(), "get", obj{"key": key, "consistency": "linearizable"}, &was); err != nil {
					t.Error(err)
					return
				}
				err := wired.Change(t.Context(), "put",
					obj{"key": key, "text": next(was.Text), "if_sha256": strings.ToUpper(was.SHA256)}, nil)
				var refused *client.Error
				var found struct{ Code, RID string }
				switch {
				case err == nil:
					done++
				case errors.As(err, &refused) && json.Unmarshal(refused.Details, &found) == nil && found.Code == "precondition_failed" &&
					found.RID == was.RID:
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	c.agree()
	for i := range c.nodes {
		got := c.web(i).ok("GET", "/v1/get?consistency=linearizable&key="+key, nil)
		if want := fmt.Sprintf("%d visits", 2*3*adds); got["text"] != want || got["revision"] != float64(2*3*adds) {
			t.Errorf("node %d has %v at revision %v, want %s", i+1, got["text"], got["revision"], want)
		}
	}
}

// at returns the path that reads a key.
func at(key string, more ...string) string {
	return "/v1/get?key=" + url.QueryEscape(key) + strings.Join(more, "")
}

// TestAKeyedMemoryIsAMemory applies all operations on memories to a memory with a key, and checks that the key stays
// correct.
func TestAKeyedMemoryIsAMemory(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	put := func(key, text string, more ...any) map[string]any {
		t.Helper()
		body := obj{"key": key, "text": text}
		for i := 0; i < len(more); i += 2 {
			body[more[i].(string)] = more[i+1]
		}
		return w.ok("POST", "/v1/put", body)
	}
	refused := func(code, method, path string, body any) map[string]any {
		t.Helper()
		status, said := w.send(method, path, body)
		if said["code"] != code {
			t.Errorf("%s %s %v: %d %v, want %s", method, path, body, status, said, code)
		}
		return said
	}
	tea := put("/drinks/tea", "Zelda drinks oolong tea", "memory_type", "episodic", "importance", .9)["rid"].(string)

	t.Run("it is found", func(t *testing.T) {
		for _, q := range []obj{{"query": "who drinks oolong"}, {"query": "who drinks oolong", "explain": true}} {
			r := w.ok("POST", "/v1/recall", q)["results"].([]any)[0].(obj)
			if key, shown := r["key"]; r["rid"] != tea || shown != (q["explain"] != nil) || shown && key != "/drinks/tea" {
				t.Errorf("%v is answered %v", q, r)
			}
		}
	})
	t.Run("a correction by id is a revision of the key", func(t *testing.T) {
		w.ok("POST", "/v1/correct", obj{"rid": tea, "new_text": "Zelda drinks sencha tea", "reason": "she said so"})
		if got := w.ok("GET", at("/drinks/tea"), nil); got["text"] != "Zelda drinks sencha tea" || got["revision"] != 1. ||
			got["importance"] != .9 || got["memory_type"] != "episodic" {
			t.Error(got)
		}
		refused("precondition_failed", "POST", "/v1/put", obj{"key": "/drinks/tea", "text": "x", "if_revision": 0})
	})
	t.Run("a put that changes nothing is no revision", func(t *testing.T) {
		if got := put("/drinks/tea", "Zelda drinks sencha tea", "importance", .9); got["changed"] != false || got["revision"] != 1. {
			t.Error(got)
		}
	})
	t.Run("a token that may not read is not told what is there", func(t *testing.T) {
		writer := w.with(w.createToken(obj{"database": "default", "scopes": []string{"write"}}))
		for _, body := range []obj{{"key": "/drinks/tea", "text": "x", "if_absent": true}, {"key": "/drinks", "text": "x"}} {
			if status, said := writer.send("POST", "/v1/put", body); status != http.StatusConflict || len(said) != 2 {
				t.Errorf("%v: %d %v", body, status, said)
			}
		}
		if status, said := writer.send("POST", "/v1/batch",
			obj{"steps": []obj{{"op": "get", "key": "/drinks/tea"}}}); status != http.StatusForbidden {
			t.Errorf("a batch reads: %d %v", status, said)
		}
	})
	t.Run("undo takes a rename back", func(t *testing.T) {
		w.ok("POST", "/v1/rename", obj{"key": "/drinks/tea", "to": "/old/tea"})
		other := put("/drinks/tea", "Yann drinks mate")["rid"].(string)
		if said := refused("key_taken", "POST", "/v1/undo", obj{"rid": tea}); said["rid"] != other {
			t.Error(said)
		}
		w.ok("POST", "/v1/forget", obj{"rid": other}) // by its id, which frees the key
		refused("key_not_found", "GET", at("/drinks/tea"), nil)
		w.ok("POST", "/v1/undo", obj{"rid": tea})
		if got := w.ok("GET", at("/drinks/tea"), nil); got["rid"] != tea {
			t.Error(got)
		}
		refused("key_not_found", "GET", at("/old/tea"), nil)
	})
	t.Run("a rename in a batch may change the memory too", func(t *testing.T) {
		rename := func(from, to string, more obj) obj {
			step := obj{"op": "rename", "key": from, "to": to}
			maps.Copy(step, more)
			return obj{"steps": []obj{step}}
		}
		rid := put("/draft/plan", "Zoe plans a trip")["rid"]
		w.ok("POST", "/v1/batch",
			rename("/draft/plan", "/final/plan", obj{"if_revision": 0, "memory": obj{"text": "Zoe travels by train"}}))
		if got := w.ok("GET", at("/final/plan"), nil); got["rid"] != rid || got["text"] != "Zoe travels by train" ||
			got["revision"] != 1.0 {
			t.Error(got)
		}
		refused("key_not_found", "GET", at("/draft/plan"), nil)
		refused("precondition_failed", "POST", "/v1/batch", rename("/final/plan", "/x", obj{"if_revision": 0, "memory": obj{"text": "x"}}))
		refused("invalid_request", "POST", "/v1/batch", rename("/final/plan", "/final/plan", obj{"memory": obj{"text": "x"}}))
	})
	t.Run("a batch answers with the hash of each text that it puts", func(t *testing.T) {
		put("/hash/draft", "Yves plans")
		got := w.ok("POST", "/v1/batch",
			obj{"steps": []obj{{"op": "rename", "key": "/hash/draft", "to": "/hash/plan", "memory": obj{"text": "Yves has planned"}},
				{"op": "put", "key": "/hash/trip", "memory": obj{"text": "Yves travels"}}}})
		if said, want := got["results"].([]any)[1].(obj)["sha256"], w.ok("GET", at("/hash/trip"), nil)["sha256"]; said != want {
			t.Errorf("%v, and the memory has %v", said, want)
		}
	})
	t.Run("an idempotency key answers as it did", func(t *testing.T) {
		steps := obj{"idempotency_key": "batch-1",
			"steps": []obj{{"op": "get", "key": "/once"},
				{"op": "put", "key": "/once", "memory": obj{"text": "Xenia runs"}, "if_absent": true}}}
		first, again := w.ok("POST", "/v1/batch", steps), w.ok("POST", "/v1/batch", steps)
		if fmt.Sprint(first["results"]) != fmt.Sprint(again["results"]) {
			t.Errorf("%v, then %v", first, again)
		}
		first = put("/twice", "Xenia swims", "idempotency_key", "put-1")
		put("/twice", "Xenia swims fast")
		if again = put("/twice", "Xenia swims", "idempotency_key", "put-1"); fmt.Sprint(first["rid"], first["revision"]) != fmt.Sprint(again["rid"], again["revision"]) {
			t.Errorf("%v, then %v", first, again)
		}
		if got := w.ok("GET", at("/twice"), nil); got["text"] != "Xenia swims fast" {
			t.Errorf("a repeated put was done again: %v", got)
		}
		refused("conflict", "POST", "/v1/put", obj{"key": "/thrice", "text": "Xenia swims", "idempotency_key": "put-1"})
	})
	t.Run("a batch reads the state before it", func(t *testing.T) {
		put("/log/1", "one")
		got := w.ok("POST", "/v1/batch",
			obj{"steps": []obj{{"op": "delete", "key": "/log/1", "if_revision": 0},
				{"op": "put", "key": "/log/1/more", "memory": obj{"text": "two"}}, {"op": "get", "key": "/log/1"},
				{"op": "get", "key": "/log/1/more"}}})["results"].([]any)
		if was := got[2].(obj)["memory"].(obj); was["text"] != "one" || was["consolidation_status"] != "active" ||
			got[3].(obj)["found"] != false {
			t.Error(got)
		}
		if page := w.ok("GET", "/v1/keys?prefix=/log&full=true", nil)["keys"].([]any); len(page) != 1 ||
			page[0].(obj)["memory"].(obj)["text"] != "two" {
			t.Error(page)
		}
	})
	t.Run("an import corrects the memory that has the key, if it is newer", func(t *testing.T) {
		put("/import/a", "Walt rows")
		lines := w.exported()
		line := lines[slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "Walt rows") })]
		for _, tc := range []struct {
			line           string
			memories, kept float64
			text           string
		}{
			{line, 0, 1, "Walt rows"},
			{strings.Replace(line, "Walt rows", "Walt sails", 1), 0, 1, "Walt rows"},
			{strings.Replace(strings.Replace(line, "Walt rows", "Walt sails", 1), `"extractor"`,
				`"revision":3,"revisions":[{"revision":2,"text":"Walt rows"}],"extractor"`, 1), 1, 0, "Walt sails"},
			{`{"type":"memory","key":"/import/a","text":"Walt flies"}`, 1, 0, "Walt flies"},
			{`{"type":"memory","key":"/import/b","text":"Vera reads"}` + "\n" + `{"type":"memory","key":"/import/b","text":"Vera writes"}`,
				2, 0, "Walt flies"},
		} {
			status, got := w.send("POST", "/v1/import", tc.line)
			kept, _ := got["kept"].(float64)
			if status != http.StatusOK || got["memories"] != tc.memories || kept != tc.kept {
				t.Errorf("%s: %d %v, want %v stored and %v kept", tc.line, status, got, tc.memories, tc.kept)
			}
			if now := w.ok("GET", at("/import/a"), nil); now["text"] != tc.text {
				t.Errorf("after %s: %v", tc.line, now["text"])
			}
		}
		if now := w.ok("GET", at("/import/b"), nil); now["text"] != "Vera writes" || now["revision"] != 1. {
			t.Error(now)
		}
	})
	t.Run("a peer's memory comes with its key, where that is free", func(t *testing.T) {
		w.ok("POST", "/v1/databases", obj{"name": "other"})
		p := dialStranger(t, c.nodes[0].Addrs().Cluster)
		pulled, e := p.pull(&wire.OplogPull{Database: "default", Limit: 1})
		if e.Code != 0 || len(pulled.Ops) != 1 {
			t.Fatal(pulled, e)
		}
		if f := p.ask(wire.OpOplogPush, &wire.OplogPush{Database: "other", Ops: pulled.Ops}); f.Op != wire.OpOplogPushOK {
			t.Fatalf("push: %s", f.Op)
		}
		if got := w.ok("GET", at("/drinks/tea", "&database=other"), nil); got["rid"] != tea {
			t.Error(got)
		}
	})
	t.Run("a purge leaves no word of the key", func(t *testing.T) {
		put("/secret/hideout", "Ulla hides", "namespace", "gone")
		w.ok("POST", "/v1/rename", obj{"key": "/secret/hideout", "to": "/secret/cellar", "namespace": "gone"})
		w.ok("POST", "/v1/admin/purge", obj{"namespace": "gone", "before": "2999-01-01"})
		for _, key := range []string{"/secret/hideout", "/secret/cellar"} {
			refused("key_not_found", "GET", at(key, "&namespace=gone"), nil)
		}
		if page := w.ok("GET", "/v1/keys?namespace=gone", nil)["keys"].([]any); len(page) != 0 {
			t.Error(page)
		}
	})
}

// exported returns the lines of an export.
func (w *web) exported() []string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.base+"/v1/export", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("export: %d %v", resp.StatusCode, err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}
