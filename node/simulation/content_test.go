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

// readState calls f with a view of a node's state, and the default database.
func (c *cluster) readState(i int, f func(v *state.View, db oplog.DB) error) {
	if err := c.node(i).State().Read(func(v *state.View) error { return f(v, oplog.DefaultDB) }); err != nil {
		c.t.Fatalf("node %d: %v", i+1, err)
	}
}

// checkLogs checks that no two nodes have different entries at the same place in the log.
func (c *cluster) checkLogs() {
	first := map[string]string{} // entries by their place in the log
	for i := range c.nodes {
		if c.node(i) == nil {
			continue
		}
		c.readState(i, func(v *state.View, _ oplog.DB) error {
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

// checkContent checks that a node's counts match its state, and that its index finds the active memories of the state
// and no others.
func (c *cluster) checkContent(i int) {
	alive, texts := map[string]bool{}, map[string]string{} // keys are RIDs
	c.readState(i, func(v *state.View, db oplog.DB) error {
		var active, gone, edges uint64
		v.Memories(db, 0, func(m *oplog.Memory) bool {
			texts[m.RID] = m.Text
			if alive[m.RID] = m.Status == oplog.Active; alive[m.RID] {
				active++
			} else {
				gone++
			}
			if alive[m.RID] && m.Expires != 0 { // it may expire before the search
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
	followed := api.Fresh{MinIndex: field.Token(s.Applied())} // the index follows the state with a delay
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

// checkNoDisputes checks that a node never had to ask the others whether a peer is right. Nodes are slow, late and
// gone here, but never hostile, and a late request of an earlier term or for an earlier home is rejected without such
// a question.
func (c *cluster) checkNoDisputes(i int) {
	for _, d := range c.node(i).Service().Cluster().Status(context.Background()).Disputes {
		if d.Verdict == "" {
			continue
		}
		c.t.Errorf("node %d refused what node %d sent, %d times: %s (%s)", i+1, d.Peer, d.Times, d.Says, d.Verdict)
	}
}
