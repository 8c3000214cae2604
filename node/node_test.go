package node_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

const secret = "ydb_cluster_test_0123456789abcdef"

type cluster struct {
	t     testing.TB
	cfgs  []node.Config
	nodes []*node.Node
}

func start(t testing.TB, n int) *cluster {
	t.Helper()
	return startWith(t, n, func(int, *node.Config) {})
}

// startWith starts nodes with long elections, so that a slow leader is not replaced and tests keep the leader that
// they found. Tests in which leaders fall set a short Election with change.
func startWith(t testing.TB, n int, change func(int, *node.Config)) *cluster {
	t.Helper()
	c := &cluster{t: t, nodes: make([]*node.Node, n)}
	peers := make([]string, n)
	for i := range n {
		peers[i] = rafttest.Addr(t)
	}
	for i := range n {
		cfg := node.Config{Home: filepath.Join(t.TempDir(), "h"),
			Addresses: node.Addresses{Wire: rafttest.Addr(t), HTTP: rafttest.Addr(t), Cluster: peers[i]},
			Member:    node.Member{NodeID: uint32(i + 1), Secret: secret},
			Raft:      node.Raft{Heartbeat: 200 * time.Millisecond, Election: 10 * time.Second}, Limits: node.Limits{ApplyTimeout: time.Minute},
			Logger: slog.New(slog.NewTextHandler(t.Output(), nil)).With("node", i+1)}
		for j, p := range peers {
			if j != i {
				cfg.Member.Peers = append(cfg.Member.Peers, p)
			}
		}
		change(i, &cfg)
		c.cfgs = append(c.cfgs, cfg)
	}
	t.Cleanup(func() {
		for i := range c.nodes {
			c.stop(i)
		}
	})
	for i := range n {
		c.open(i)
	}
	for i := range n {
		c.ready(i)
	}
	return c
}

func (c *cluster) open(i int) {
	c.t.Helper()
	n, err := node.Open(c.t.Context(), c.cfgs[i])
	if err != nil {
		c.t.Fatal(err)
	}
	c.nodes[i] = n
}

func (c *cluster) ready(i int) {
	c.t.Helper()
	if err := c.nodes[i].Ready(suite.Context(c.t)); err != nil {
		c.t.Fatalf("node %d is not ready: %v", i+1, err)
	}
}

func (c *cluster) stop(i int) {
	c.t.Helper()
	if c.nodes[i] == nil {
		return
	}
	if err := c.nodes[i].Close(); err != nil {
		c.t.Errorf("close node %d: %v", i+1, err)
	}
	c.nodes[i] = nil
	asSent.CloseIdleConnections() // the next node at the address does not know them
}

// leader waits for a leader that accepts writes.
func (c *cluster) leader() (i int) {
	c.t.Helper()
	suite.Eventually(c.t, "a leader", func() bool {
		i = slices.IndexFunc(c.nodes, func(n *node.Node) bool {
			return n != nil && n.Service().Cluster().Status(context.Background()).AcceptsWrites
		})
		return i >= 0
	})
	return i
}

func (c *cluster) dial(nodes ...int) *client.Client {
	c.t.Helper()
	cfg := client.Config{Token: secret, DialTimeout: suite.Patience, Patience: suite.Patience}
	for _, i := range nodes {
		cfg.Addrs = append(cfg.Addrs, c.nodes[i].Addrs().Wire)
	}
	cl, err := client.Dial(c.t.Context(), cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { cl.Close() })
	return cl
}

// agree waits until all nodes have the same state at the same index, and their indexes answer recalls from it.
func (c *cluster) agree() {
	c.t.Helper()
	var at oplog.Index
	var last string
	if !suite.Within(suite.Patience, func() bool {
		sums := map[string]bool{}
		last = ""
		for _, n := range c.nodes {
			if n != nil {
				st := n.Service().Cluster().Status(context.Background())
				last += fmt.Sprintf("node %d at %d: %s\n", st.NodeID, st.SumIndex, st.Sum)
				sums[fmt.Sprint(st.SumIndex, st.Sum)] = true
				at = st.SumIndex
			}
		}
		return len(sums) == 1
	}) {
		c.t.Fatalf("states differ:\n%s", last)
	}
	c.answer(at)
}

// answer waits until each node's index has followed its state to an index.
func (c *cluster) answer(upTo oplog.Index) {
	c.t.Helper()
	for i, n := range c.nodes {
		if n == nil {
			continue
		}
		s, caller := c.service(i)
		at := commit.Freshness{Index: upTo}
		suite.Eventually(c.t, fmt.Sprintf("node %d to answer from its state", i+1), func() bool {
			_, err := recall(context.Background(), s, caller, index.Query{Text: "anything", K: 1}, at)
			return err == nil
		})
	}
}

func find(t testing.TB, cl *client.Client, query string) []wire.RecallResult {
	t.Helper()
	r, _, err := cl.Recall(t.Context(), wire.NewRecall(query))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOneNode(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	cl := c.dial(0)
	rid, err := cl.Remember(t.Context(), wire.NewRemember("Alice leads the payments team"))
	if err != nil {
		t.Fatal(err)
	}
	if r := find(t, cl, "who leads payments?"); len(r) != 1 || r[0].RID != rid {
		t.Fatalf("got %+v", r)
	}
	if found, err := cl.Forget(t.Context(), rid); err != nil || !found {
		t.Fatalf("forget: %v, %v", found, err)
	}
	if r := find(t, cl, "who leads payments?"); len(r) != 0 {
		t.Fatalf("forgotten, but found: %+v", r)
	}
	c.stop(0)
	c.open(0)
	c.ready(0)
	st, err := c.dial(0).Stats(t.Context())
	if err != nil || st.TombstonedMemories != 1 {
		t.Fatalf("after a restart: %+v, %v", st, err)
	}
}

func TestThreeNodesLoseNothing(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	cl := c.dial(0, 1, 2)
	var rids []string
	put := func(text string) {
		t.Helper()
		rid, err := cl.Remember(suite.Context(t), wire.NewRemember(text))
		if err != nil {
			t.Fatal(err)
		}
		rids = append(rids, rid)
	}
	for i := range 50 {
		put(fmt.Sprintf("before the failure number %d", i))
	}
	old := c.leader()
	c.stop(old)
	for i := range 50 {
		put(fmt.Sprintf("after the failure number %d", i))
	}
	c.open(old)
	c.ready(old)
	c.agree()
	for i := range c.nodes {
		st, err := c.dial(i).Stats(t.Context())
		if err != nil || st.ActiveMemories != uint64(len(rids)) {
			t.Errorf("node %d has %d memories, %d were acknowledged (%v)", i+1, st.ActiveMemories, len(rids), err)
		}
	}
}
