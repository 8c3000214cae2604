package raft

import (
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/raft/transport"
)

// A leader orders the log by time, and a clock that is years ahead would order it so for ever. So no node believes its own clock
// alone: heartbeats carry the others', and what time it is is decided by the middle of them.

// ClockReading is what a node takes the time to be.
type ClockReading struct {
	Time   time.Time     // its own clock's, unless that is off: then what the others' say
	Offset time.Duration // how far its own clock is from that
	Off    bool          // Offset is over the bound
}

// clocks are the clocks of this node and the other members.
type clocks struct {
	now     func() time.Time     // this node's
	elapsed func() time.Duration // since some moment; no clock's jump changes it
	max     time.Duration        // how far a clock may be off

	mu    sync.Mutex
	peers map[uint32]reading
	last  reading // what was taken for the time last, here or by the leader
}

// reading is what a clock showed at a moment.
type reading struct {
	at   time.Time     // without its monotonic part: a clock that jumps is compared by what it shows
	when time.Duration // elapsed
}

// after is what it must show now, when it goes right.
func (r reading) after(now time.Duration) time.Time { return r.at.Add(now - r.when) }

// readingAge is how long a member's clock counts after it was heard.
const readingAge = 10 * time.Second

// catchUp is the part of the time gone by that a node without others moves towards its own clock when that has jumped: a machine
// whose clock was put right is right again after ten times the difference, and one whose clock is off by years is never.
const catchUp = 10

// answered notes a member's clock, out of an answer to a request that was sent a while ago.
func (c *clocks) answered(id uint32, at time.Time, took time.Duration) {
	if at.IsZero() || took > c.max/2 { // it may have been read at any moment of that
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peers == nil {
		c.peers = map[uint32]reading{}
	}
	c.peers[id] = reading{at.Add(took / 2), c.elapsed()}
}

// led notes what the leader takes the time to be. A node that leads after it begins with that.
func (c *clocks) led(at time.Time) {
	if at.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = reading{at, c.elapsed()}
}

// read decides what time it is, and remembers it.
func (c *clocks) read() ClockReading {
	c.mu.Lock()
	defer c.mu.Unlock()
	own, now := c.now().Round(0), c.elapsed()
	r := ClockReading{Time: own}
	middle := c.middle(own, now)
	if r.Offset = own.Sub(middle); r.Offset.Abs() > c.max {
		r.Time, r.Off = middle, true
	}
	c.last = reading{r.Time, now}
	return r
}

// middle is the middle one of this node's clock and the members'. Where there is none, the time that was taken last, advanced,
// decides; and where that is not known either, the earlier: a log that was once ahead stays ahead. c.mu is held.
func (c *clocks) middle(own time.Time, now time.Duration) time.Time {
	votes := []time.Time{own}
	for id, p := range c.peers {
		if now-p.when > readingAge {
			delete(c.peers, id)
			continue
		}
		votes = append(votes, p.after(now))
	}
	if c.last != (reading{}) {
		last := c.last.after(now)
		if len(votes) == 1 {
			part := (now - c.last.when) / catchUp
			return last.Add(min(max(own.Sub(last), -part), part))
		}
		if len(votes)%2 == 0 {
			votes = append(votes, last)
		}
	}
	slices.SortFunc(votes, time.Time.Compare)
	return votes[(len(votes)-1)/2]
}

// Punctual is the voter whose log reaches farthest among those whose clocks are right.
func (n *Node) Punctual() (id uint32, ok bool) {
	right := n.clocks.right()
	s, ok := n.furthest(func(id uint32) bool { return slices.Contains(right, id) })
	return transport.NodeID(s.ID), ok
}

// right are the members whose clocks are within the bound.
func (c *clocks) right() (ids []uint32) {
	is := c.read().Time
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.elapsed()
	for id, p := range c.peers {
		if p.after(now).Sub(is).Abs() <= c.max {
			ids = append(ids, id)
		}
	}
	return ids
}

// Clock tells what time it is, as far as this node can know.
func (n *Node) Clock() ClockReading { return n.clocks.read() }
