package simulation

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

var seeds = flag.Int("seeds", defaultSeeds, "how many schedules to run")

const clients = 4

// warm makes what processes make once and share: it must not belong to the first simulation.
var warm = sync.OnceFunc(func() {
	for _, limit := range []int{wire.MaxPlainEarly, wire.MaxPlainClient, wire.MaxPlainPeer} {
		f, err := wire.Pack(wire.OpRemember, 1, &wire.Remember{Text: string(bytes.Repeat([]byte("warm "), 4000))}, false)
		if err != nil {
			panic(err)
		}
		if _, err := wire.Plain(f, limit); err != nil {
			panic(err)
		}
	}
	big := oplog.Entry{DB: 1, Ops: []oplog.Op{&oplog.Remember{RID: "r", Text: string(bytes.Repeat([]byte("warm "), 4000))}}}
	body, err := big.Encode()
	if err != nil {
		panic(err)
	}
	if _, _, err := oplog.DecodeRecord(oplog.EncodeRecord(oplog.MakeHLC(1, 0, 1), body)); err != nil {
		panic(err)
	}
})

func TestSimulation(t *testing.T) {
	warm()
	n := *seeds
	if testing.Short() {
		n = min(n, 6)
	}
	for seed := range n {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { simulate(t, uint64(seed)) })
		})
	}
}

// simulate runs one schedule and checks everything that was promised.
func simulate(t *testing.T, seed uint64) {
	c := newCluster(t, seed)
	h := &history{start: time.Now()}
	ctx, stop := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	for i := range clients {
		w := &worker{id: i, rng: rand.New(rand.NewPCG(seed, uint64(100+i))), c: c, h: h, keys: 3, seen: map[*node.Node]oplog.Index{}}
		workers.Go(func() { w.run(ctx) })
	}
	c.faults(rand.New(rand.NewPCG(seed, 2)), 12)
	c.heal()
	c.agree()
	pause(ctx, time.Second) // of quiet, in which reads can say what they see
	stop()
	workers.Wait()
	c.agree()
	c.content()
	c.close()
	for _, b := range h.bad {
		t.Error(b)
	}
	if h.sure < 10 {
		t.Errorf("only %d writes were acknowledged: the run shows nothing", h.sure)
	}
	for _, part := range model.Partition(h.ops) {
		if porcupine.CheckOperationsTimeout(model, part, 10*time.Second) == porcupine.Illegal {
			t.Errorf("no single memory could have answered so:\n%srun it again: go test ./node/simulation -run 'TestSimulation/seed=%d$' -count=20", describe(part), seed)
		}
	}
}

// describe lists what was asked of one key.
func describe(ops []porcupine.Operation) string {
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	for _, o := range ops {
		to := time.Duration(o.Return).String()
		if o.Return == math.MaxInt64 {
			to = "?"
		}
		fmt.Fprintf(&b, "  client %d  %s to %s  %s\n", o.ClientId, time.Duration(o.Call), to, model.DescribeOperation(o.Input, o.Output))
	}
	return b.String()
}

// cluster is three nodes and what is done to them.
type cluster struct {
	t     *testing.T
	net   *network
	disks []*disk
	log   *slog.Logger

	mu    sync.Mutex
	nodes []*node.Node
	skew  []time.Duration
}

