package raft

import hraft "github.com/hashicorp/raft"

// A log that was cut begins where a snapshot ends, and one of the two holds the configuration. Without that snapshot the library
// does not start and the members are unknown. So such a log counts as damaged (see openStore): the node gets another from the other
// members (rejoin) or, if it is alone, from its own files (salvage).

// usableSnapshot is where the newest usable snapshot ends; 0 when there is none. A snapshot that is ahead of the state will be
// restored, so it must be readable to its end.
func (n *Node) usableSnapshot(snaps hraft.SnapshotStore) (end uint64, err error) {
	list, err := snaps.List()
	if err != nil {
		return 0, err
	}
	applied, _ := n.sm.Applied()
	for _, m := range list {
		if applied < m.Index {
			_, in, err := snaps.Open(m.ID)
			if transient(err) {
				return 0, err
			}
			if err != nil {
				continue // moved aside
			}
			in.Close()
		}
		return m.Index, nil
	}
	return 0, nil
}
