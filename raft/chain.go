package raft

import "github.com/cairndb/cairn/raft/recovery"

// storeChain stores a link on disk. An empty one is stored before another member's snapshot replaces records that this member has
// not hashed.
func (n *Node) storeChain(l recovery.Link) error {
	if l.Origin == 0 && recovery.ReadLink(n.logs.Chain()).Origin == 0 {
		return nil // there was none
	}
	return n.disk.Try(func() error { return n.logs.SetChain(l.Bytes()) })
}

// loadChain continues from the stored link.
func (n *Node) loadChain() {
	if raw := n.logs.Chain(); raw != nil {
		n.chain.Restart(recovery.ReadLink(raw))
	}
}

// chainEnd is the end of the chain that a leader's heartbeats carry; nil on other members.
func (n *Node) chainEnd() []byte {
	if !n.IsLeader() {
		return nil
	}
	return n.chain.EnsureOrigin().Bytes()
}

// checkChain compares the leader's chain with the one here.
func (n *Node) checkChain(term uint64, said []byte) error {
	if term != n.Term() {
		return nil
	}
	if err := n.chain.Check(recovery.ReadLink(said)); err != nil {
		return n.contradicts(err)
	}
	return nil
}
