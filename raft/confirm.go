package raft

import (
	"context"
	"errors"
	"sync"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/transport"
)

// The library confirms a leader by answers to heartbeats, also of such as were sent before it was asked: one that was
// answered before a hand-over, and whose answer was long under way, confirms a leader that is none any more. So the members
// are asked here, after the read has come. A member that says yes has not voted in a newer term until then; with a quorum of
// those nobody else can have led.

// confirmations are rounds of asking, one after the other. Who comes while one is under way waits for the next, with all
// who came meanwhile.
type confirmations struct {
	turn chan struct{} // held by the round under way
	mu   sync.Mutex
	next *round         // not begun yet; nil when nobody waits
	open map[uint32]int // members' answers that are still to come
	over bool           // the node closes, and waits for the rounds there are
}

// end lets no further round begin.
func (c *confirmations) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// maxOpen bounds what waits for a member that is silent; it is not asked again meanwhile.
const maxOpen = 8

// ask says whether a member may be asked now.
func (c *confirmations) ask(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[id] >= maxOpen {
		return false
	}
	if c.open == nil {
		c.open = map[uint32]int{}
	}
	c.open[id]++
	return true
}

func (c *confirmations) answered(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[id]--
}

type round struct {
	done chan struct{}
	err  error
}

var errDeposed = errors.New("a quorum does not follow this node")

// confirm says whether this node still leads in a term, at a moment after it was called.
func (n *Node) confirm(ctx context.Context, term uint64) error {
	n.rounds.mu.Lock()
	if n.rounds.over {
		n.rounds.mu.Unlock()
		return errDeposed
	}
	r := n.rounds.next
	if r == nil {
		r = &round{done: make(chan struct{})}
		n.rounds.next = r
		n.tasks.Go(func() { // ends with the round, whose requests have deadlines
			n.rounds.turn <- struct{}{}
			defer func() { <-n.rounds.turn }()
			n.rounds.mu.Lock()
			n.rounds.next = nil // who comes now is too late for this one
			n.rounds.mu.Unlock()
			r.err = n.followed(n.ready.Load())
			close(r.done)
		})
	}
	n.rounds.mu.Unlock()
	select {
	case <-r.done:
		if r.err == nil && n.ready.Load() != term {
			return errDeposed
		}
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// followed asks the other voters whether they follow this node in a term, and says whether a quorum does.
func (n *Node) followed(term uint64) error { return n.followedBy(n.voters(), term) }

// followedBy does so with some voters, of which this node is one, and a quorum of those.
func (n *Node) followedBy(voters []hraft.Server, term uint64) error {
	yes, others := 0, 0
	answers := make(chan bool, len(voters))
	for _, s := range voters {
		if transport.NodeID(s.ID) == n.cfg.NodeID {
			yes++
			continue
		}
		if !n.rounds.ask(transport.NodeID(s.ID)) {
			continue
		}
		others++
		n.tasks.Go(func() { // its answer has room
			defer n.rounds.answered(transport.NodeID(s.ID))
			answers <- n.follows(s, term)
		})
	}
	for ; others > 0 && yes <= len(voters)/2 && term != 0; others-- {
		if <-answers {
			yes++
		}
	}
	if term == 0 || yes <= len(voters)/2 {
		return errDeposed
	}
	return nil
}

// follows asks one member whether it follows this node in a term. One that is away is not waited for.
func (n *Node) follows(s hraft.Server, term uint64) bool {
	var resp hraft.AppendEntriesResponse
	err := n.transport.Append(transport.ForAppend, s.ID, s.Address, &hraft.AppendEntriesRequest{Term: term}, &resp)
	return err == nil && resp.Success && resp.Term == term
}
