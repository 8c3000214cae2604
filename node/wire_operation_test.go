package node_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// TestOperationsByNameOnAFollower checks that a follower answers reads, and that the client sends changes to the
// leader.
func TestOperationsByNameOnAFollower(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	leader := c.leader()
	follower := (leader + 1) % 3
	rid, err := c.dial(leader).Remember(t.Context(), wire.NewRemember("the winch is new"))
	if err != nil {
		t.Fatal(err)
	}
	c.agree()
	at := c.nodes[follower].Addrs().Wire
	cl := c.dial(follower)
	if m, err := cl.Get(t.Context(), rid); err != nil || m.Text != "the winch is new" || cl.Addr() != at {
		t.Errorf("get: %+v, %v, of %s", m, err, cl.Addr())
	}
	if page, total, err := cl.List(t.Context(), client.Listing{}); err != nil || total != 1 || page[0].RID != rid || cl.Addr() != at {
		t.Errorf("list: %+v, %v, of %s", page, err, cl.Addr())
	}
	if said := refusal(t, at, secret, wire.OpOperation, &wire.Operation{Name: api.Correct.Name,
		Request: wire.JSON(fmt.Sprintf(`{"rid":%q,"reason":"r","new_text":"t"}`, rid))}); !strings.HasPrefix(said, "not the leader") {
		t.Errorf("a change: %q", said)
	}
	text := "the winch is old"
	if n, err := cl.Correct(t.Context(), client.Correction{RID: rid, Reason: "a year later", Text: &text}); err != nil || n != 1 {
		t.Fatalf("correct: %d, %v", n, err)
	}
	if cl.Addr() != c.nodes[c.leader()].Addrs().Wire {
		t.Errorf("corrected at %s", cl.Addr())
	}
	c.agree()
	if m, err := c.dial(follower).Get(t.Context(), rid); err != nil || m.Text != text || m.Revision != 1 {
		t.Errorf("corrected: %+v, %v", m, err)
	}
	if _, err := cl.Get(t.Context(), "none"); !client.IsCode(err, wire.CodeMemoryNotFound) {
		t.Errorf("an unknown id: %v", err)
	}
}

// TestAnAnswerThatDoesNotFitIsRefused checks that an answer with too many bytes or values is replaced by an error
// that tells how to request less, and that the connection stays usable.
func TestAnAnswerThatDoesNotFitIsRefused(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: large answers, one after the other")
	}
	t.Parallel()
	c := start(t, 1)
	cl := c.dial(0)
	for _, m := range []struct {
		namespace string
		memories  int
		change    func(*wire.Remember)
	}{
		{"bytes", 18, func(m *wire.Remember) { m.Text = strings.Repeat("harbour ", engine.MaxText/8) }},
		{"values", 2, func(m *wire.Remember) {
			m.Metadata = wire.JSON(`{"list":[0` + strings.Repeat(",0", 140_000) + `]}`)
		}},
	} {
		for i := range m.memories {
			one := wire.NewRemember(fmt.Sprint("memory ", i))
			m.change(&one)
			one.Namespace, one.Embedding = m.namespace, nil
			if _, err := cl.Remember(t.Context(), one); err != nil {
				t.Fatal(err)
			}
		}
		var e *client.Error
		page, total, err := cl.List(t.Context(), client.Listing{Namespace: m.namespace})
		if m.namespace == "bytes" { // its page is shorter
			if err != nil || len(page) == 0 || len(page) >= int(total) {
				t.Errorf("%d of %d, %v", len(page), total, err)
			}
			seen := map[string]bool{}
			for m, err := range cl.Memories(t.Context(), client.Listing{Namespace: m.namespace}) {
				if err != nil || seen[m.RID] {
					t.Fatal(m.RID, err)
				}
				seen[m.RID] = true
			}
			if len(seen) != int(total) {
				t.Errorf("%d of %d memories, page by page", len(seen), total)
			}
			continue
		}
		if !errors.As(err, &e) || e.Code != wire.CodeInvalidPayload || !strings.Contains(e.Message, m.namespace) ||
			!strings.Contains(e.Message, "limit") {
			t.Errorf("%s: %v", m.namespace, err)
		}
		if page, _, err := cl.List(t.Context(), client.Listing{Namespace: m.namespace, Limit: 1}); err != nil || len(page) != 1 {
			t.Errorf("%s, one: %d, %v", m.namespace, len(page), err)
		}
	}
}
