package commit

import (
	"context"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// retryPause is the time before an entry is sent to the leader again, unless leadership changes meanwhile.
const retryPause = 100 * time.Millisecond

// awaitChange waits for leadership to change, or for retryPause.
func awaitChange(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
	case <-time.After(retryPause):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// watchLeadership is the task that follows leadership. A new leader's clock observes the log's newest time before the
// leader stamps anything. The task never waits for a write: one may wait for this node to know that it leads.
func (l *Log) watchLeadership(ctx context.Context) error {
	for {
		changed := l.raft.Changed()
		id, _, ok := l.raft.Leader()
		if !ok {
			id = 0
		}
		l.leader.Store(uint64(id))
		leads := l.raft.IsLeader()
		if leads && !l.leads.Load() {
			l.clock.Observe(l.opts.State.Last())
		}
		l.leads.Store(leads)
		l.opts.OnLeadership(leads)
		select {
		case <-changed:
		case <-time.After(l.opts.Heartbeat):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Leads reports whether this node takes writes: it leads, and has applied all that came before its term.
func (l *Log) Leads() bool { return l.leads.Load() }

// Leader returns the leader that this node knows.
func (l *Log) Leader() (id uint32, known bool) {
	id = uint32(l.leader.Load())
	return id, id != 0
}

// NotLeader returns the error of a follower that must not write. It names the leader, if one is known.
func (l *Log) NotLeader() error {
	if id, ok := l.Leader(); ok {
		return oplog.Errorf(oplog.NotLeader, "not the leader (current leader: node %d)", id)
	}
	return l.NoLeader()
}

// NoLeader returns the rejection of a write while no leader is known. It is an api.ErrNoLeader also when it says that
// there can be none, so every surface answers what sends its clients to another node.
func (l *Log) NoLeader() error {
	if why, until := l.opts.NoQuorum(); why != "" {
		text := why + ": writes are accepted " + until + "; reads go on"
		return &oplog.Error{Kind: oplog.Unavailable, Text: text, Err: api.ErrNoLeader}
	}
	return api.ErrNoLeader
}
