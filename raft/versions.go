package raft

import (
	"bytes"
	"errors"
	"fmt"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// A PeerVersion holds a peer's version and the kinds of operation that it reads, as of its last hello.
type PeerVersion struct {
	Version string
	Reads   oplog.Kinds
}

// noteHello stores the version in the hello of a peer that knows the cluster secret.
func (n *Node) noteHello(id uint32, h *wire.RaftHello) {
	if h == nil {
		return
	}
	n.withPeer(id, func(p *peerState) { p.hello = &PeerVersion{Version: h.Version, Reads: bytes.Clone(h.Reads)} })
}

// PeerVersion returns the version in a peer's last hello. ok is false if the peer has sent none since this node's
// start.
func (n *Node) PeerVersion(id uint32) (PeerVersion, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.peers[id]; p != nil && p.hello != nil {
		return *p.hello, true
	}
	return PeerVersion{}, false
}

// Others returns the other members' ids.
func (n *Node) Others() (ids []uint32) {
	for _, s := range n.servers() {
		if id := transport.NodeID(s.ID); id != n.cfg.NodeID {
			ids = append(ids, id)
		}
	}
	return ids
}

// clusterID returns the id of this node's cluster; blank if it knows none. A crash may take the state back to its
// beginning, where it has no id. To apply its log again the node may need a leader that it does not know, which it
// accepts by the cluster's id. So clusterID also looks in the log's first records.
func (n *Node) clusterID() string {
	if id := n.cfg.Hello().ClusterID; id != "" {
		return id
	}
	if !n.running.Load() {
		return "" // the log may be opening
	}
	const founding = 64 // the first leader writes the id before anything else
	first, err := n.logs.FirstIndex()
	for i := first; err == nil && i < first+founding; i++ {
		var l hraft.Log
		if err = n.logs.GetLog(i, &l); err == nil && l.Type == hraft.LogCommand {
			if id := n.cfg.Founds(l.Data); id != "" {
				return id
			}
		}
	}
	return ""
}

// checkCompatible rejects a node of another cluster, and a node if one of the two versions cannot read the other's
// log or snapshots. The error names the reason.
func (n *Node) checkCompatible(h *wire.RaftHello) error {
	if h == nil {
		return nil
	}
	ours := n.cfg.Hello()
	if h.ClusterID != "" && ours.ClusterID != "" && h.ClusterID != ours.ClusterID {
		return fmt.Errorf("this node belongs to cluster %s, the peer to %s", ours.ClusterID, h.ClusterID)
	}
	if ours.EntryMax != 0 && (h.EntryMax == 0 || h.StateMax == 0 || len(h.Reads) == 0) {
		return errors.New("the hello of the peer does not say which records, snapshots and operations it reads")
	}
	if ours.EntryMax != 0 && (h.EntryMax < ours.EntryMin || h.EntryMin > ours.EntryMax) {
		return fmt.Errorf("this node (%s) reads log records of versions %d to %d, the peer (%s) %d to %d: upgrade the older one",
			ours.Version, ours.EntryMin, ours.EntryMax, h.Version, h.EntryMin, h.EntryMax)
	}
	if ours.StateMax != 0 && (h.StateMax < ours.StateMin || h.StateMin > ours.StateMax) {
		return fmt.Errorf("this node (%s) reads snapshots of formats %d to %d, the peer (%s) %d to %d: upgrade the older one",
			ours.Version, ours.StateMin, ours.StateMax, h.Version, h.StateMin, h.StateMax)
	}
	return errors.Join(
		checkReads(fmt.Sprintf("the peer (%s)", h.Version), h.Reads, ours.Needs),
		checkReads(fmt.Sprintf("this node (%s)", ours.Version), ours.Reads, h.Needs))
}

// checkReads returns an error if a side cannot read a kind of operation in the other's log. A node that announces no
// kinds has no log that could need any.
func checkReads(who string, reads, needs oplog.Kinds) error {
	if missing := reads.Lacks(needs); len(missing) > 0 {
		return fmt.Errorf("the log holds operations that %s does not read (%s): upgrade it", who, missing)
	}
	return nil
}
