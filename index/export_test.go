package index

import "time"

// CloseUnused closes every index that no search uses, as if it had not been used for long.
func CloseUnused(x *Index) { x.closeUnused(time.Now().Add(time.Hour)) }

// OpenNow is how many indexes are open.
func OpenNow(x *Index) int { return len(x.byUse()) }

// Checkpointed waits for the checkpoint that is being written.
func Checkpointed(x *Index) {
	x.following.Lock()
	defer x.following.Unlock()
	x.checkpoints.wait()
}

// Busy says that so many more searches are under way, which has each look for words and vectors one after the other.
func Busy(x *Index, more int32) { x.asking.Add(more) }
