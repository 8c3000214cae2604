package logstore

import hraft "github.com/hashicorp/raft"

// RetryingStable is where the library keeps its term and its vote. The library panics when one of them cannot be stored; a disk
// without room gets it back sooner or later, so this waits instead, and the member stays silent as if it were cut off. Records of
// the log are not waited for: the library passes their refusal on. A disk that has failed in another way is waited for until the
// member stops, which it is told to do; one that only starts does not wait.
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

// store repeats a write while there is no room. When the member stops meanwhile it gives up, and says that it succeeded: by
// then every connection is closed, so no other member hears of a vote that is not on disk.
func (s RetryingStable) store(write func() error) error {
	for told := false; ; told = true {
		err := s.Disk.Try(write)
		if err == nil {
			return nil
		}
		if !LacksRoom(err) {
			if s.Disk.running.Load() {
				<-s.Disk.Ctx.Done()
			}
			return nil
		}
		if !told {
			s.Disk.Log.Error("disk full, the vote waits for room", "err", err)
		}
		if !s.Disk.waits() {
			return nil
		}
	}
}
