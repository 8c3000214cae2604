package commit

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

// machine implements the state machine that raft drives: it gives committed records to the state and their outcomes to
// the goroutines that wait. raft calls Apply, Snapshot and Restore from one goroutine; the follow task feeds the index
// and the subscribers.
type machine struct {
	checkpoints
	opts  Options
	index *index.Index // set before followApplied runs
	feed  *feed

	applied     watermark // the state holds the log up to here
	indexed     watermark // and so does the index
	queue       chan step
	queuedBytes atomic.Int64  // bytes in queue
	queueShrunk chan struct{} // holds a token when waiting has shrunk

	applyTime atomic.Int64 // see Log.Busy, as is following
	indexTime atomic.Int64

	sums              sums
	leader            func() (id uint32, known bool) // who sends snapshots
	rejectedSnapshots atomic.Uint64                  // snapshots whose rows were not what their sender summed

	stop       chan struct{} // closed when the node stops
	incomplete bool          // the node stops and Apply has applied not all that raft gave; only raft's goroutine uses it
}

func newMachine(o Options) *machine {
	m := &machine{checkpoints: checkpoints{o.State}, opts: o, feed: newFeed(), queue: make(chan step, followQueue),
		queueShrunk: make(chan struct{}, 1), stop: make(chan struct{})}
	applied, _ := o.State.Applied()
	m.applied.advance(applied)
	m.sums.note(o.State)
	return m
}

// sums holds the hashes of the state after the last batches. Members are seldom at the same index at the same moment,
// but mostly have been at the same indexes, so several hashes are kept for comparison.
type sums struct {
	mu   sync.Mutex
	last []raft.StateSum
}

// keptSums bounds how many sums are kept: those of a few seconds of work.
const keptSums = 256

func (k *sums) note(s *state.State) {
	k.mu.Lock()
	defer k.mu.Unlock()
	index, sum := s.Sum()
	now := raft.StateSum{Index: uint64(index), Sum: sum}
	switch n := len(k.last); {
	case n > 0 && k.last[n-1].Index == now.Index:
		k.last[n-1] = now
		return
	case n == keptSums:
		k.last = append(k.last[:0], k.last[keptSums/2:]...)
	}
	k.last = append(k.last, now)
}

// forget drops the sums of a state that a snapshot has replaced.
func (k *sums) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = k.last[:0]
}

// Sums implements raft.StateMachine. The newest is the state's own.
func (m *machine) Sums() []raft.StateSum {
	m.sums.note(m.opts.State)
	m.sums.mu.Lock()
	defer m.sums.mu.Unlock()
	return slices.Clone(m.sums.last)
}

// Apply implements raft.StateMachine. An error of the state stops the node: one that cannot apply what the cluster has
// committed must not go on answering. A full disk is waited for.
func (m *machine) Apply(batch []raft.Record) []any {
	results := make([]any, len(batch))
	select {
	case <-m.stop: // a batch before this one may not have been applied
		m.incomplete = true
		return results
	default:
	}
	records := toRecords(batch)
	for done := 0; done < len(records); {
		n, size := nextBatch(records[done:])
		if !m.applyBatch(records[done:done+n], size, results[done:done+n]) {
			m.incomplete = true
			return results
		}
		done += n
	}
	return results
}

// batchBytes bounds the records that are applied in one transaction, and decoded at once for it, by their decoded size.
// Raft gives hundreds at a time to a node that catches up, each perhaps an import of megabytes.
const batchBytes = 8 << 20

// nextBatch returns how many of the records to apply together, at least one, and their size in bytes.
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

// applyBatch applies records in one transaction; ok is false when the node stops first. The results are outcomes
// without their entries and memories: the proposers have those, and raft keeps the results of all that it gave at once.
func (m *machine) applyBatch(records []oplog.Record, size int, results []any) (ok bool) {
	start := time.Now()
	outcomes, ok := m.applyRetrying(records)
	if !ok {
		return false
	}
	last := records[len(records)-1].Index
	if took := time.Since(start); m.opts.Slow > 0 && took >= m.opts.Slow {
		m.opts.Logger.Warn("slow apply", "records", len(records), "entries", len(outcomes), "index", last,
			"took", took.Round(time.Millisecond))
	}
	at := 0
	for i, r := range records {
		var answers []oplog.Outcome
		for ; at < len(outcomes) && outcomes[at].Index == r.Index; at++ {
			o := outcomes[at]
			o.Entry, o.Stored = nil, nil
			answers = append(answers, o)
		}
		results[i] = answers
	}
	m.sums.note(m.opts.State)
	m.applied.advance(last)
	m.enqueue(step{upTo: last, outcomes: outcomes, size: size})
	return true
}

