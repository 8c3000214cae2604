package recovery

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
// A chain has an origin, random bytes from the leader that began it, because a chain cannot cover records that a snapshot replaced. A
// member without a chain, or with one of another origin, takes over the leader's at a record that it applies: after an installed
// snapshot, or when its log was made new. A member that restarts from its own files continues its chain: it is stored in the log's
// meta, encrypted with it, before each snapshot, and the records after that are applied again at the start.

// A Link is a chain up to one record: SHA-256 of the link before, index, term and kind of the record, and its data; the first
// 16 bytes.
type Link struct {
	Origin uint64 // 0: there is no chain
	Index  uint64
	Hash   [16]byte
}

func (l Link) next(r *hraft.Log) Link {
	h := sha256.New()
	b := append(make([]byte, 0, 64), l.Hash[:]...)
	b = binary.BigEndian.AppendUint64(b, r.Index)
	b = binary.BigEndian.AppendUint64(b, r.Term)
	h.Write(append(b, byte(r.Type)))
	h.Write(r.Data)
	next := Link{Origin: l.Origin, Index: r.Index}
	copy(next.Hash[:], h.Sum(b[:0]))
	return next
}

// Bytes are what ReadLink reads.
func (l Link) Bytes() []byte {
	b := binary.BigEndian.AppendUint64(nil, l.Origin)
	return append(binary.BigEndian.AppendUint64(b, l.Index), l.Hash[:]...)
}

// ReadLink reads a link; one of other bytes is none.
func ReadLink(b []byte) (l Link) {
	if len(b) == 8+8+len(l.Hash) {
		l.Origin, l.Index = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
		copy(l.Hash[:], b[16:])
	}
	return l
}

// Chain is the running hash of a node.
type Chain struct {
	mu     sync.Mutex
	last   Link
	recent [256]Link // the newest links, by index: the leader may be a little behind this member
	due    Link      // the leader's link at a record not applied here yet
}

// Add takes records in the order in which the state is given them, and returns an error when their hash is not the leader's.
func (c *Chain) Add(records []*hraft.Log) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range records {
		switch {
		case r.Index <= c.last.Index: // given again after a start
			continue
		case c.last.Origin == 0:
			c.last.Index = r.Index
		default:
			c.last = c.last.next(r)
			c.recent[r.Index%uint64(len(c.recent))] = c.last
		}
		if c.due.Origin == 0 || r.Index < c.due.Index {
			continue
		}
		due := c.due
		c.due = Link{}
		if err := c.compare(due); err != nil {
			return err
		}
	}
	return nil
}

// Check compares what the leader says with this chain, or keeps it until the record is applied here.
func (c *Chain) Check(said Link) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if said.Origin == 0 {
		return nil
	}
	if said.Index > c.last.Index {
		if c.due.Origin != said.Origin || c.last.Origin != said.Origin { // one that is to be compared is waited for
			c.due = said
		}
		return nil
	}
	return c.compare(said)
}

// compare compares, or takes over, a link of the leader at a record that is applied here. The lock is held.
func (c *Chain) compare(said Link) error {
	if said.Origin != c.last.Origin {
		if said.Index == c.last.Index {
			c.last = said
		}
		return nil
	}
	here := c.last
	if said.Index < c.last.Index {
		here = c.recent[said.Index%uint64(len(c.recent))]
		if here.Origin != said.Origin || here.Index != said.Index {
			return nil // too long ago
		}
	}
	if here != said {
		return fmt.Errorf("the records up to %d differ from those in the leader's log: their hash is %x here and %x there", said.Index, here.Hash, said.Hash)
	}
	return nil
}

// EnsureOrigin begins a chain if there is none, and returns its end.
func (c *Chain) EnsureOrigin() Link {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.last.Origin == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		c.last.Origin = binary.BigEndian.Uint64(b[:])
	}
	return c.last
}

// Restart goes on from a link, or from none behind a record.
func (c *Chain) Restart(at Link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.due, c.recent = at, Link{}, [256]Link{}
}

// End is the chain up to the record that was applied last.
func (c *Chain) End() Link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}
