package raft

import (
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/raft/transport"
)

// The leader's clock stamps the log, and time in the log never goes back: one clock that is years ahead would shift
// it for ever. So no node trusts its own clock alone. Heartbeats carry the members' clocks, and the median decides.

// ClockReading holds the cluster's time as this node estimates it.
type ClockReading struct {
	Time   time.Time     // this node's clock, or the median of the members' clocks if its own is off
	Offset time.Duration // this node's clock minus the median
	Off    bool          // Offset exceeds the bound
}

// clocks holds readings of the clocks of this node and the other members.
type clocks struct {
	now     func() time.Time     // this node's clock
	elapsed func() time.Duration // monotonic; a jump of the clock does not change it
	max     time.Duration        // the allowed offset of a clock

	mu    sync.Mutex
	peers map[uint32]reading
	last  reading // the last result, computed here or received from the leader
}

// reading holds a value of a clock, and the elapsed time at which it was read.
type reading struct {
	at   time.Time     // without the monotonic part, so that jumps of the clock count
	when time.Duration // elapsed
}

// advanced returns the value that the clock should show now.
func (r reading) advanced(now time.Duration) time.Time { return r.at.Add(now - r.when) }

// readingAge limits the age of a reading of a member's clock.
const readingAge = 10 * time.Second

// slewDivisor limits how fast a node that hears from no other member moves towards its own clock: by at most a tenth
// of the elapsed time. So it follows a clock that was corrected by a minute within ten minutes, and a clock that is
// off by years never.
const slewDivisor = 10

// notePeer notes a member's clock from the answer to a request; took is the time between request and answer. It
// ignores an exchange longer than half the bound, because the clock may have been read at any moment of it.
func (c *clocks) notePeer(id uint32, at time.Time, took time.Duration) {
	if at.IsZero() || took > c.max/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peers == nil {
		c.peers = map[uint32]reading{}
	}
	c.peers[id] = reading{at.Add(took / 2), c.elapsed()}
}

// noteLeader notes the leader's time. A node that becomes leader continues from it.
func (c *clocks) noteLeader(at time.Time) {
	if at.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = reading{at, c.elapsed()}
}

// read computes the time, and stores it as the last result.
func (c *clocks) read() ClockReading {
	c.mu.Lock()
	defer c.mu.Unlock()
	own, now := c.now().Round(0), c.elapsed()
	r := ClockReading{Time: own}
	middle := c.median(own, now)
	if r.Offset = own.Sub(middle); r.Offset.Abs() > c.max {
		r.Time, r.Off = middle, true
	}
	c.last = reading{r.Time, now}
	return r
}

// median returns the median of this node's clock and the members' clocks. With an even number of clocks it adds the
// last result, advanced to now. Without a last result it uses the earlier of the two middle clocks, because time in
// the log never goes back. The caller holds c.mu.
func (c *clocks) median(own time.Time, now time.Duration) time.Time {
	votes := []time.Time{own}
	for id, p := range c.peers {
		if now-p.when > readingAge {
			delete(c.peers, id)
			continue
		}
		votes = append(votes, p.advanced(now))
	}
	if c.last != (reading{}) {
		last := c.last.advanced(now)
		if len(votes) == 1 {
			part := (now - c.last.when) / slewDivisor
			return last.Add(min(max(own.Sub(last), -part), part))
		}
		if len(votes)%2 == 0 {
			votes = append(votes, last)
		}
	}
	slices.SortFunc(votes, time.Time.Compare)
	return votes[(len(votes)-1)/2]
}

// VoterWithAccurateClock returns the voter with the longest log among those whose clocks are within the bound.
func (n *Node) VoterWithAccurateClock() (id uint32, ok bool) {
	right := n.clocks.accurate()
	s, ok := n.longestLog(func(id uint32) bool { return slices.Contains(right, id) })
	return transport.NodeID(s.ID), ok
}

// accurate returns the members whose clocks are within the bound.
func (c *clocks) accurate() (ids []uint32) {
	is := c.read().Time
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.elapsed()
	for id, p := range c.peers {
		if p.advanced(now).Sub(is).Abs() <= c.max {
			ids = append(ids, id)
		}
	}
	return ids
}

// Clock returns the cluster's time as this node estimates it.
func (n *Node) Clock() ClockReading { return n.clocks.read() }