// applyRetrying applies a batch, again and again while the disk is full: the batch is committed, so it must be applied.
// ok is false when the node stops first; raft brings the batch again at the next start.
func (m *machine) applyRetrying(records []oplog.Record) (out []oplog.Outcome, ok bool) {
	for waited := false; ; waited = true {
		start := time.Now()
		out, err := m.opts.State.Apply(records)
		m.applyTime.Add(int64(time.Since(start)))
		if err == nil {
			if waited {
				m.opts.Logger.Info("disk has room again, applied what waited", "index", records[len(records)-1].Index)
			}
			return out, true
		}
		if !m.opts.Disk.Caused(err) {
			m.opts.Logger.Error("cannot apply, this node stops", "index", records[0].Index, "err", err)
			if !errors.Is(err, state.ErrDisk) { // records that cannot be applied are looked for; of a disk nothing but its failure is said
				err = &UnappliedError{Index: firstUnreadable(records), Err: err}
			}
			m.opts.Fail(err)
			<-m.stop
			return nil, false
		}
		if !waited {
			m.opts.Logger.Error("disk full, committed records wait", "index", records[0].Index, "err", err)
		}
		if !m.opts.Disk.Wait(m.stop) {
			return nil, false
		}
	}
}

// An UnappliedError is a committed record that this node cannot apply.
type UnappliedError struct {
	Index oplog.Index
	Err   error
}

func (e *UnappliedError) Error() string {
	return fmt.Sprintf("cannot apply record %d and those behind it: %v", e.Index, e.Err)
}

func (e *UnappliedError) Unwrap() error { return e.Err }

// firstUnreadable returns the first record that cannot be decoded, or else the first record.
func firstUnreadable(records []oplog.Record) oplog.Index {
	for _, r := range records {
		if CheckRecord(r.Data) != nil {
			return r.Index
		}
	}
	return records[0].Index
}

// Applied implements raft.StateMachine.
func (m *machine) Applied() (index, term uint64) { return appliedPosition(m.opts.State) }

var errIncomplete = errors.New("no snapshot: the state lacks records that raft counts as applied")

// Snapshot implements raft.StateMachine. Raft labels a snapshot with the last record it gave to Apply, so a state that
// lacks one gives none: a node that restored it would never see that record.
func (m *machine) Snapshot() (raft.Snapshot, error) {
	if m.incomplete {
		return nil, errIncomplete
	}
	return m.checkpoints.Snapshot()
}

func (m *machine) progress(what string) func(done, total int64) {
	return func(done, total int64) { m.opts.Logger.Info(what, "bytes", done, "of", total) }
}

// Restore implements raft.StateMachine. An error of the state, and not of the snapshot, stops the node, as in Apply:
// raft would send the snapshot again for ever.
func (m *machine) Restore(r io.Reader) error {
	taken, err := m.opts.State.CatchUp(r, m.progress("restoring snapshot"))
	if err != nil {
		if errors.Is(err, state.ErrNotSummed) {
			m.rejectedSnapshots.Add(1)
			from, _ := m.leader()
			m.opts.Logger.Error("the leader's snapshot is refused: its rows are not what the leader summed", "leader", from, "err", err)
		}
		if !errors.Is(err, snapshot.ErrUnreadable) && !m.opts.Disk.Caused(err) {
			m.opts.Logger.Error("cannot restore, this node stops", "err", err)
			m.opts.Fail(fmt.Errorf("cannot restore a snapshot: %w", err))
		}
		return err
	}
	at, _ := m.opts.State.Applied()
	if !taken {
		m.opts.Logger.Info("snapshot not needed, the state has its records already", "index", at)
		return nil
	}
	m.sums.forget()
	m.applied.advance(at)
	m.enqueue(step{upTo: at, restored: true})
	return nil
}
