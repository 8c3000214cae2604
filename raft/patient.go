package raft

import "time"

// patient is the stable store, where the library keeps its term and its vote. The library panics when one of them cannot
// be stored; a disk without room gets it back sooner or later, so this waits instead, and the node stays silent as if it
// were cut off. Records of the log are not waited for: the library passes their refusal on. A disk that has failed in
// another way is waited for until the node stops, which it is told to do; a node that only starts does not.
type patient struct{ n *Node }

const roomCheck = 250 * time.Millisecond

// Set implements hraft.StableStore.
func (p patient) Set(key, val []byte) error {
	return p.store(func() error { return p.n.logs.Set(key, val) })
}

// SetUint64 implements hraft.StableStore.
func (p patient) SetUint64(key []byte, val uint64) error {
	return p.store(func() error { return p.n.logs.SetUint64(key, val) })
}

// Get implements hraft.StableStore.
func (p patient) Get(key []byte) ([]byte, error) { return p.n.logs.Get(key) }

// GetUint64 implements hraft.StableStore.
func (p patient) GetUint64(key []byte) (uint64, error) { return p.n.logs.GetUint64(key) }

// store repeats a write while there is no room. When the node stops meanwhile it gives up, and says that it succeeded: by
// then every connection is closed, so nobody hears of a vote that is not on disk.
func (p patient) store(write func() error) error {
	for told := false; ; told = true {
		err := p.n.broken()
		if err == nil {
			if err = write(); err == nil {
				return nil
			}
		}
		if !lacksRoom(err) {
			p.n.breaks(err)
			if p.n.running.Load() {
				<-p.n.ctx.Done()
			}
			return nil
		}
		if !told {
			p.n.log.Error("disk full, the vote waits for room", "err", err)
		}
		if !p.n.waits() {
			return nil
		}
	}
}

// waits gives a full disk a moment; false when the node stops meanwhile.
func (n *Node) waits() bool {
	t := time.NewTimer(roomCheck)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-n.ctx.Done():
		return false
	}
}
