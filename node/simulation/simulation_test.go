package simulation

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

var seeds = flag.Int("seeds", suite.Count(20, 40, 5000), "how many schedules to run")

const clients = 4

// warm makes the values that a process makes once and shares. They must not belong to the first bubble.
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
	big := oplog.Entry{DB: 1,
		Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: "r", Text: string(bytes.Repeat([]byte("warm "), 4000))}}}}
	body, err := big.Encode()
	if err != nil {
		panic(err)
	}
	if _, _, err := oplog.DecodeRecord(oplog.EncodeRecord(oplog.MakeHLC(1, 0, 1), body)); err != nil {
		panic(err)
	}
})

// TestSimulation runs the schedule of each seed in its own bubble of virtual time.
func TestSimulation(t *testing.T) {
	warm()
	t.Setenv("GODEBUG", os.Getenv("GODEBUG")+",tracebacklabels=1") // a panic names its seed
	n := *seeds
	if testing.Short() {
		n = min(n, 2)
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

// minAcked is the number of acknowledged writes that a run must reach within a minute after the faults.
const minAcked = 10

// simulate runs one schedule of faults, and checks all that DESIGN.md promises.
func simulate(t *testing.T, seed uint64) {
	c := newCluster(t, seed, spare+1, 0)
	h := &history{start: time.Now()}
	ctx, stop := context.WithCancel(context.Background())
	eventsCtx, stopEvents := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	defer func() {
		stop()
		stopEvents()
		workers.Wait()
		c.background.Wait()
		c.close()
		if t.Failed() {
			t.Logf("run it again: go test ./node/simulation -seeds %d -run 'TestSimulation/seed=%d$' -count=20", seed+1, seed)
		}
	}()
	subscribers := make([]*subscriber, 2)
	for i := range subscribers {
		subscribers[i] = &subscriber{c: c, rng: rand.New(rand.NewPCG(seed, uint64(200+i)))}
		workers.Go(func() { subscribers[i].run(eventsCtx) })
	}
	for i := range clients {
		w := &worker{id: i, rng: rand.New(rand.NewPCG(seed, uint64(100+i))), c: c, h: h, keys: 3, seen: map[*node.Node]oplog.Index{}}
		workers.Go(func() { w.run(ctx) })
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	c.faults(rng, 14)
	c.heal()
	c.waitAgree()
	for i := range c.nodes { // old requests arrive among new ones
		c.redeliver(i+1, rng)
	}
	c.background.Wait()
	pause(ctx, time.Second) // time for reads without faults
	for end := time.Now().Add(time.Minute); h.acknowledged() < minAcked && time.Now().Before(end); {
		pause(ctx, 100*time.Millisecond) // all clients may still wait for requests sent during the faults
	}
	stop()
	c.storeLast()
	over := time.AfterFunc(time.Minute, stopEvents)
	workers.Wait()
	over.Stop()
	c.waitAgree()
	c.checkLogs()
	c.checkEvents(t.Context(), subscribers)
	for i := range c.nodes {
		if c.shouldRun(i) {
			c.checkContent(i)
			c.checkNoDisputes(i)
		}
	}
	c.close()
	for i, d := range c.disks {
		d.checkUndamaged(t, c.everLost[i])
	}
	for _, b := range h.violations {
		t.Error(b)
	}
	if n := h.acknowledged(); n < minAcked {
		t.Errorf("only %d writes were acknowledged: the run shows nothing", n)
	}
	for _, part := range model.Partition(h.ops) {
		if porcupine.CheckOperationsTimeout(model, part, 10*time.Second) == porcupine.Illegal {
			t.Errorf("no single memory could have answered so:\n%s", describe(part))
		}
	}
}

// describe lists the calls and replies of one key.
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
