package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
)

// machine is what raft drives: it gives committed records to the state and the outcomes to those who wait.
// raft calls Apply, Snapshot and Restore from one goroutine; the follow task feeds the index and the subscribers.
type machine struct {
	state  *oplog.State
	index  *index.Index // set before follow runs
	feed   *feed
	access *access.Control
	log    *slog.Logger

	applied mark // the state holds everything up to here
	indexed mark // and so does the index
	queue   chan followed
	waiting atomic.Int64  // bytes in queue
	taken   chan struct{} // holds a token when waiting has shrunk

	disk *disk.Space
	stop chan struct{} // closed when the node stops

	behind bool          // Apply has let records pass, because the node stops; of the goroutine that applies
	fail   func(error)   // has the node stopped
	slow   time.Duration // a batch that takes as long to apply is logged; never when it is not positive

	lead atomic.Uint64 // the leader's node id; 0 for none
	self uint32
	ours atomic.Bool // this node leads and has applied its term's barrier
}

// followed is a step for the follow task: outcomes, or a restored state.
type followed struct {
	upTo     oplog.Index
	outcomes []oplog.Outcome
	size     int // of their records
	restored bool
}

// How far the index may fall behind before Apply waits for it: in batches, and in bytes of their records.
const (
	followQueue = 1024
	followBytes = 16 << 20
)

func newMachine(self uint32, slow time.Duration, state *oplog.State, f *feed, who *access.Control, space *disk.Space, log *slog.Logger) *machine {
	m := &machine{slow: slow, disk: space, stop: make(chan struct{}), state: state, feed: f, access: who, log: log, queue: make(chan followed, followQueue), taken: make(chan struct{}, 1), self: self}
	applied, _ := state.Applied()
	m.applied.set(applied)
	return m
}

// Apply implements raft.StateMachine. An error of the state stops the node: one that cannot apply what the cluster has
// agreed on must not go on answering. A disk without room is waited for.
func (m *machine) Apply(batch []raft.Record) []any {
	records := make([]oplog.Record, len(batch))
	for i, r := range batch {
		records[i] = oplog.Record{Index: oplog.Index(r.Index), Term: oplog.Index(r.Term), Data: r.Data}
	}
	results := make([]any, len(batch))
	select {
	case <-m.stop: // what came before was perhaps not applied
		m.behind = true
		return results
	default:
	}
	for done := 0; done < len(records); {
		n, size := nextBatch(records[done:])
		if !m.applyBatch(records[done:done+n], size, results[done:done+n]) {
			m.behind = true
			return results
		}
		done += n
	}
	return results
}

// batchBytes bounds the records that are applied in one transaction, and decoded at once for it, by what they have when they are taken
// apart. Raft gives hundreds at a time to a node that catches up, each perhaps an import of megabytes.
const batchBytes = 8 << 20

// nextBatch is how many of the records are applied together, one at least, and how large they are.
func nextBatch(records []oplog.Record) (n, size int) {
	for _, r := range records {
		more := oplog.RecordSize(r.Data)
		if n > 0 && size+more > batchBytes {
			break
		}
		n, size = n+1, size+more
	}
	return n, size
}

// applyBatch applies records in one transaction; ok is false when the node stops first. Those who wait get what became of their entries,
// without the entries: they have them, and raft keeps the results of all that it gave at once.
func (m *machine) applyBatch(records []oplog.Record, size int, results []any) (ok bool) {
	start := time.Now()
	outcomes, ok := m.applyPatiently(records)
	if !ok {
		return false
	}
	last := records[len(records)-1].Index
	m.slowApply(start, len(records), len(outcomes), last)
	at := 0
	for i, r := range records {
		var answers []oplog.Outcome
		for ; at < len(outcomes) && outcomes[at].Index == r.Index; at++ {
			o := outcomes[at]
			o.Entry = nil
			answers = append(answers, o)
		}
		results[i] = answers
	}
	m.applied.set(last)
	m.hand(followed{upTo: last, outcomes: outcomes, size: size})
	return true
}

// Applied implements raft.StateMachine.
func (m *machine) Applied() (index, term uint64) {
	i, t := m.state.Applied()
	return uint64(i), uint64(t)
}

var errBehind = errors.New("the state lacks records that raft takes for applied")

