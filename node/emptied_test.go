package node_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// TestAnEmptiedMemberSaysThatItIsStarting starts a member with an emptied home while no other node is up. On every
// surface it answers that it is starting, instead of reporting that databases or memories do not exist. Once it has
// its state it answers normally.
func TestAnEmptiedMemberSaysThatItIsStarting(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) {})
	rid, err := c.dial(0, 1, 2).Remember(t.Context(), wire.NewRemember("kept by the others"))
	if err != nil {
		t.Fatal(err)
	}
	token := c.web(0).ok("POST", "/v1/admin/tokens", obj{"database": "default", "scopes": []string{"read", "write"}})["token"].(string)
	c.agree()
	for i := range c.nodes {
		c.stop(i)
	}
	if err := os.RemoveAll(c.cfgs[2].Home); err != nil {
		t.Fatal(err)
	}
	c.open(2)
	w := c.web(2)
	stored := 0
	for _, op := range api.Ops {
		path, get := strings.CutPrefix(op.HTTP, "GET ")
		if !get || op.Stream || op.Scope == "" || op.Node {
			continue
		}
		stored++
		path = strings.NewReplacer("{rid}", rid, "{name}", "default", "{id}", "1").Replace(path)
		if op == api.Edges.Op || op == api.Claims.Op {
			path += "?entity=alice"
		}
		if op == api.GetKey.Op {
			path += "?key=/a"
		}
		if op == api.Values.Op {
			path += "?attribute=a"
		}
		if status, out := w.send("GET", path, nil); status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %v", path, status, out)
		}
	}
	for _, d := range dialects {
		for _, r := range routesOf(d) {
			if r.method != "GET" || r.right.Node {
				continue
			}
			path := strings.NewReplacer("{id}", rid, "{name}", "ada", "{store}", "memstore_"+rid).Replace(r.path) + "?user_id=ada"
			if status, out := w.send("GET", path, nil); status != http.StatusServiceUnavailable {
				t.Errorf("%s: %d %v", path, status, out)
			}
		}
	}
	if stored < 20 {
		t.Errorf("%d reads", stored)
	}
	if status, out := w.send("POST", "/v1/recall", obj{"query": "kept"}); status != http.StatusServiceUnavailable {
		t.Errorf("recall: %d %v", status, out)
	}
	w.token = token
	if status, out := w.send("GET", "/v1/memory/"+rid, nil); status != http.StatusServiceUnavailable {
		t.Errorf("with a token of the cluster: %d %v", status, out)
	}
	if _, err := client.Dial(t.Context(), client.Config{Token: token, Addrs: []string{c.nodes[2].Addrs().Wire}}); err == nil ||
		strings.Contains(err.Error(), "token") {
		t.Errorf("wire: %v", err)
	}
	if _, err := c.nodes[2].Access().Local("default"); !errors.Is(err, access.ErrStarting) {
		t.Errorf("a dialect: %v", err)
	}
	for i := range 2 {
		c.open(i)
	}
	last := http.StatusServiceUnavailable
	suite.Eventually(t, "it answers", func() bool {
		status, out := w.send("GET", "/v1/memory/"+rid, nil)
		if status != http.StatusOK && status != http.StatusServiceUnavailable || last == http.StatusOK && status != last {
			t.Errorf("while it gets its state: %d %v", status, out)
		}
		last = status
		return status == http.StatusOK
	})
}
