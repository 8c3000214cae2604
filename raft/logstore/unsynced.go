package logstore

import (
	"time"

	hraft "github.com/hashicorp/raft"
)

// A leader's disk syncs a record while the record travels to the followers, so a write waits for the slower of two
// disks and not for one after the other. On a leader StoreLogs returns when the records are written, and syncs them
// in the background. The library counts them as the leader's at once, and may commit them when only one other disk
// has them. So nothing that depends on them may be visible before the leader's own disk has them:
//
//   - the state gets no such record, and no client an answer, before the sync (WaitSynced);
//   - the leader reports no commit index that includes unsynced records (CapSynced);
//   - a deposed leader does not claim to have the records before the sync (WaitSynced).
//
// So a crash of the leader loses only records that no member knows to be committed, and the remaining members may
// keep or drop them. Records that are not commands are synced before StoreLogs returns, because the library acts on
// them by itself.

// An unsyncedAppend is an append whose sync runs in the background. The next append waits for it.
type unsyncedAppend struct {
	first uint64        // first record of the append
	done  chan struct{} // closed when the sync has ended or failed
	err   error         // set before done is closed; nil if the sync succeeded
}

// synced reports whether the records are on disk.
func (u *unsyncedAppend) synced() bool {
	if u == nil {
		return true
	}
	select {
	case <-u.done:
		return u.err == nil
	default:
		return false
	}
}

// wait returns when the records are on disk, or the sync has failed.
func (u *unsyncedAppend) wait() error {
	if u == nil {
		return nil
	}
	<-u.done
	return u.err
}

// mayReturnEarly reports whether StoreLogs may return before the records are on disk: only on a leader, and only for
// commands.
func (s *Store) mayReturnEarly(logs []*hraft.Log) bool {
	if s.o.Leads == nil || !s.o.Leads() {
		return false
	}
	for _, l := range logs {
		if l.Type != hraft.LogCommand {
			return false
		}
	}
	return true
}

// syncInBackground syncs the written records while its caller goes on. The next writer waits for it.
func (s *Store) syncInBackground(g *segment, first uint64) {
	u := &unsyncedAppend{first: first, done: make(chan struct{})}
	s.pendingSync.Store(u)
	go func() { // ends with the sync, which Close waits for
		defer close(u.done)
		defer s.addBusy(time.Now())
		if u.err = s.sync(g); u.err != nil && s.o.Failed != nil {
			s.o.Failed(u.err)
		}
	}()
}

// WaitSynced returns when this disk has the log's records up to index.
func (s *Store) WaitSynced(index uint64) error {
	if u := s.pendingSync.Load(); u != nil && u.first <= index {
		return u.wait()
	}
	return nil
}

// CapSynced returns index, or the last synced record if the record at index is still being synced.
func (s *Store) CapSynced(index uint64) uint64 {
	if u := s.pendingSync.Load(); u != nil && u.first <= index && !u.synced() {
		return u.first - 1
	}
	return index
}

// Synced reports whether this disk has every record.
func (s *Store) Synced() bool { return s.pendingSync.Load().synced() }
