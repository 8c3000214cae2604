package raft

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// Members compare their data: one record, when there is a dispute about it, and the hashes of their states every few
// seconds. A member is wrong only if a majority of all voters, not counting itself, holds other data.

// compareEvery is the interval at which a member compares the hash of its state with those of the others.
const compareEvery = 5 * time.Second

// compareTimeout bounds the wait for the others' answers.
const compareTimeout = 2 * time.Second

// A StateSum holds the hash of a state at an index.
type StateSum struct {
	Index uint64
	Sum   [sha256.Size]byte
}

// recordSum returns the hash of a record.
func recordSum(l *hraft.Log) []byte {
	h := sha256.New()
	b := binary.BigEndian.AppendUint64(nil, l.Index)
	b = binary.BigEndian.AppendUint64(b, l.Term)
	h.Write(append(b, byte(l.Type)))
	h.Write(l.Data)
	return h.Sum(nil)
}

// describeRecord returns this node's answer about its applied record at an index: the record's term and hash, and the
// recent hashes of the state.
func (n *Node) describeRecord(index uint64) (m wire.CompareOK) {
	if n.stateless() {
		return m
	}
	applied, term := n.sm.Applied()
	m.Applied = n.committed()
	for _, s := range n.sm.Sums() {
		m.States = append(m.States, wire.StateSum{Index: s.Index, Sum: bytes.Clone(s.Sum[:])})
	}
	if index == 0 || index > m.Applied || index <= n.supersededTo.Load() {
		return m
	}
	if l, err := n.appliedRecord(index); err == nil {
		if m.Term = l.Term; !logstore.Erased(l) { // a member that was away has the original, also correct
			m.Sum = recordSum(l)
		}
	} else if index == applied {
		m.Term = term
	}
	return m
}

// appliedRecord reads a record from the log, or from the records that are retained before it.
func (n *Node) appliedRecord(index uint64) (*hraft.Log, error) {
	l := new(hraft.Log)
	err := n.logs.GetLog(index, l)
	if errors.Is(err, hraft.ErrLogNotFound) {
		r := n.logs.Reader()
		defer r.Close()
		l, err = r.Read(index)
	}
	return l, err
}

// compare answers a member's request to describe a record.
func (c *inbound) compare(_ context.Context, f wire.Frame, m *wire.Compare) error {
	if !c.member(c.Peer.NodeID) {
		return c.Fail(f, wire.CodeNotLeader, "node %d is not a member of this cluster", c.Peer.NodeID)
	}
	ok := c.n.describeRecord(m.Index)
	return c.Reply(f, wire.OpCompareOK, &ok)
}

// compareWithVoters asks the other voters concurrently for their record at an index, and returns their answers by id.
func (n *Node) compareWithVoters(index uint64) map[uint32]wire.CompareOK {
	ctx, cancel := context.WithTimeout(n.ctx, compareTimeout)
	defer cancel()
	var asking sync.WaitGroup
	var mu sync.Mutex
	said := map[uint32]wire.CompareOK{}
	for _, s := range n.votersWithout(n.cfg.NodeID) {
		id := transport.NodeID(s.ID)
		asking.Go(func() {
			m, err := n.transport.Compare(ctx, id, string(s.Address), index)
			if err != nil {
				return // a voter that does not answer does not count
			}
			mu.Lock()
			defer mu.Unlock()
			said[id] = m
		})
	}
	asking.Wait()
	return said
}

// comparison holds the voters that agree with this node, including itself, and the largest group that agrees on
// other data.
type comparison struct {
	agree, differ []uint32
	majority      int
}

// askVoters asks the other voters about a record.
func (n *Node) askVoters(index uint64) comparison {
	own := n.describeRecord(index)
	return n.tally(own.Term > 0, func(m wire.CompareOK) (what string, same bool) {
		switch {
		case m.Term == 0 || own.Term == 0:
			return "", false
		case m.Term != own.Term, len(m.Sum) > 0 && len(own.Sum) > 0 && !bytes.Equal(m.Sum, own.Sum):
			return fmt.Sprintf("%d %x", m.Term, m.Sum), false
		}
		return "", true
	}, n.compareWithVoters(index))
}

// tally groups the voters by their answers. of returns a key for a voter's answer; an empty key does not count.
func (n *Node) tally(knows bool, of func(wire.CompareOK) (what string, same bool), said map[uint32]wire.CompareOK) (v comparison) {
	voters := n.voters()
	v.majority = len(voters)/2 + 1
	groups := map[string][]uint32{}
	for _, s := range voters {
		id := transport.NodeID(s.ID)
		if id == n.cfg.NodeID && knows {
			v.agree = append(v.agree, id)
		}
		m, answered := said[id]
		if !answered {
			continue
		}
		if what, same := of(m); same {
			v.agree = append(v.agree, id)
		} else if what != "" {
			groups[what] = append(groups[what], id)
		}
	}
	for _, ids := range groups {
		if len(ids) > len(v.differ) {
			v.differ = ids
		}
	}
	return v
}

// compareStates is the task that compares the hash of this node's state with the hashes of the other voters' states.
func (n *Node) compareStates() {
	for range pause.Ticks(n.ctx.Done(), compareEvery) {
		if !n.stateless() {
			n.compareStatesNow()
		}
	}
}

// compareStatesNow compares the states at the newest index for which a majority decides. If there is none, it takes
// the newest index at which any state differs.
func (n *Node) compareStatesNow() {
	said := n.compareWithVoters(0)
	var found comparison
	at := uint64(0)
	for _, own := range slices.Backward(n.sm.Sums()) {
		v := n.tally(true, func(m wire.CompareOK) (what string, same bool) {
			i := slices.IndexFunc(m.States, func(s wire.StateSum) bool { return s.Index == own.Index })
			if i < 0 {
				return "", false
			}
			return string(m.States[i].Sum), bytes.Equal(m.States[i].Sum, own.Sum[:])
		}, said)
		sure := len(v.differ) >= v.majority || len(v.agree) >= v.majority
		if sure || at == 0 && len(v.differ) > 0 {
			found, at = v, own.Index
		}
		if sure {
			break
		}
	}
	if len(found.differ) < found.majority || at == 0 {
		n.disputes.roundsAgainst.Store(0)
	}
	if len(found.differ) > 0 {
		n.statesDiffer(at, found)
	}
}

// statesDiffer acts on states that differ from this node's at an index. One comparison may rest on a wrong read, so
// this node steps aside only when a majority differs in two rounds in a row.
func (n *Node) statesDiffer(index uint64, v comparison) {
	if len(v.differ) >= v.majority {
		if n.disputes.roundsAgainst.Add(1) > 1 {
			n.stepAside(fmt.Errorf("the states of %s at index %d are equal, and differ from this node's", nodeList(v.differ),
				index), Lost{})
		}
		return
	}
	verdict := "too few other states were at that index to say which is wrong"
	if len(v.agree) >= v.majority {
		verdict = fmt.Sprintf("the states of %s are equal", nodeList(v.agree))
	}
	for _, id := range v.differ {
		n.noteClaim(Dispute{Peer: id, Index: index,
			Says: fmt.Sprintf("its state at index %d differs from this node's", index), Verdict: verdict})
	}
}
