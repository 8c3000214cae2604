package simulation

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/raft/logstore"
)

// cluster holds the nodes of a simulation, their disks and network, and the state of the faults.
type cluster struct {
	t     *testing.T
	net   *network
	disks []*disk
	log   *slog.Logger

	background sync.WaitGroup // requests in the background, such as those that arrive late

	joined     bool           // the spare node is, or becomes, a member
	role       string         // of the spare node
	recovering map[int]uint64 // nodes that lost their home, and the index at which each is whole again
	everLost   [4]bool        // nodes that ever lost a home, and the spare one

	retain int // Storage.RetainOps of the nodes; 0 for the default

	mu    sync.Mutex
	nodes []*node.Node
	skew  []time.Duration
	born  time.Time
}

const secret = "as long as the secret of a cluster"

func newCluster(t *testing.T, seed uint64, size, retain int) *cluster {
	log := slog.New(slog.DiscardHandler)
	if *verbose {
		log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	return newClusterWith(t, seed, size, retain, log)
}

func newClusterWith(t *testing.T, seed uint64, size, retain int, log *slog.Logger) *cluster {
	c := &cluster{t: t, retain: retain, net: newNetwork(seed), nodes: make([]*node.Node, size),
		skew: make([]time.Duration, size), recovering: map[int]uint64{}, everLost: [4]bool{spare: true}, born: time.Now(), log: log}
	dir := t.TempDir()
	for i := range c.nodes {
		c.disks = append(c.disks,
			&disk{home: filepath.Join(dir, fmt.Sprint(i+1)), waitAwake: func() { c.net.waitAwake(i + 1) }, synced: map[uint64]int64{}})
		if c.shouldRun(i) {
			c.open(i)
		}
	}
	for i, n := range c.nodes {
		if n == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := n.Ready(ctx); err != nil {
			t.Fatalf("node %d: %v", i+1, err)
		}
		cancel()
	}
	return c
}

var verbose = flag.Bool("logs", false, "show the nodes' logs")

func (c *cluster) open(i int) {
	at := func(n, port int) string { return fmt.Sprintf("node%d:%d", n+1, port) }
	cfg := node.Config{Home: c.disks[i].home, TLS: node.TLS{PlainPeers: true},
		Seams: node.Seams{LogFiles: logFS{logstore.OS{NoSync: true}, c.disks[i]}, Dial: c.net.dialer(i + 1),
			Listen: c.net.listen, NoSync: true,
			Elapsed: func() time.Duration { return time.Since(c.born) },
			Now: func() time.Time {
				c.mu.Lock()
				defer c.mu.Unlock()
				return time.Now().Add(c.skew[i])
			}}, Addresses: node.Addresses{Wire: at(i, 7437), HTTP: at(i, 7438), Cluster: at(i, 7440)},
		Member: node.Member{NodeID: uint32(i + 1), Secret: secret},
		Raft: node.Raft{Heartbeat: 250 * time.Millisecond, Election: time.Second, SnapshotThreshold: 20,
			SnapshotInterval: time.Second, TrailingLogs: 20, SegmentBytes: 64 << 10},
		Storage: node.Storage{RetainOps: c.retain, StateBuffer: 64 << 10, StateStep: c.disks[i].stateStep},
		Logger:  c.log.With("node", i+1)}
	if i == spare {
		cfg.Member.Role = c.role
	}
	for p := range c.nodes {
		if p != i && p != spare {
			cfg.Member.Peers = append(cfg.Member.Peers, at(p, 7440))
		}
	}
	c.disks[i].change(func() { c.disks[i].wasFull = [2]bool{} })
	n, err := node.Open(context.Background(), cfg)
	// revive starts the node again later
	if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) && c.disks[i].tooFullToStart() {
		c.disks[i].release()
		if err = c.disks[i].restart(); err == nil {
			return
		}
	}
	if err != nil {
		c.t.Fatalf("node %d: %v", i+1, err)
	}
	c.mu.Lock()
	c.nodes[i] = n
	c.mu.Unlock()
}

// node returns a running node, or nil.
func (c *cluster) node(i int) *node.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[i]
}

// stop ends a node whose machine has lost its network first: its peers see no connection close.
func (c *cluster) stop(i int) { c.end(i, func(cut bool) { c.isolate(i, cut) }) }

// kill ends a node as if its process had been killed: its system rejects connections from then on.
func (c *cluster) kill(i int) {
	c.end(i, func(dead bool) { c.net.change(func() { c.net.dead[i+1] = dead }) })
}

// end cuts a node off with hide, closes it, and puts in place the files that its next start finds.
func (c *cluster) end(i int, hide func(bool)) {
	c.mu.Lock()
	n := c.nodes[i]
	c.nodes[i] = nil
	c.mu.Unlock()
	if n == nil {
		return
	}
	hide(true)
	c.net.breakAll(i + 1)
	c.resumeNode(i) // a paused node could not close
	c.disks[i].release()
	if err := n.Close(); err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) {
		c.t.Errorf("node %d: close: %v", i+1, err)
	}
	hide(false)
	if err := c.disks[i].restart(); err != nil {
		c.t.Fatalf("node %d: %v", i+1, err)
	}
}

// revive starts the nodes that do not run: those that were stopped, and those that ended because their disk failed.
func (c *cluster) revive() {
	for i := range c.nodes {
		if n := c.node(i); n != nil && n.Err() != nil {
			c.stop(i)
		}
		if c.node(i) == nil && c.shouldRun(i) {
			c.open(i)
		}
	}
}

// waitAgree waits until all nodes hold the same state at the same index.
func (c *cluster) waitAgree() {
	var last string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		c.revive() // a disk may have failed just before it was repaired
		c.readmit()
		same := map[string]bool{}
		last = ""
		for i := range c.nodes {
			n := c.node(i)
			if n == nil {
				continue
			}
			st := n.Service().Cluster().Status(context.Background())
			last += fmt.Sprintf("node %d: %s, leader %v, at %d: %s\n", i+1, st.Role, st.LeaderID, st.SumIndex, st.Sum)
			same[fmt.Sprint(st.SumIndex, st.Sum)] = true
			if n.Service().RaftStatus().Amnesia {
				same["no state"] = true
			}
		}
		if len(same) == 1 {
			return
		}
	}
	c.t.Fatalf("states differ:\n%s", last)
}

// close ends all nodes.
func (c *cluster) close() {
	for i := range c.nodes {
		c.stop(i)
	}
}
