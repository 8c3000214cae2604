package raft

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"

	hraft "github.com/hashicorp/raft"
)

// The library takes two records for the same when their index and term are. A running hash of the records that the state is given,
// in order, shows when they are not: a leader says in its heartbeats where its chain is, and a member compares its own there.
//
// A chain has an origin, random bytes of the leader that began it, for a chain cannot begin before what a snapshot stands for.
// A member without a chain, or with one of another origin, takes the leader's over at a record that it applies: after a snapshot
// was installed, or when its log's file was made anew. Members that go on from their own files go on with their chain: it is stored
// in the log's file, encrypted with it, before each snapshot, and the records behind that are given to the state again at a start.

// A link is a chain up to one record: SHA-256 of the link before, index, term and kind of the record, and its data; the first
// 16 bytes.
type link struct {
	origin uint64 // 0: there is no chain
	index  uint64
	hash   [16]byte
}

func (l link) next(r *hraft.Log) link {
	h := sha256.New()
	b := append(make([]byte, 0, 64), l.hash[:]...)
	b = binary.BigEndian.AppendUint64(b, r.Index)
	b = binary.BigEndian.AppendUint64(b, r.Term)
	h.Write(append(b, byte(r.Type)))
	h.Write(r.Data)
	next := link{origin: l.origin, index: r.Index}
	copy(next.hash[:], h.Sum(b[:0]))
	return next
}

func (l link) bytes() []byte {
	b := binary.BigEndian.AppendUint64(nil, l.origin)
	return append(binary.BigEndian.AppendUint64(b, l.index), l.hash[:]...)
}

func readLink(b []byte) (l link) {
	if len(b) == 8+8+len(l.hash) {
		l.origin, l.index = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
		copy(l.hash[:], b[16:])
	}
	return l
}

// chain is the running hash of this node.
type chain struct {
	mu     sync.Mutex
	last   link
	recent [256]link // by index, those that were last; the leader may be a little behind this member
	due    link      // what the leader said of a record that is still to come
}

// add takes records in the order in which the state is given them, and says what is wrong with them.
func (c *chain) add(records []*hraft.Log) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range records {
		switch {
		case r.Index <= c.last.index: // given again after a start
			continue
		case c.last.origin == 0:
			c.last.index = r.Index
		default:
			c.last = c.last.next(r)
			c.recent[r.Index%uint64(len(c.recent))] = c.last
		}
		if c.due.origin == 0 || r.Index < c.due.index {
			continue
		}
		due := c.due
		c.due = link{}
		if err := c.meet(due); err != nil {
			return err
		}
	}
	return nil
}

// hear takes what the leader says, and says whether it contradicts this chain.
func (c *chain) hear(said link) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if said.origin == 0 {
		return nil
	}
	if said.index > c.last.index {
		if c.due.origin != said.origin || c.last.origin != said.origin { // one that is to be compared is waited for
			c.due = said
		}
		return nil
	}
	return c.meet(said)
}

// meet compares, or takes over, a link of the leader at a record that is applied here. The lock is held.
func (c *chain) meet(said link) error {
	if said.origin != c.last.origin {
		if said.index == c.last.index {
			c.last = said
		}
		return nil
	}
	here := c.last
	if said.index < c.last.index {
		here = c.recent[said.index%uint64(len(c.recent))]
		if here.origin != said.origin || here.index != said.index {
			return nil // too long ago
		}
	}
	if here != said {
		return fmt.Errorf("the records up to %d are others in the leader's log: their hash is %x here and %x there", said.index, here.hash, said.hash)
	}
	return nil
}

// begin makes sure that there is a chain, and returns its end.
func (c *chain) begin() link {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.last.origin == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		c.last.origin = binary.BigEndian.Uint64(b[:])
	}
	return c.last
}

// restart goes on from a link, or from none behind a record.
func (c *chain) restart(at link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.due, c.recent = at, link{}, [256]link{}
}

func (c *chain) end() link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// keyChain is where the chain is kept in the log's file.
var keyChain = []byte("cairn chain")

// keepChain stores a link; none before a snapshot of another member takes the place of records that this one has not seen.
func (n *Node) keepChain(l link) error {
	if l.origin == 0 {
		if raw, err := n.logs.Get(keyChain); err != nil || readLink(raw).origin == 0 {
			return nil // there was none
		}
	}
	return n.kept(func() error { return n.logs.Set(keyChain, l.bytes()) })
}

// loadChain goes on with the link that was stored.
func (n *Node) loadChain() {
	if raw, err := n.logs.Get(keyChain); err == nil {
		n.chain.restart(readLink(raw))
	}
}

// tellChain is what a leader's heartbeats say of its chain.
func (n *Node) tellChain() []byte {
	if !n.IsLeader() {
		return nil
	}
	return n.chain.begin().bytes()
}

// hearChain compares what a leader said with the chain here.
func (n *Node) hearChain(term uint64, said []byte) error {
	if term != n.Term() {
		return nil
	}
	if err := n.chain.hear(readLink(said)); err != nil {
		return n.contradicts(err)
	}
	return nil
}
