package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
)

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
		func(i int) { // it does what it is asked, and often no client hears of it
			until := time.Now().Add(time.Duration(rng.IntN(1000)) * time.Millisecond)
			c.net.change(func() { c.net.mute[i+1] = until })
		},
		func(i int) { c.transfer(i) },
		func(i int) { c.wipe(i) },
		func(i int) { c.rollBack(i, rng) },
		func(i int) { c.replace(i) },
		func(int) { c.grow(rng) },
		func(int) { c.grow(rng) },
		func(i int) { c.drop(i) },
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

// drop has a database made through a node, written to and dropped again, as far as the node can: the leader erases it
// meanwhile.
func (c *cluster) drop(i int) {
	n := c.node(i)
	if n == nil {
		return
	}
	caller, err := n.Access().Local("default")
	if err != nil {
		return
	}
	caller.Forward = true
	c.echoes.Go(func() {
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
			_, _ = api.Remember.Do(ctx, s, within, &api.RememberRequest{Draft: api.Draft{Text: fmt.Sprint(name, k), Importance: 0.5}}) // or not
		}
		_, _ = api.DropDatabase.Do(ctx, s, caller, &api.DropDatabaseRequest{Name: made.Name})
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
