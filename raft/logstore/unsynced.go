package logstore

import (
	"time"

	hraft "github.com/hashicorp/raft"
)

// A leader's disk syncs a record while the record is on its way to the others, so a write waits for the slower of
// two disks and not for one after the other. StoreLogs returns, on a leader, when the records are written; they are
// synced meanwhile. The library counts them as the leader's at once, and may take them for committed when only one
// other disk has them. So nothing that rests on them may be seen before the leader's own disk has them:
//
//   - the state is given no record, and no client an answer, before (WaitSynced);
//   - followers are told of no commit that reaches so far (CapSynced);
//   - a leader that was deposed does not say that it has them (WaitSynced).
//
// So a crash takes from the leader's disk only records that no member knows to be committed, and the members that are
// left may keep them or not. Records that are not commands, which the library acts on by itself, are synced first.

// An unsyncedAppend is a sync in the background. The next append waits until it is done.
type unsyncedAppend struct {
	first uint64        // of the records that are being synced
	done  chan struct{} // closed when the disk has them, or has failed
	err   error         // set before done is closed; nil when the disk has them
}

// synced reports whether the disk has the records.
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

// wait returns when the disk has the records, or has failed.
func (u *unsyncedAppend) wait() error {
	if u == nil {
		return nil
	}
	<-u.done
	return u.err
}

// mayReturnEarly reports whether StoreLogs may return before the disk has the records: on a leader, and for commands
// only.
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

// syncInBackground syncs what was written while its caller goes on. The next writer waits for it.
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

// WaitSynced returns when this disk has the log's records up to one.
func (s *Store) WaitSynced(index uint64) error {
	if u := s.pendingSync.Load(); u != nil && u.first <= index {
		return u.wait()
	}
	return nil
}

// CapSynced is the index, or the last record that this disk has if it is still writing the one at index.
func (s *Store) CapSynced(index uint64) uint64 {
	if u := s.pendingSync.Load(); u != nil && u.first <= index && !u.synced() {
		return u.first - 1
	}
	return index
}

// Synced reports whether this disk has all records.
func (s *Store) Synced() bool { return s.pendingSync.Load().synced() }
