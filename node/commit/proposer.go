package commit

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
)

// Group commit: the proposer joins entries that arrive while records are under way into the next record. A lone entry
// goes at once, many at a time share the fsyncs. Records are proposed in the order in which they were stamped, so HLC
// order is log order.
const (
	maxRecordEntries = 1024
	maxRecordBytes   = 4 << 20
	recordsInFlight  = 2
	proposalQueue    = 4096 // entries waiting; more are rejected as unavailable
)

// A proposal is an entry body on its way into the log.
type proposal struct {
	body []byte
	done chan proposalResult // has room for the answer, so the proposer never waits for the goroutine that proposed
}

// A proposalResult holds the result of a proposal: its outcome, or an error.
type proposalResult struct {
	outcome oplog.Outcome
	err     error
}

type proposer struct {
	raft     *raft.Node
	clock    *oplog.Clock
	disk     *disk.Space
	queue    chan proposal
	slots    chan struct{} // one is taken by each record under way
	leftOver *proposal     // did not fit the last record and begins the next; only run uses it
	ended    chan struct{} // closed when run takes no more entries from queue
}

func newProposer(r *raft.Node, clock *oplog.Clock, space *disk.Space) *proposer {
	return &proposer{raft: r, clock: clock, disk: space, queue: make(chan proposal, proposalQueue),
		slots: make(chan struct{}, recordsInFlight), ended: make(chan struct{})}
}

// propose writes a body to the log on the leader and waits for its outcome. If ctx ends first, the outcome is
// unknown.
func (p *proposer) propose(ctx context.Context, body []byte) (oplog.Outcome, error) {
	if err := p.disk.Refusal(); err != nil {
		return oplog.Outcome{}, err
	}
	pr := proposal{body: body, done: make(chan proposalResult, 1)}
	select {
	case p.queue <- pr:
	default:
		return oplog.Outcome{}, oplog.Errorf(oplog.Unavailable, "the write queue is full; retry")
	}
	for ended := p.ended; ; ended = nil {
		select {
		case d := <-pr.done:
			return d.outcome, d.err
		case <-ended:
			p.rejectQueued() // run may have emptied the queue before; if a record has this entry, its outcome comes
		case <-ctx.Done():
			return oplog.Outcome{}, unknownOutcome(ctx.Err())
		}
	}
}

// run is the proposer's task.
func (p *proposer) run(ctx context.Context) error {
	defer p.end()
	for {
		batch := p.awaitFirst(ctx)
		if batch == nil {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			rejectAll(batch, api.ErrStopping)
			return ctx.Err()
		case p.slots <- struct{}{}:
		}
		batch = p.gather(batch)
		bodies := make([][]byte, len(batch))
		for i, pr := range batch {
			bodies[i] = pr.body
		}
		f := p.raft.Propose(ctx, oplog.EncodeRecord(p.clock.Next(len(bodies)), bodies...))
		go func() { // ends with the record: raft answers every one, at the latest when it closes
			deliverOutcomes(f, batch)
			<-p.slots
		}()
	}
}

// awaitFirst waits for a record's first entry; nil when ctx has ended.
func (p *proposer) awaitFirst(ctx context.Context) []proposal {
	if pr := p.leftOver; pr != nil {
		p.leftOver = nil
		return []proposal{*pr}
	}
	select {
	case <-ctx.Done():
		return nil
	case pr := <-p.queue:
		return []proposal{pr}
	}
}

// gather adds the entries that wait already to a record's first, as far as they fit: a record that is too long for a
// frame would never reach a follower.
func (p *proposer) gather(batch []proposal) []proposal {
	for size := len(batch[0].body); len(batch) < maxRecordEntries && size < maxRecordBytes; {
		select {
		case pr := <-p.queue:
			if size += len(pr.body); size > maxRecordBytes {
				p.leftOver = &pr
				return batch
			}
			batch = append(batch, pr)
		default:
			return batch
		}
	}
	return batch
}

// end rejects the entries that no record has, because the node stops.
func (p *proposer) end() {
	if p.leftOver != nil {
		rejectAll([]proposal{*p.leftOver}, api.ErrStopping)
	}
	close(p.ended)
	p.rejectQueued()
}

func (p *proposer) rejectQueued() {
	for {
		select {
		case pr := <-p.queue:
			rejectAll([]proposal{pr}, api.ErrStopping)
		default:
			return
		}
	}
}