// Snapshot implements raft.StateMachine. Raft labels it with the last record it gave to Apply, so a state that has let one
// pass gives none: who restored it would never see that record.
func (m *machine) Snapshot() (raft.Snapshot, error) {
	if m.behind {
		return nil, errBehind
	}
	s, err := m.state.Snapshot()
	if err != nil {
		return nil, err
	}
	s.Progress = m.progress("writing snapshot")
	return s, nil
}

func (m *machine) progress(what string) func(done, total int64) {
	return func(done, total int64) { m.log.Info(what, "bytes", done, "of", total) }
}

// Restore implements raft.StateMachine. An error of the state, and not of the snapshot, stops the node, as in Apply: raft
// would send it again for ever.
func (m *machine) Restore(r io.Reader) error {
	taken, err := m.state.CatchUp(r, m.progress("restoring snapshot"))
	if err != nil {
		if !errors.Is(err, oplog.ErrSnapshot) && !m.disk.Caused(err) {
			m.log.Error("cannot restore, this node stops", "err", err)
			m.fail(fmt.Errorf("cannot restore a snapshot: %w", err))
		}
		return err
	}
	at, _ := m.state.Applied()
	if !taken {
		m.log.Info("the state holds what the snapshot does", "index", at)
		return nil
	}
	m.applied.set(at)
	m.hand(followed{upTo: at, restored: true})
	return nil
}

// hand gives the follow task its next step; while the index is far behind, the log waits for it. It is called by one goroutine.
func (m *machine) hand(f followed) {
	for n := m.waiting.Load(); n > 0 && n+int64(f.size) > followBytes; n = m.waiting.Load() {
		select {
		case <-m.taken:
		case <-m.stop:
			return
		}
	}
	m.waiting.Add(int64(f.size))
	select {
	case m.queue <- f:
	case <-m.stop:
	}
}

// follow is the task that keeps the index and the subscribers up to date.
func (m *machine) follow(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f := <-m.queue:
			for err := m.step(ctx, f); err != nil; err = m.step(ctx, followed{upTo: f.upTo, outcomes: f.outcomes, size: f.size, restored: true}) {
				if !m.disk.Caused(err) || !m.disk.Wait(ctx.Done()) {
					return err
				}
				m.log.Warn("the index waits for room", "index", f.upTo, "err", err) // and is made anew, for what it took is not known
			}
			m.waiting.Add(-int64(f.size))
			select {
			case m.taken <- struct{}{}:
			default:
			}
		}
	}
}

func (m *machine) step(ctx context.Context, f followed) error {
	if f.restored {
		if _, err := m.index.Rebuild(ctx); err != nil {
			return err
		}
		m.access.Reload()
	} else if err := m.index.Follow(ctx, f.outcomes); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	m.access.Follow(f.outcomes)
	m.indexed.set(f.upTo)
	if f.restored {
		m.feed.skip()
	}
	m.feed.publish(f.outcomes, f.size)
	return nil
}

// leads says whether this node may write: it leads, and has applied all that came before its term.
func (m *machine) leads() bool { return m.ours.Load() }

// leader is who leads, as far as this node knows.
func (m *machine) leader() (uint32, bool) {
	id := uint32(m.lead.Load())
	return id, id != 0
}

// applyPatiently applies a batch, and waits while the disk has no room: it is agreed on, so it will be applied. ok is
// false when the node stops first, for whatever reason; the log brings the batch again at the next start.
func (m *machine) applyPatiently(records []oplog.Record) (out []oplog.Outcome, ok bool) {
	for waited := false; ; waited = true {
		out, err := m.state.Apply(records)
		if err == nil {
			if waited {
				m.log.Info("disk has room again, applied what waited", "index", records[len(records)-1].Index)
			}
			return out, true
		}
		if !m.disk.Caused(err) {
			m.log.Error("cannot apply, this node stops", "index", records[0].Index, "err", err)
			m.fail(fmt.Errorf("cannot apply record %d and those behind it: %w", records[0].Index, err))
			<-m.stop
			return nil, false
		}
		if !waited {
			m.log.Error("disk full, what is agreed on waits", "index", records[0].Index, "err", err)
		}
		if !m.disk.Wait(m.stop) {
			return nil, false
		}
	}
}
