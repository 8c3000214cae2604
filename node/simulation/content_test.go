package simulation

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// view looks at what a node holds.
func (c *cluster) view(i int, f func(v *state.View, db oplog.DB) error) {
	if err := c.node(i).State().Read(func(v *state.View) error { return f(v, oplog.DefaultDB) }); err != nil {
		c.t.Fatalf("node %d: %v", i+1, err)
	}
}

// sameLogs compares what the nodes say happened, entry by entry: what two of them remember is the same.
func (c *cluster) sameLogs() {
	first := map[string]string{} // by place in the log
	for i := range c.nodes {
		if c.node(i) == nil {
			continue
		}
		c.view(i, func(v *state.View, _ oplog.DB) error {
			var bad error
			err := v.Log(0, func(o oplog.Outcome) bool {
				var body []byte
				if body, bad = o.Entry.Encode(); bad != nil {
					return false
				}
				at, what := fmt.Sprint(o.Index, "/", o.Number), fmt.Sprintf("%v %x", o.HLC, body)
				if other, known := first[at]; known && other != what {
					c.t.Errorf("node %d has another entry at %s than a node before it", i+1, at)
				}
				first[at] = what
				return true
			})
			if err != nil {
				return err
			}
			return bad
		})
	}
}

// content compares what a node counts and what it can find with what it holds.
func (c *cluster) content(i int) {
	alive, texts := map[string]bool{}, map[string]string{} // by rid
	c.view(i, func(v *state.View, db oplog.DB) error {
		var active, gone, edges uint64
		v.Memories(db, 0, func(m *oplog.Memory) bool {
			texts[m.RID] = m.Text
			if alive[m.RID] = m.Status == oplog.Active; alive[m.RID] {
				active++
			} else {
				gone++
			}
			if alive[m.RID] && m.Expires != 0 { // it may be gone by the time it is looked for
				delete(alive, m.RID)
			}
			return true
		})
		v.EdgesBehind(db, "", func(oplog.Edge) bool { edges++; return true })
		if s := v.Stats(db); s.Active != active || s.Consolidated+s.Tombstoned != gone || s.Edges != edges {
			c.t.Errorf("node %d counts %+v, and has %d active, %d others, %d edges", i+1, s, active, gone, edges)
		}
		return nil
	})
	s := c.node(i).Service()
	caller, err := c.node(i).Access().Local("default")
	if err != nil {
		c.t.Fatal(err)
	}
	followed := api.Fresh{MinIndex: field.Token(s.Applied())} // the index comes behind the state
	for rid, want := range alive {
		a, err := api.Search.Do(context.Background(), s, caller,
			&api.SearchRequest{Text: texts[rid], K: 1000, Quiet: true, Fresh: followed})
		if err != nil {
			c.t.Fatal(err)
		}
		if found := slices.ContainsFunc(a.Hits, func(h api.Hit) bool { return h.Memory.RID == rid }); found != want {
			c.t.Errorf("node %d: %s is in the state: %v, in the index: %v", i+1, rid, want, found)
		}
	}
}

// believes checks that a node never had to ask the others whether one of them is right: they are slow, late and gone
// here, and not hostile. A request that comes late, of an earlier term or for an earlier home, is rejected without a
// question.
func (c *cluster) believes(i int) {
	for _, d := range c.node(i).Service().Cluster().Status(context.Background()).Disputes {
		if d.Verdict == "" {
			continue
		}
		c.t.Errorf("node %d refused what node %d sent, %d times: %s (%s)", i+1, d.Peer, d.Times, d.Says, d.Verdict)
	}
}
