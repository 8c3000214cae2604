package logstore

import hraft "github.com/hashicorp/raft"

// A leader's disk takes a record while the record is on its way to the others, so a write waits for the slower of two disks
// and not for one after the other. StoreLogs returns, on a leader, when the records are written; they are synced meanwhile. The
// library counts them as the leader's at once, and may take them for committed when only one other disk has them. So nothing
// that rests on them may be seen before the leader's own disk has them:
//
//   - the state is given no record, and no client an answer, before (WaitSynced);
//   - followers are told of no commit that reaches so far (CapSynced);
//   - a leader that was deposed does not say that it has them (WaitSynced).
//
// What a crash takes from the leader's disk then is a record that no member knows to be committed, and the members that are
// left may keep it or not. Records that are not commands, which the library acts on by itself, are synced first.

// unsynced is a sync under way. The next records are written when it is over.
type unsynced struct {
	first uint64        // of the records that are being synced
	done  chan struct{} // closed when the disk has them, or has failed
	err   error         // which of the two; known when it is done
}

// over says whether the disk has the records.
func (u *unsynced) over() bool {
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

// wait returns when the disk has the records.
func (u *unsynced) wait() error {
	if u == nil {
		return nil
	}
	<-u.done
	return u.err
}

// mayReturnEarly says whether records need not be on this disk before they are sent.
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

// syncBeside syncs what was written while its caller goes on. The next task that has the turn waits for it.
func (s *Store) syncBeside(g *segment, first uint64) {
	u := &unsynced{first: first, done: make(chan struct{})}
	s.last.Store(u)
	go func() { // ends with the sync, which Close waits for
		defer close(u.done)
		if u.err = s.sync(g); u.err != nil && s.o.Failed != nil {
			s.o.Failed(u.err)
		}
	}()
}

// WaitSynced returns when this disk has the log's records up to one.
func (s *Store) WaitSynced(index uint64) error {
	if u := s.last.Load(); u != nil && u.first <= index {
		return u.wait()
	}
	return nil
}

// CapSynced is the index, or, when this disk is still writing the record at it, the last record that the disk has.
func (s *Store) CapSynced(index uint64) uint64 {
	if u := s.last.Load(); u != nil && u.first <= index && !u.over() {
		return u.first - 1
	}
	return index
}

// Synced says whether this disk has all records.
func (s *Store) Synced() bool { return s.last.Load().over() }
