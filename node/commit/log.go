package commit

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

// Options configure a Log. All but Slow are required. The Log calls none of the functions before raft drives the
// state machine, and none of them may call back into the Log and wait there.
type Options struct {
	NodeID uint32
	State  *state.State
	Disk   *disk.Space
	Logger *slog.Logger

	Heartbeat    time.Duration // interval of the checks for leadership when raft reports no change
	ApplyTimeout time.Duration // bounds what another node's entry waits on this leader
	Slow         time.Duration // a batch that takes this long to apply is logged; 0 or less: none is

	// Audit splits an entry that enters the log into the operations that it keeps and the audit rows that the leader
	// adds.
	Audit func(by access.Asker, db oplog.DB, ops []oplog.Op) (kept, rows []oplog.Op)
	// Observe gets the applied outcomes before any waiter for their index continues; restored means that a snapshot
	// has replaced the state.
	Observe func(outcomes []oplog.Outcome, restored bool)
	// OnLeadership gets, at each check, whether this node accepts writes.
	OnLeadership func(leads bool)
	// NoQuorum returns why this node cannot hear from a leader, and when that ends; empty while it may.
	NoQuorum func() (why, until string)
	// Fail stops the node: it cannot apply what the cluster has committed.
	Fail func(error)
}

// Log brings entries into the replicated log of one node and makes their changes readable there. Its methods may be
// called from any goroutine.
type Log struct {
	opts     Options
	machine  *machine
	clock    *oplog.Clock
	opened   chan struct{} // closed by Start: raft and proposer are set
	raft     *raft.Node
	proposer *proposer

	leader    atomic.Uint64 // the leader's node id; 0 for none
	leads     atomic.Bool   // this node leads and has applied its term's barrier
	recovered atomic.Bool   // see Recovered; never reset

	startedEmpty bool // the state was empty when the node started

	kindsInLog [256]atomic.Bool // by kind: it is known to be in the log, and so for ever
}

// New returns the Log of a state. Raft is opened with its StateMachine, and then given to Start.
func New(o Options) *Log {
	l := &Log{opts: o, machine: newMachine(o), opened: make(chan struct{})}
	l.machine.leader = l.Leader
	l.startedEmpty = l.Applied() == 0
	l.clock = oplog.NewClock(o.NodeID, func() time.Time { return l.raft.Clock().Time })
	l.clock.Observe(o.State.Last())
	return l
}

// StateMachine returns the state machine that raft drives, from one goroutine.
func (l *Log) StateMachine() raft.StateMachine { return l.machine }

// SetIndex sets the index that follows the state, and the log index that it has reached. It is called once, before
// Start.
func (l *Log) SetIndex(x *index.Index, at oplog.Index) {
	l.machine.index = x
	l.machine.indexed.advance(at)
}

// Start makes the log accept entries, and starts its tasks, which end with their context.
func (l *Log) Start(r *raft.Node, spawn func(name string, task func(context.Context) error)) {
	l.raft = r
	l.proposer = newProposer(r, l.clock, l.opts.Disk)
	close(l.opened)
	spawn("follow", l.machine.followApplied)
	spawn("propose", l.proposer.run)
	spawn("lead", l.watchLeadership)
}

// Stop makes the state machine apply nothing more. It is called once, before raft is closed, because raft waits for
// Apply.
func (l *Log) Stop() { close(l.machine.stop) }

// IsOpen reports whether Start was called. A node that still opens its log answers stale reads and nothing else.
func (l *Log) IsOpen() bool {
	select {
	case <-l.opened:
		return true
	default:
		return false
	}
}

// Now returns the cluster's time as this node estimates it, from the members' clocks together. A node without other
// members, or whose log is not open yet, uses its own clock.
func (l *Log) Now() time.Time {
	if !l.IsOpen() {
		return time.Now()
	}
	r := l.raft.Clock()
	if r.Off && l.raft.Alone() {
		return r.Time.Add(r.Offset)
	}
	return r.Time
}

// Recovered reports whether this node has applied again everything that it had before its restart. Until then a
// lookup may miss an existing row.
func (l *Log) Recovered() bool {
	if !l.recovered.Load() && l.IsOpen() && l.raft.Replayed(uint64(l.Indexed())) {
		l.recovered.Store(true)
	}
	return l.recovered.Load()
}

// LacksState reports whether this node started without a state and has not received one yet: it knows nothing of what
// the cluster holds.
func (l *Log) LacksState() bool { return l.startedEmpty && !l.Recovered() }

// WaitOpen waits for Start: a node's ports listen earlier.
func (l *Log) WaitOpen(ctx context.Context) error {
	_, err := pause.Until(ctx, l.opened)
	return err
}

// Applied returns the log index that the state has applied.
func (l *Log) Applied() oplog.Index { return l.machine.applied.get() }

// Indexed returns the log index up to which the search index is complete: reads see the log up to here.
func (l *Log) Indexed() oplog.Index { return l.machine.indexed.get() }

// WaitApplied waits until the state holds the log up to an index.
func (l *Log) WaitApplied(ctx context.Context, i oplog.Index) error {
	return l.machine.applied.wait(ctx, i)
}

// WaitIndexed waits until reads see the log up to an index.
func (l *Log) WaitIndexed(ctx context.Context, i oplog.Index) error {
	return l.machine.indexed.wait(ctx, i)
}

// Subscribe returns a subscription to what is applied and readable from now on.
func (l *Log) Subscribe() *Subscription { return l.machine.feed.subscribe() }

// Subscribers returns the number of open subscriptions.
func (l *Log) Subscribers() int { return l.machine.feed.subscribers() }

// Queued returns how many entries wait to be proposed and how many applied batches wait for the index. Call it after
// Start.
func (l *Log) Queued() (proposals, batches int) { return len(l.proposer.queue), len(l.machine.queue) }

// Busy returns how long this node has been applying records and taking them into the index. It does one batch at a time
// of each, so a step that is busy for a second in each second limits how fast the node writes.
func (l *Log) Busy() (applying, indexing time.Duration) {
	return time.Duration(l.machine.applyTime.Load()), time.Duration(l.machine.indexTime.Load())
}

// RejectedSnapshots counts the leader's snapshots that this node rejected, because their rows do not match the
// leader's checksum.
func (l *Log) RejectedSnapshots() uint64 { return l.machine.rejectedSnapshots.Load() }
