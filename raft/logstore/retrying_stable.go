package logstore

import hraft "github.com/hashicorp/raft"

// RetryingStable is the library's store of term and vote. The library panics when it cannot store one of them. So on
// a full disk this store waits for space, and the member stays silent as if it were cut off. Log records do not wait:
// the library passes their rejection on. After any other disk failure the store waits until the member has stopped;
// during a start it returns the error.
type RetryingStable struct {
	hraft.StableStore
	Disk *Disk
}

// Set implements hraft.StableStore.
func (s RetryingStable) Set(key, val []byte) error {
	return s.store(func() error { return s.StableStore.Set(key, val) })
}

// SetUint64 implements hraft.StableStore.
func (s RetryingStable) SetUint64(key []byte, val uint64) error {
	return s.store(func() error { return s.StableStore.SetUint64(key, val) })
}

// store repeats a write while the disk is full. If the member stops meanwhile, store returns success: by then every
// connection is closed, so no other member hears of a vote that is not on disk.
func (s RetryingStable) store(write func() error) error {
	for told := false; ; told = true {
		err := s.Disk.Try(write)
		if err == nil {
			return nil
		}
		if !LacksSpace(err) {
			if s.Disk.running.Load() {
				<-s.Disk.Ctx.Done()
			}
			return nil
		}
		if !told {
			s.Disk.Log.Error("no room for the vote, which waits", "err", err)
		}
		if !s.Disk.waitForSpace() {
			return nil
		}
	}
}
