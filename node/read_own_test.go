package node_test

import (
	"fmt"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestAFollowerShowsWhatItAcknowledged checks that the next request to a follower lists what the follower
// acknowledged, by each way of writing.
func TestAFollowerShowsWhatItAcknowledged(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) { cfg.Surfaces.ForwardWrites = new(true) })
	follower := (c.leader() + 1) % 3
	w := c.web(follower)
	has := func(what, path, list, key, want string) {
		t.Helper()
		for _, row := range w.ok("GET", path, nil)[list].([]any) {
			if row.(obj)[key] == want {
				return
			}
		}
		t.Errorf("%s %q is not in the follower's %s", what, want, path)
	}
	for i := range 20 {
		n := fmt.Sprint(i)
		rid := w.ok("POST", "/v1/remember", obj{"text": "memory " + n})["rid"].(string)
		has("memory", "/v1/memories?limit=5", "items", "rid", rid)
		w.ok("POST", "/v1/relate", obj{"entity": "a" + n, "target": "b" + n, "relationship": "knows"})
		has("edge", "/v1/edges?entity=a"+n, "edges", "dst", "b"+n)
		w.ok("POST", "/v1/admin/tokens", obj{"database": "default", "label": "token " + n})
		has("token", "/v1/admin/tokens", "tokens", "label", "token "+n)
		w.ok("POST", "/v1/databases", obj{"name": "db" + n})
		has("database", "/v1/databases", "databases", "name", "db"+n)
		id := w.ok("POST", "/v1/sessions", obj{"namespace": "s" + n, "client_id": "c"})["session_id"].(string)
		has("session", "/v1/sessions?namespace=s"+n, "sessions", "session_id", id)
		cl := c.dial(follower)
		over, err := cl.Remember(t.Context(), wire.NewRemember("wire "+n))
		if err != nil {
			t.Fatal(err)
		}
		has("memory over the wire", "/v1/memories?limit=5", "items", "rid", over)
	}
}
