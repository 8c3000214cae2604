package node_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// exportOutside returns the exported memories of all namespaces but one, by id, without fields that change by
// themselves.
func (w *web) exportOutside(space string) map[string]string {
	w.t.Helper()
	rows := map[string]string{}
	for line := range strings.Lines(w.raw("GET", "/v1/export", "")) {
		var row obj
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			w.t.Fatal(err)
		}
		if rid, ok := row["rid"].(string); ok && row["namespace"] != space {
			delete(row, "entities") // the kinds of names are shared by the whole database
			rows[rid] = fmt.Sprint(removeVolatile(row))
		}
	}
	return rows
}

// A restrictedClient may see only a part of the data of others.
type restrictedClient struct {
	*web
	d      *generator
	space  string            // blank for another database
	others map[string]string // words that it must not see
	done   map[string]bool
}

// ask sends a request and searches the answer for data that the client may not see.
func (n *restrictedClient) ask(r request) (ok bool) {
	status, out := n.d.ask(n.web, r)
	if ok = status == http.StatusOK; ok {
		n.done[r.op.Name] = true
		n.look(r, "", out)
	}
	return ok
}

func (n *restrictedClient) look(r request, key string, v any) {
	switch x := v.(type) {
	case obj:
		for k, of := range x {
			n.look(r, k, of)
		}
	case []any:
		for _, of := range x {
			n.look(r, key, of)
		}
	case string:
		_, there := n.others[x]
		if there = there || key == "namespace" && n.space != "" && x != n.space && x != ""; there && !strings.Contains(fmt.Sprint(r), x) {
			n.t.Errorf("%v: %s is %s", r, key, x)
		}
	}
}

// TestDrawnRequestsStayInTheirNamespaces sends random requests with a token bound to a namespace, and with one of
// another database, also with ids and words of others. No answer contains their memories, and no request changes
// them.
func TestDrawnRequestsStayInTheirNamespaces(t *testing.T) {
	suite.NotShort(t, "many requests, one after the other")
	t.Parallel()
	c := start(t, 1)
	d := newGenerator(*alikeSeed)
	writes, reads := d.operations()
	w := c.web(0)
	for range suite.Count(100, 300, 900) {
		op := writes[d.IntN(len(writes))]
		if slices.Contains([]*api.Op{api.Purge.Op, api.ForgetMatching.Op, api.Erase.Op}, op) || d.IntN(2) == 0 {
			op = []*api.Op{api.Remember.Op, api.RememberBatch.Op, api.Put.Op}[d.IntN(3)]
		}
		d.ask(w, d.request(op))
		d.ask(w, d.request(reads[d.IntN(len(reads))]))
	}
	w.ok("POST", "/v1/databases", obj{"name": "other"})
	for _, of := range []obj{
		{"database": "default", "namespaces": []string{"work"}, "scopes": []string{"read", "write"}},
		{"database": "other", "scopes": []string{"read", "write", "owner"}},
	} {
		space := ""
		if of["namespaces"] != nil {
			space = "work"
		}
		n := &restrictedClient{w.with(w.createToken(of)), d, space, w.exportOutside(space), map[string]bool{}}
		for range suite.Count(200, 800, 3000) {
			n.ask(d.request(reads[d.IntN(len(reads))]))
		}
		for range suite.Count(40, 200, 1500) {
			if r := d.request(writes[d.IntN(len(writes))]); n.ask(r) && !maps.Equal(w.exportOutside(space), n.others) {
				now := w.exportOutside(space)
				for rid, was := range n.others {
					if is := now[rid]; is != was {
						t.Errorf("%v changed a memory of others:\n%s\n%s", r, was, is)
					}
				}
				t.FailNow()
			}
		}
		if len(n.done) < len(reads)/2 {
			t.Errorf("only %v were answered", slices.Sorted(maps.Keys(n.done)))
		}
	}
}
