package commit

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
)

// Group commit: the proposer joins entries that arrive while records are under way into the next record. A lone entry goes at
// once, many at a time share the fsyncs. Records are proposed in the order in which they were stamped, so HLC order is log order.
const (
	maxRecordEntries = 1024
	maxRecordBytes   = 4 << 20
	recordsInFlight  = 2
	proposalQueue    = 4096 // entries waiting; more are refused as unavailable
)

// A proposal is an entry body on its way into the log.
type proposal struct {
	body []byte
	done chan decision // has room for the answer, so the proposer never waits for the goroutine that proposed
}

// A decision is what became of a proposal.
type decision struct {
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
}

func newProposer(r *raft.Node, clock *oplog.Clock, space *disk.Space) *proposer {
	return &proposer{raft: r, clock: clock, disk: space, queue: make(chan proposal, proposalQueue), slots: make(chan struct{}, recordsInFlight)}
}

// propose takes a body into the log on the leader and waits for what became of it. When ctx ends first the outcome is unknown.
func (p *proposer) propose(ctx context.Context, body []byte) (oplog.Outcome, error) {
	if err := p.disk.Refusal(); err != nil {
		return oplog.Outcome{}, err
	}
	pr := proposal{body: body, done: make(chan decision, 1)}
	select {
	case p.queue <- pr:
	default:
		return oplog.Outcome{}, oplog.Errorf(oplog.Unavailable, "the write queue is full; retry")
	}
	select {
	case d := <-pr.done:
		return d.outcome, d.err
	case <-ctx.Done():
		return oplog.Outcome{}, unknown(ctx.Err())
	}
}

// batch is the entries of one record.
type batch struct {
	proposals []proposal
	size      int
}

func (b *batch) add(pr proposal) {
	b.proposals = append(b.proposals, pr)
	b.size += len(pr.body)
}

func (b *batch) full() bool {
	return len(b.proposals) >= maxRecordEntries || b.size >= maxRecordBytes
}

// run is the proposer's task.
func (p *proposer) run(ctx context.Context) error {
	for {
		var b batch
		if !p.begin(ctx, &b) {
			return p.refuseQueued(ctx)
		}
		select {
		case <-ctx.Done():
			refuse(b.proposals, api.ErrStopping)
			return p.refuseQueued(ctx)
		case p.slots <- struct{}{}:
		}
		p.gather(&b)
		bodies := make([][]byte, len(b.proposals))
		for i, pr := range b.proposals {
			bodies[i] = pr.body
		}
		f := p.raft.Propose(ctx, oplog.EncodeRecord(p.clock.Next(len(bodies)), bodies...))
		go func() { // ends with the record: raft answers every one, at the latest when it closes
			deliverOutcomes(f, b.proposals)
			<-p.slots
		}()
	}
}

// begin waits for a record's first entry; false when ctx has ended.
func (p *proposer) begin(ctx context.Context, b *batch) bool {
	if p.leftOver != nil {
		b.add(*p.leftOver)
		p.leftOver = nil
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case first := <-p.queue:
		b.add(first)
		return true
	}
}

// gather adds the entries that wait already, as far as they fit: a record that is too long for a frame would never reach a follower.
func (p *proposer) gather(b *batch) {
	for !b.full() {
		select {
		case pr := <-p.queue:
			if b.size+len(pr.body) > maxRecordBytes {
				p.leftOver = &pr
				return
			}
			b.add(pr)
		default:
			return
		}
	}
}

// refuseQueued refuses the entries that no record has, because the node stops.
func (p *proposer) refuseQueued(ctx context.Context) error {
	if p.leftOver != nil {
		refuse([]proposal{*p.leftOver}, api.ErrStopping)
	}
	for {
		select {
		case pr := <-p.queue:
			refuse([]proposal{pr}, api.ErrStopping)
		default:
			return ctx.Err()
		}
	}
}
