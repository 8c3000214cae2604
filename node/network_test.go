package node_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
)

// network lets tests cut nodes off from each other: connections across a cut break, and none are opened.
type network struct {
	mu    sync.Mutex
	alone int            // the node that is cut off; 0 for none
	owner map[string]int // peer address → node
	conns map[net.Conn][2]int
}

func newNetwork() *network {
	return &network{owner: map[string]int{}, conns: map[net.Conn][2]int{}}
}

var errCut = errors.New("cut off")

func (n *network) dialer(from int) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		n.mu.Lock()
		to := n.owner[addr]
		cut := n.alone != 0 && (from == n.alone || to == n.alone)
		n.mu.Unlock()
		if cut {
			return nil, errCut
		}
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.alone != 0 && (from == n.alone || to == n.alone) { // meanwhile
			c.Close()
			return nil, errCut
		}
		n.conns[c] = [2]int{from, to}
		return c, nil
	}
}

func (n *network) cut(node int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.alone = node
	for c, ends := range n.conns {
		if ends[0] == node || ends[1] == node {
			c.Close()
			delete(n.conns, c)
		}
	}
}

func TestALeaderCutOffAcknowledgesNothing(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	net := newNetwork()
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		net.owner[cfg.Addresses.Cluster] = i + 1
		cfg.Seams.Dial = net.dialer(i + 1)
		cfg.Raft.Election = rafttest.Election(3 * time.Second)
	})
	old := c.leader()
	s, caller := c.service(old)
	anyone := caller // any node may lead by then: a slow second may move leadership
	anyone.Forward = true
	if _, err := remember(t.Context(), s, anyone, "before", api.Draft{Text: "before"}); err != nil {
		t.Fatal(err)
	}
	net.cut(old + 1)
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if r, err := remember(short, s, caller, "", api.Draft{Text: "alone"}); err == nil {
		t.Errorf("a leader without a quorum acknowledged %v", r.RIDs)
	}
	suite.Eventually(t, "the rest elects another", func() bool {
		for i, n := range c.nodes {
			if i != old && n.Service().Cluster().Status(t.Context()).AcceptsWrites {
				return true
			}
		}
		return false
	})
	next := (old + 1) % 3
	if !c.nodes[next].Service().Cluster().Status(t.Context()).AcceptsWrites {
		next = (old + 2) % 3
	}
	if _, err := remember(t.Context(), c.nodes[next].Service(), anyone, "majority", api.Draft{Text: "majority"}); err != nil {
		t.Errorf("the majority does not write: %v", err)
	}
	if a, err := recall(t.Context(), s, caller, index.Query{Text: "before", K: 5}, commit.Stale); err != nil || len(a.Hits) == 0 {
		t.Errorf("the minority does not read: %v, %v", a.Hits, err)
	}
	if _, err := recall(t.Context(), s, caller, index.Query{Text: "before", K: 5}, commit.Linearizable); err == nil {
		t.Error("the minority answered a linearizable read")
	}
	net.cut(0)
	c.agree()
}

// TestAClientLeavesAMinority checks that a member without a quorum reports that, and that clients switch to another
// one.
func TestAClientLeavesAMinority(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	net := newNetwork()
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		cfg.Raft.Election = rafttest.Election(time.Second)
		cfg.Seams.Dial = net.dialer(i + 1)
		net.owner[cfg.Addresses.Cluster] = i + 1
	})
	alone := c.leader()
	cl := c.dial(alone, (alone+1)%3, (alone+2)%3)
	if _, err := cl.Remember(t.Context(), wire.NewRemember("before")); err != nil {
		t.Fatal(err)
	}
	net.cut(alone + 1)
	suite.Eventually(t, "a member that knows of no quorum", func() bool {
		s, caller := c.service(alone)
		_, err := remember(t.Context(), s, caller, "", api.Draft{Text: "in a minority"})
		return errors.Is(err, api.ErrNoLeader) && strings.Contains(err.Error(), "no quorum")
	})
	if _, err := cl.Remember(t.Context(), wire.NewRemember("after")); err != nil {
		t.Errorf("a client of the minority: %v", err)
	}
}
