package node_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
	"github.com/cairndb/cairn/wire/field"
)

// TestWritesSayTheirIndexOverTheWire checks that every write over the wire returns its index, and that any node
// includes the write in a recall with that min_index.
func TestWritesSayTheirIndexOverTheWire(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	var addrs []string
	for _, n := range c.nodes {
		addrs = append(addrs, n.Addrs().Wire)
	}
	cl, err := client.Dial(t.Context(), client.Config{Addrs: addrs, Token: secret, OwnWrites: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	var last field.Token
	grew := func(what string, err error) {
		t.Helper()
		if err != nil || cl.Index() <= last {
			t.Fatalf("%s: index %d after %d (%v)", what, cl.Index(), last, err)
		}
		last = cl.Index()
	}
	rid, err := cl.Remember(t.Context(), wire.NewRemember("the heron is back"))
	grew("remember", err)
	for i, addr := range addrs {
		other, err := client.Dial(t.Context(), client.Config{Addrs: []string{addr}, Token: secret})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		q := wire.NewRecall("heron")
		q.MinIndex = last
		if rs, end, err := other.Recall(t.Context(), q); err != nil || len(rs) != 1 || end.Index < last {
			t.Errorf("node %d: %v %+v %v", i+1, rs, end, err)
		}
	}
	_, err = cl.RememberBatch(t.Context(), wire.RememberBatch{Memories: []wire.Remember{wire.NewRemember("one"), wire.NewRemember("two")}})
	grew("batch", err)
	_, err = cl.Relate(t.Context(), wire.Relate{Entity: "heron", Target: "mill", Relationship: "nests at", Weight: 1})
	grew("relate", err)
	_, err = cl.Claim(t.Context(), wire.NewClaim("heron", "likes", "fish"))
	grew("claim", err)
	_, err = cl.Alias(t.Context(), wire.Alias{Alias: "grey heron", CanonicalName: "heron", Namespace: "default", Source: "explicit"})
	grew("alias", err)
	session, err := cl.StartSession(t.Context(), wire.SessionStart{Namespace: "default", ClientID: "c"})
	grew("session start", err)
	_, err = cl.EndSession(t.Context(), session, nil)
	grew("session end", err)
	if found, err := cl.Forget(t.Context(), rid); !found {
		t.Error("not found")
	} else {
		grew("forget", err)
	}
	l := c.leader()
	wired := &cluster{t: c.t, nodes: c.nodes[l : l+1]}
	for op, payload := range map[wire.Op]string{wire.OpRemember: `{"text":"raw"}`, wire.OpForget: `{"rid":"` + rid + `"}`} {
		_, said := wired.frame(op, payload)
		var got struct{ Index json.RawMessage } // a client with JSON returns it unchanged
		if err := json.Unmarshal([]byte(said), &got); err != nil || len(got.Index) == 0 {
			t.Fatalf("%s: %s", op, said)
		}
		if op, said := wired.frame(wire.OpRecall, fmt.Sprintf(`{"query":"raw","min_index":%s}`, got.Index)); op == wire.OpError {
			t.Errorf("a recall at %s: %s", got.Index, said)
		}
	}
}