func newCluster(t *testing.T, seed uint64) *cluster {
	c := &cluster{t: t, net: newNetwork(seed), nodes: make([]*node.Node, 3), skew: make([]time.Duration, 3), log: slog.New(slog.DiscardHandler)}
	if *verbose {
		c.log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	dir := t.TempDir()
	for i := range c.nodes {
		c.disks = append(c.disks, &disk{home: filepath.Join(dir, fmt.Sprint(i+1))})
		c.open(i)
	}
	for i, n := range c.nodes {
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
	c.disks[i].change(func() { c.disks[i].broken = false }) // nobody starts a node on a broken one
	at := func(n, port int) string { return fmt.Sprintf("node%d:%d", n+1, port) }
	cfg := node.Config{Home: c.disks[i].home, SyncState: c.disks[i].sync, Wire: at(i, 7437), HTTP: at(i, 7438), Cluster: at(i, 7440), NodeID: uint32(i + 1), Secret: "s",
		Heartbeat: 250 * time.Millisecond, Election: time.Second, SnapshotThreshold: 40, SnapshotInterval: 5 * time.Second, TrailingLogs: 20,
		Dial: c.net.dialer(i + 1), Listen: c.net.listen, NoSync: true, Logger: c.log.With("node", i+1),
		Now: func() time.Time {
			c.mu.Lock()
			defer c.mu.Unlock()
			return time.Now().Add(c.skew[i])
		}}
	for p := range c.nodes {
		if p != i {
			cfg.Peers = append(cfg.Peers, node.Peer{Addr: at(p, 7440), Role: node.RoleVoter})
		}
	}
	n, err := node.Open(context.Background(), cfg)
	if err != nil {
		c.t.Fatalf("node %d: %v", i+1, err)
	}
	c.mu.Lock()
	c.nodes[i] = n
	c.mu.Unlock()
}

// node is a node that runs, or nil.
func (c *cluster) node(i int) *node.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[i]
}

// stop ends a node as if its machine had lost its cables first: it says goodbye to nobody.
func (c *cluster) stop(i int) {
	c.mu.Lock()
	n := c.nodes[i]
	c.nodes[i] = nil
	c.mu.Unlock()
	if n == nil {
		return
	}
	c.isolate(i, true)
	c.net.breakAll(i + 1)
	c.disks[i].change(func() { c.disks[i].slow = 0 })
	if err := n.Close(); err != nil && !errors.Is(err, syscall.EIO) {
		c.t.Errorf("node %d: close: %v", i+1, err)
	}
	c.isolate(i, false)
}

// powerless ends a node and loses what its disk had not surely taken.
func (c *cluster) powerless(i int, rng *rand.Rand) {
	if c.node(i) == nil {
		return
	}
	c.isolate(i, true)
	c.net.breakAll(i + 1)
	leave, err := c.disks[i].die(rng)
	if err == nil {
		c.stop(i)
		err = leave()
	}
	if err != nil {
		c.t.Fatalf("node %d: %v", i+1, err)
	}
}

func (c *cluster) isolate(i int, cut bool) {
	c.net.change(func() {
		for p := 1; p <= len(c.nodes); p++ {
			if p != i+1 {
				c.net.cut[[2]int{i + 1, p}], c.net.cut[[2]int{p, i + 1}] = cut, cut
			}
		}
	})
}

// faults does one thing after another to the nodes and the network between them.
func (c *cluster) faults(rng *rand.Rand, steps int) {
	kinds := []func(int){
		func(i int) { c.isolate(i, true) },
		func(i int) { c.isolate(i, false) },
		func(i int) { // it hears, and is not heard
			c.net.change(func() {
				for p := 1; p <= len(c.nodes); p++ {
					c.net.cut[[2]int{i + 1, p}] = p != i+1
				}
			})
		},
		func(i int) { c.net.change(func() { c.net.cut = map[[2]int]bool{} }) },
		func(i int) {
			c.net.change(func() { c.net.delay[i+1] = time.Duration(rng.IntN(400)) * time.Millisecond })
		},
		func(i int) { c.net.breakAll(i + 1) },
		func(i int) {
			if c.node(i) != nil {
				c.stop(i)
			} else {
				c.open(i)
			}
		},
		func(i int) { c.powerless(i, rng) },
		func(i int) {
			d := time.Duration(rng.IntN(2000)) * time.Millisecond
			c.disks[i].change(func() { c.disks[i].slow = d })
		},
		func(i int) { c.disks[i].change(func() { c.disks[i].broken = true }) },
		func(i int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.skew[i] += time.Duration(rng.IntN(7200)-3600) * time.Second
		},
	}
	for range steps {
		time.Sleep(time.Duration(200+rng.IntN(1500)) * time.Millisecond)
		kinds[rng.IntN(len(kinds))](rng.IntN(len(c.nodes)))
	}
}

// heal mends all that was done.
func (c *cluster) heal() {
	c.net.change(func() { c.net.cut, c.net.delay = map[[2]int]bool{}, map[int]time.Duration{} })
	for _, d := range c.disks {
		d.change(func() { d.slow, d.broken = 0, false })
	}
	c.revive()
}

// revive starts what does not run: nodes that were stopped, and those that stopped because their disk had broken.
func (c *cluster) revive() {
	for i := range c.nodes {
		if n := c.node(i); n != nil && n.Err() != nil {
			c.stop(i)
		}
		if c.node(i) == nil {
			c.open(i)
		}
	}
}

// agree waits until all nodes hold the same state at the same index.
func (c *cluster) agree() {
	var last string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		c.revive() // a disk may have broken a moment before it was mended
		same := map[string]bool{}
		last = ""
		for i := range c.nodes {
			st := c.node(i).Service().Status(context.Background())
			last += fmt.Sprintf("node %d: %s, leader %v, at %d: %s\n", i+1, st.Role, st.LeaderID, st.SumIndex, st.Sum)
			same[fmt.Sprint(st.SumIndex, st.Sum)] = true
		}
		if len(same) == 1 {
			return
		}
	}
	c.t.Fatalf("states differ:\n%s", last)
}

// content compares what each node can find with what it holds.
func (c *cluster) content() {
	for i := range c.nodes {
		s := c.node(i).Service()
		caller, err := s.Local("default")
		if err != nil {
			c.t.Fatal(err)
		}
		want := map[string]bool{} // rid → alive
		err = s.View(context.Background(), caller, node.Stale, func(v *oplog.View) error {
			v.Memories(caller.DB, 0, func(m *oplog.Memory) bool {
				want[m.RID] = m.Status == oplog.Active
				return true
			})
			return nil
		})
		if err != nil {
			c.t.Fatal(err)
		}
		for rid, alive := range want {
			a, err := s.Recall(context.Background(), caller, index.Query{Text: "word" + rid, K: 1000}, node.Stale)
			if err != nil {
				c.t.Fatal(err)
			}
			found := slices.ContainsFunc(a.Hits, func(h index.Hit) bool { return h.Memory.RID == rid })
			if found != alive {
				c.t.Errorf("node %d: %s is in the state: %v, in the index: %v", i+1, rid, alive, found)
			}
		}
	}
}

// close ends all nodes.
func (c *cluster) close() {
	for i := range c.nodes {
		c.stop(i)
	}
}
