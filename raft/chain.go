package raft

import "github.com/cairndb/cairn/raft/recovery"

// keepChain stores a link; none before a snapshot of another member takes the place of records that this one has not seen.
func (n *Node) keepChain(l recovery.Link) error {
	if l.Origin == 0 && recovery.ReadLink(n.logs.Chain()).Origin == 0 {
		return nil // there was none
	}
	return n.disk.Try(func() error { return n.logs.SetChain(l.Bytes()) })
}

// loadChain goes on with the link that was stored.
func (n *Node) loadChain() {
	if raw := n.logs.Chain(); raw != nil {
		n.chain.Restart(recovery.ReadLink(raw))
	}
}

// tellChain is what a leader's heartbeats say of its chain.
func (n *Node) tellChain() []byte {
	if !n.IsLeader() {
		return nil
	}
	return n.chain.Begin().Bytes()
}

// hearChain compares what a leader said with the chain here.
func (n *Node) hearChain(term uint64, said []byte) error {
	if term != n.Term() {
		return nil
	}
	if err := n.chain.Hear(recovery.ReadLink(said)); err != nil {
		return n.contradicts(err)
	}
	return nil
}
