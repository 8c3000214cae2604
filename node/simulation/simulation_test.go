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
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/raft/logstore"
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
	t.Setenv("GODEBUG", os.Getenv("GODEBUG")+",tracebacklabels=1") // a panic names its seed
	n := *seeds
	if testing.Short() {
		n = min(n, 6)
	}
	for seed := range n {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				pprof.Do(t.Context(), pprof.Labels("seed", fmt.Sprint(seed)), func(context.Context) { simulate(t, uint64(seed)) })
			})
		})
	}
}

// fewest is how many acknowledged writes a run must have, when all is well for a minute at the latest.
const fewest = 10

// simulate runs one schedule and checks everything that was promised.
func simulate(t *testing.T, seed uint64) {
	c := newCluster(t, seed, spare+1)
	h := &history{start: time.Now()}
	ctx, stop := context.WithCancel(context.Background())
	hearing, deaf := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	defer func() {
		stop()
		deaf()
		workers.Wait()
		c.echoes.Wait()
		c.close()
		if t.Failed() {
			t.Logf("run it again: go test ./node/simulation -seeds %d -run 'TestSimulation/seed=%d$' -count=20", seed+1, seed)
		}
	}()
	subscribers := make([]*subscriber, 2)
	for i := range subscribers {
		subscribers[i] = &subscriber{c: c, rng: rand.New(rand.NewPCG(seed, uint64(200+i)))}
		workers.Go(func() { subscribers[i].run(hearing) })
	}
	for i := range clients {
		w := &worker{id: i, rng: rand.New(rand.NewPCG(seed, uint64(100+i))), c: c, h: h, keys: 3, seen: map[*node.Node]oplog.Index{}}
		workers.Go(func() { w.run(ctx) })
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	c.faults(rng, 14)
	c.heal()
	c.agree()
	for i := range c.nodes { // what was under way all the time arrives among what is new
		c.echo(i+1, rng)
	}
	c.echoes.Wait()
	pause(ctx, time.Second) // of quiet, in which reads can say what they see
	for end := time.Now().Add(time.Minute); h.acknowledged() < fewest && time.Now().Before(end); {
		pause(ctx, 100*time.Millisecond) // every client may wait for what it asked before the end of the faults
	}
	stop()
	c.finish()
	over := time.AfterFunc(time.Minute, deaf)
	workers.Wait()
	over.Stop()
	c.agree()
	c.sameLogs()
	c.sameEvents(t.Context(), subscribers)
	for i := range c.nodes {
		if c.runs(i) {
			c.content(i)
		}
	}
	c.close()
	for i, d := range c.disks {
		d.whole(t, c.hurts[i])
	}
	for _, b := range h.bad {
		t.Error(b)
	}
	if n := h.acknowledged(); n < fewest {
		t.Errorf("only %d writes were acknowledged: the run shows nothing", n)
	}
	for _, part := range model.Partition(h.ops) {
		if porcupine.CheckOperationsTimeout(model, part, 10*time.Second) == porcupine.Illegal {
			t.Errorf("no single memory could have answered so:\n%s", describe(part))
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

	echoes sync.WaitGroup // of what arrives late

	joined bool         // the spare node is to be a member
	role   string       // as which
	hurt   map[int]bool // nodes whose home was lost, and that may not be whole yet
	hurts  [4]bool      // whose was, ever, or is new

	mu    sync.Mutex
	nodes []*node.Node
	skew  []time.Duration
	born  time.Time
}

const secret = "as long as the secret of a cluster"

func newCluster(t *testing.T, seed uint64, size int) *cluster {
	c := &cluster{t: t, net: newNetwork(seed), nodes: make([]*node.Node, size), skew: make([]time.Duration, size), hurt: map[int]bool{}, hurts: [4]bool{spare: true}, born: time.Now(), log: slog.New(slog.DiscardHandler)}
	if *verbose {
		c.log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	dir := t.TempDir()
	for i := range c.nodes {
		c.disks = append(c.disks, &disk{home: filepath.Join(dir, fmt.Sprint(i+1)), awake: func() { c.net.awake(i + 1) }, synced: map[uint64]int64{}})
		if c.runs(i) {
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
	cfg := node.Config{Home: c.disks[i].home,
		Seams: node.Seams{StateStep: c.disks[i].state, SnapshotStep: c.disks[i].snapshot, LogFiles: logDiskOf{logstore.OS{NoSync: true}, c.disks[i]}, Dial: c.net.dialer(i + 1), Listen: c.net.listen, NoSync: true,
			Elapsed: func() time.Duration { return time.Since(c.born) },
			Now: func() time.Time {
				c.mu.Lock()
				defer c.mu.Unlock()
				return time.Now().Add(c.skew[i])
			}}, Addresses: node.Addresses{Wire: at(i, 7437), HTTP: at(i, 7438), Cluster: at(i, 7440)}, Member: node.Member{NodeID: uint32(i + 1), Secret: secret},
		Raft: node.Raft{Heartbeat: 250 * time.Millisecond, Election: time.Second, SnapshotThreshold: 20, SnapshotInterval: time.Second, TrailingLogs: 20, SegmentBytes: 64 << 10}, Storage: node.Storage{StateBuffer: 64 << 10},
		Logger: c.log.With("node", i+1)}
	if i == spare {
		cfg.Member.Role = c.role
	}
	for p := range c.nodes {
		if p != i && p != spare {
			cfg.Member.Peers = append(cfg.Member.Peers, node.Peer{Addr: at(p, 7440), Role: raft.RoleVoter})
		}
	}
	n, err := node.Open(context.Background(), cfg)
	if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) && time.Now().Before(c.disks[i].full[stateDisk]) { // it is started again later
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

// node is a node that runs, or nil.
func (c *cluster) node(i int) *node.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[i]
}

// stop ends a node as if its machine had lost its cables first: it says goodbye to nobody.
func (c *cluster) stop(i int) { c.end(i, func(cut bool) { c.isolate(i, cut) }) }

// kill ends a node as if its process had been killed: its system says so to whoever asks.
func (c *cluster) kill(i int) {
	c.end(i, func(dead bool) { c.net.change(func() { c.net.dead[i+1] = dead }) })
}

// end ends a node that can reach nobody any more.
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
	c.wake(i) // it is ended as it stands
	c.disks[i].release()
	if err := n.Close(); err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) {
		c.t.Errorf("node %d: close: %v", i+1, err)
	}
	hide(false)
	if err := c.disks[i].restart(); err != nil {
		c.t.Fatalf("node %d: %v", i+1, err)
	}
}

// powerless ends a node in the middle of what its log's disk does, and loses what was not synced.
func (c *cluster) powerless(i int, rng *rand.Rand) {
	if c.node(i) == nil {
		return
	}
	b := c.disks[i].threaten(logDisk, true, 3+rng.IntN(40), rng)
	if !b.power { // another is due
		return
	}
	late := time.NewTimer(time.Duration(500+rng.IntN(1000)) * time.Millisecond)
	defer late.Stop()
	select {
	case <-b.struck:
	case <-late.C:
	}
	c.isolate(i, true)
	c.net.breakAll(i + 1)
	if err := c.disks[i].lose(); err != nil {
		c.t.Fatalf("node %d: %v", i+1, err)
	}
	c.stop(i)
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
			switch {
			case !c.runs(i):
			case c.node(i) == nil:
				c.open(i)
			case rng.IntN(2) == 0:
				c.kill(i)
			default:
				c.stop(i)
			}
		},
		func(i int) { c.powerless(i, rng) },
		func(i int) {
			d := time.Duration(rng.IntN(2000)) * time.Millisecond
			c.disks[i].change(func() { c.disks[i].slow[stateDisk] = d })
		},
		func(i int) { // every write waits for it, and so does a vote
			d := time.Duration(rng.IntN([]int{10, 100, 1500}[rng.IntN(3)])) * time.Millisecond
			c.disks[i].change(func() { c.disks[i].slow[logDisk] = d })
		},
		func(i int) { c.disks[i].threaten(stateDisk, false, 2+rng.IntN(60), rng) },
		func(i int) { c.disks[i].threaten(logDisk, false, rng.IntN(40), rng) },
		func(i int) { c.disks[i].threaten(logDisk, false, rng.IntN(40), rng) },
		func(i int) { // there is no room
			ms := rng.IntN(4000)
			until := time.Now().Add(time.Duration(ms) * time.Millisecond)
			c.disks[i].change(func() { c.disks[i].full[ms%2] = until })
		},
		func(i int) { c.halt(i, rng) },
		func(i int) { c.halt(i, rng) },
		func(i int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.skew[i] += time.Duration(rng.IntN(7200)-3600) * time.Second
		},
		func(i int) { c.echo(i+1, rng) },
		func(i int) { c.echo(i+1, rng) },
		func(i int) { // it does what it is asked, and often nobody hears of it
			until := time.Now().Add(time.Duration(rng.IntN(1000)) * time.Millisecond)
			c.net.change(func() { c.net.mute[i+1] = until })
		},
		func(i int) { c.transfer(i) },
		func(i int) { c.wipe(i) },
		func(i int) { c.rollBack(i, rng) },
		func(i int) { c.replace(i) },
		func(int) { c.grow(rng) },
		func(int) { c.grow(rng) },
	}
	for range steps {
		time.Sleep(time.Duration(200+rng.IntN(1500)) * time.Millisecond)
		c.bury(rng)
		kinds[rng.IntN(len(kinds))](rng.IntN(len(c.nodes)))
	}
}

// halt has a node stand still for less than a lease, for longer than an election, or for long.
func (c *cluster) halt(i int, rng *rand.Rand) {
	from, to := 20, 300
	switch rng.IntN(4) {
	case 0:
		from, to = 300, 3000
	case 1:
		from, to = 3000, 15000
	}
	d := time.Duration(from+rng.IntN(to-from)) * time.Millisecond
	c.net.change(func() { c.net.paused[i+1] = true })
	time.AfterFunc(d, func() { c.wake(i) })
}

func (c *cluster) wake(i int) { c.net.change(func() { delete(c.net.paused, i+1) }) }

// bury ends the processes of nodes that stopped because their disk had failed, and starts some of them at once.
func (c *cluster) bury(rng *rand.Rand) {
	for i := range c.nodes {
		if n := c.node(i); n != nil && n.Err() != nil {
			c.kill(i)
			if rng.IntN(2) == 0 {
				c.open(i)
			}
		}
	}
}

// transfer has the leader, wherever it is, hand over to a node.
func (c *cluster) transfer(to int) {
	n := c.node(0)
	if n == nil {
		return
	}
	caller, err := n.Access().Local("default")
	if err != nil {
		return
	}
	c.echoes.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, _ = api.ChangeMembers.Do(ctx, n.Service(), caller, &api.ChangeMembersRequest{Verb: "transfer", NodeID: uint32(to + 1)}) // or not
	})
}

