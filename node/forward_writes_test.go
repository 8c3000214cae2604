package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestWritesOnFollowers checks writes on a follower. By default it forwards those over HTTP, with the leader's
// answer, and rejects those over the wire with the leader's address. With forwarding on, it forwards both. With
// forwarding off, it rejects both, over HTTP with a redirect to the leader.
func TestWritesOnFollowers(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for name, forward := range map[string]*bool{"by itself": nil, "forwarding": new(true), "refusing": new(false)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startWith(t, 3, func(_ int, cfg *node.Config) { cfg.Surfaces.ForwardWrites = forward })
			lead := c.leader()
			follower := (lead + 1) % 3
			c.agree() // it knows the leader's addresses
			f := c.web(follower)
			ask := func(method, path, body string) (*http.Response, obj) {
				t.Helper()
				req, err := http.NewRequestWithContext(t.Context(), method, f.base+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+secret)
				req.Header.Set("Content-Type", "application/json")
				resp, err := asSent.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				var out obj
				if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
					t.Fatal(err)
				}
				return resp, out
			}
			refusing := forward != nil && !*forward
			resp, out := ask("POST", "/v1/remember?database=default", `{"text":"written on a follower"}`)
			switch {
			case refusing:
				to := c.web(lead).base
				if resp.StatusCode != http.StatusTemporaryRedirect || resp.Header.Get("Location") != to+"/v1/remember?database=default" ||
					out["leader_addr"] != to || out["code"] != "not_leader" {
					t.Errorf("over HTTP: %d %v %v", resp.StatusCode, resp.Header, out)
				}
			case resp.StatusCode != http.StatusOK || resp.Header.Get("X-Cairn-Leader") != fmt.Sprint(lead+1) ||
				resp.Header.Get("Location") != "":
				t.Errorf("over HTTP: %d %v %v", resp.StatusCode, resp.Header, out)
			default:
				if got := f.ok("GET", "/v1/memory/"+out["rid"].(string), nil); got["text"] != "written on a follower" {
					t.Errorf("read back: %v", got)
				}
				for _, r := range []struct {
					method, path, body string
					status             int
				}{
					{"POST", "/v1/databases", `{"name":"default"}`, http.StatusConflict},
					{"POST", "/v1/correct", `{"rid":"none","reason":"r","new_text":"t"}`, http.StatusNotFound},
					{"POST", "/v1/think", `{}`, http.StatusOK},
					{"POST", "/v1/import", `{"text":"imported"}`, http.StatusOK},
					{"POST", "/v1/sessions", `{}`, http.StatusOK},
				} {
					resp, out := ask(r.method, r.path, r.body)
					if resp.StatusCode != r.status || resp.Header.Get("X-Cairn-Leader") != fmt.Sprint(lead+1) {
						t.Errorf("%s: %d %v %v, want %d", r.path, resp.StatusCode, resp.Header, out, r.status)
					}
				}
			}
			written := wire.NewRemember("written over the wire")
			raw := newRawClient(t, c.nodes[follower].Addrs().Wire)
			answer := raw.ask(wire.OpRemember, &written)
			if forward != nil && *forward {
				if answer.Op != wire.OpRememberOK {
					t.Errorf("over the wire: %s", answer)
				}
				return
			}
			var refused wire.Error
			if answer.Op != wire.OpReadonlyError || wire.Unpack(answer, &refused, wire.MaxPlainClient) != nil ||
				refused.Code != wire.CodeReadonlyNode ||
				!strings.Contains(string(refused.Details), c.nodes[lead].Addrs().Wire) {
				t.Errorf("over the wire: %s %+v", answer, refused)
			}
		})
	}
}
