package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
)

// cutPower ends a node in the middle of a step of its log's disk. Unsynced data is lost.
func (c *cluster) cutPower(i int, rng *rand.Rand) {
	if c.node(i) == nil {
		return
	}
	fault := c.disks[i].schedule(logDisk, true, 3+rng.IntN(40), rng)
	if !fault.power { // another fault was due
		return
	}
	late := time.NewTimer(time.Duration(500+rng.IntN(1000)) * time.Millisecond)
	defer late.Stop()
	select {
	case <-fault.struck:
	case <-late.C:
	}
	c.isolate(i, true)
	c.net.breakAll(i + 1)
	if err := c.disks[i].strike(); err != nil {
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

// faults injects random faults into the nodes and the network, one after another.
func (c *cluster) faults(rng *rand.Rand, steps int) {
	kinds := []func(int){
		func(i int) { c.isolate(i, true) },
		func(i int) { c.isolate(i, false) },
		func(i int) { // the node receives, but the others do not hear it
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
			case !c.shouldRun(i):
			case c.node(i) == nil:
				c.open(i)
			case rng.IntN(2) == 0:
				c.kill(i)
			default:
				c.stop(i)
			}
		},
		func(i int) { c.cutPower(i, rng) },
		func(i int) {
			d := time.Duration(rng.IntN(2000)) * time.Millisecond
			c.disks[i].change(func() { c.disks[i].slow[stateDisk] = d })
		},
		func(i int) { // every write and every vote waits for the log's disk
			d := time.Duration(rng.IntN([]int{10, 100, 1500}[rng.IntN(3)])) * time.Millisecond
			c.disks[i].change(func() { c.disks[i].slow[logDisk] = d })
		},
		func(i int) { c.disks[i].schedule(stateDisk, false, 2+rng.IntN(60), rng) },
		func(i int) { c.disks[i].schedule(logDisk, false, rng.IntN(40), rng) },
		func(i int) { c.disks[i].schedule(logDisk, false, rng.IntN(40), rng) },
		func(i int) { // a full disk
			ms := rng.IntN(4000)
			until := time.Now().Add(time.Duration(ms) * time.Millisecond)
			c.disks[i].change(func() { c.disks[i].full[ms%2] = until })
		},
		func(i int) { c.pauseNode(i, rng) },
		func(i int) { c.pauseNode(i, rng) },
		func(i int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.skew[i] += time.Duration(rng.IntN(7200)-3600) * time.Second
		},
		func(i int) { c.redeliver(i+1, rng) },
		func(i int) { c.redeliver(i+1, rng) },
		func(i int) { // requests are carried out, and half of the answers are lost
			until := time.Now().Add(time.Duration(rng.IntN(1000)) * time.Millisecond)
			c.net.change(func() { c.net.lossyUntil[i+1] = until })
		},
		func(i int) { c.transfer(i) },
		func(i int) { c.wipe(i) },
		func(i int) { c.rollBack(i, rng) },
		func(i int) { c.replace(i) },
		func(int) { c.changeSpare(rng) },
		func(int) { c.changeSpare(rng) },
		func(i int) { c.dropDatabase(i) },
	}
	for range steps {
		time.Sleep(time.Duration(200+rng.IntN(1500)) * time.Millisecond)
		c.reapFailed(rng)
		kinds[rng.IntN(len(kinds))](rng.IntN(len(c.nodes)))
	}
}

// pauseNode pauses a node for less than a lease, for longer than an election, or for up to 15 seconds.
func (c *cluster) pauseNode(i int, rng *rand.Rand) {
	from, to := 20, 300
	switch rng.IntN(4) {
	case 0:
		from, to = 300, 3000
	case 1:
		from, to = 3000, 15000
	}
	d := time.Duration(from+rng.IntN(to-from)) * time.Millisecond
	c.net.change(func() { c.net.paused[i+1] = true })
	time.AfterFunc(d, func() { c.resumeNode(i) })
}

func (c *cluster) resumeNode(i int) { c.net.change(func() { delete(c.net.paused, i+1) }) }

// reapFailed closes nodes that ended because their disk failed, and starts half of them again at once.
func (c *cluster) reapFailed(rng *rand.Rand) {
	for i := range c.nodes {
		if n := c.node(i); n != nil && n.Err() != nil {
			c.kill(i)
			if rng.IntN(2) == 0 {
				c.open(i)
			}
		}
	}
}

// transfer asks the leader, through the first node, to hand over to another node. The request may fail.
func (c *cluster) transfer(to int) {
	n := c.node(0)
	if n == nil {
		return
	}
	caller, err := n.Access().Local("default")
	if err != nil {
		return
	}
	c.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, _ = api.ChangeMembers.Do(ctx, n.Service(), caller, &api.ChangeMembersRequest{Verb: "transfer", NodeID: uint32(to + 1)})
	})
}

// dropDatabase creates a database through a node, writes to it and drops it, while the leader erases earlier ones.
// Each request may fail.
func (c *cluster) dropDatabase(i int) {
	n := c.node(i)
	if n == nil {
		return
	}
	caller, err := n.Access().Local("default")
	if err != nil {
		return
	}
	caller.Forward = true
	c.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s, name := n.Service(), fmt.Sprintf("dropped-by-%d", i+1)
		made, err := api.CreateDatabase.Do(ctx, s, caller, &api.CreateDatabaseRequest{Name: name})
		if err != nil {
			return
		}
		within := caller
		within.DB, within.Database = made.ID, made.Name
		for k := range 30 {
			_, _ = api.Remember.Do(ctx, s, within, &api.RememberRequest{Draft: api.Draft{Text: fmt.Sprint(name, k), Importance: 0.5}})
		}
		_, _ = api.DropDatabase.Do(ctx, s, caller, &api.DropDatabaseRequest{Name: made.Name})
	})
}

// heal ends all faults, and checks that a node whose log disk has failed ends by itself.
func (c *cluster) heal() {
	c.net.change(func() {
		c.net.cut, c.net.delay, c.net.lossyUntil, c.net.paused = map[[2]int]bool{}, map[int]time.Duration{}, map[int]time.Time{}, map[int]bool{}
	})
	broken := map[int]*node.Node{}
	for i, d := range c.disks {
		if fault := d.repair(); fault != nil && fault.disk == logDisk && c.node(i) != nil {
			broken[i] = c.node(i)
		}
	}
	c.revive() // a node without a leader may write nothing, and so not notice its failed disk
	for i, n := range broken {
		select { // a failed state disk is noticed only by the next write
		case <-n.Done():
		case <-time.After(10 * time.Second):
			c.t.Errorf("node %d goes on after its log's disk has failed", i+1)
		}
	}
	c.revive()
}
