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

// fewest sets how many acknowledged writes a run must have, at the latest after a minute without faults.
const fewest = 10

// simulate runs one schedule and checks everything that was promised.
func simulate(t *testing.T, seed uint64) {
	c := newCluster(t, seed, spare+1, 0)
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
			c.believes(i)
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