// heal mends all that was done.
func (c *cluster) heal() {
	c.net.change(func() {
		c.net.cut, c.net.delay, c.net.mute, c.net.paused = map[[2]int]bool{}, map[int]time.Duration{}, map[int]time.Time{}, map[int]bool{}
	})
	broken := map[int]*node.Node{}
	for i, d := range c.disks {
		if b := d.mend(); b != nil && b.disk == logDisk && c.node(i) != nil {
			broken[i] = c.node(i)
		}
	}
	c.revive() // a node without a leader may write nothing, and not learn that its disk has failed
	for i, n := range broken {
		select { // the state's is found broken by the next write
		case <-n.Done():
		case <-time.After(10 * time.Second):
			c.t.Errorf("node %d goes on after its log's disk has failed", i+1)
		}
	}
	c.revive()
}

// revive starts what does not run: nodes that were stopped, and those that stopped because their disk had broken.
func (c *cluster) revive() {
	for i := range c.nodes {
		if n := c.node(i); n != nil && n.Err() != nil {
			c.stop(i)
		}
		if c.node(i) == nil && c.runs(i) {
			c.open(i)
		}
	}
}

// agree waits until all nodes hold the same state at the same index.
func (c *cluster) agree() {
	var last string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		c.revive() // a disk may have broken a moment before it was mended
		c.readmit()
		same := map[string]bool{}
		last = ""
		for i := range c.nodes {
			n := c.node(i)
			if n == nil {
				continue
			}
			st := n.Service().Status(context.Background())
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
