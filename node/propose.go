package node

import (
	"context"

	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
)

// The proposer joins entries that arrive while records are under way into the next record: a lone write
// goes at once, a crowd shares the fsyncs. Records are proposed in the order in which they were stamped,
// so HLC order is log order.
const (
	maxRecordEntries = 1024
	maxRecordBytes   = 4 << 20
	recordsInFlight  = 2
	proposalQueue    = 4096 // entries waiting; more are refused as unavailable
)

// A proposal is an entry body on its way into the log.
type proposal struct {
	body []byte
	done chan decided // has room for the answer: the proposer never waits for a proposer's client
}

// decided is what became of a proposal.
type decided struct {
	outcome oplog.Outcome
	err     error
}

type proposer struct {
	raft  *raft.Node
	clock *oplog.Clock
	queue chan proposal
	slots chan struct{} // one is taken by each record under way
	held  *proposal     // had no room in the last record and begins the next; run's alone
	disk  *disk.Space
}

func newProposer(r *raft.Node, clock *oplog.Clock, space *disk.Space) *proposer {
	return &proposer{disk: space, raft: r, clock: clock, queue: make(chan proposal, proposalQueue), slots: make(chan struct{}, recordsInFlight)}
}

// propose takes a body into the log on the leader and waits for what became of it. When ctx ends first the outcome is unknown.
func (p *proposer) propose(ctx context.Context, body []byte) (oplog.Outcome, error) {
	if err := p.disk.Refusal(); err != nil {
		return oplog.Outcome{}, err
	}
	pr := proposal{body: body, done: make(chan decided, 1)}
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

// load is the entries that go into one record.
type load struct {
	proposals []proposal
	size      int
}

func (l *load) take(pr proposal) {
	l.proposals = append(l.proposals, pr)
	l.size += len(pr.body)
}

func (l *load) full() bool { return len(l.proposals) >= maxRecordEntries || l.size >= maxRecordBytes }

// run is the proposer's task.
func (p *proposer) run(ctx context.Context) error {
	for {
		var l load
		if !p.begin(ctx, &l) {
			return p.drain(ctx)
		}
		select {
		case <-ctx.Done():
			fail(l.proposals, errStopping)
			return p.drain(ctx)
		case p.slots <- struct{}{}:
		}
		p.gather(&l)
		bodies := make([][]byte, len(l.proposals))
		for i, pr := range l.proposals {
			bodies[i] = pr.body
		}
		rec := oplog.EncodeRecord(p.clock.Next(len(bodies)), bodies...)
		f := p.raft.Propose(ctx, rec)
		go func() { // ends with the proposal: raft answers every one, at the latest when it closes
			settle(f, l.proposals)
			<-p.slots
		}()
	}
}

var errStopping = &oplog.Error{Kind: oplog.Unavailable, Text: "the node is stopping"}

func (p *proposer) drain(ctx context.Context) error {
	if p.held != nil {
		p.held.done <- decided{err: errStopping}
	}
	for {
		select {
		case pr := <-p.queue:
			pr.done <- decided{err: errStopping}
		default:
			return ctx.Err()
		}
	}
}

// begin waits for a record's first entry; false when ctx has ended.
func (p *proposer) begin(ctx context.Context, l *load) bool {
	if p.held != nil {
		l.take(*p.held)
		p.held = nil
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case first := <-p.queue:
		l.take(first)
		return true
	}
}

// gather takes what waits already, as far as it fits: a record that is too long for a frame would never reach a follower.
func (p *proposer) gather(l *load) {
	for !l.full() {
		select {
		case pr := <-p.queue:
			if l.size+len(pr.body) > maxRecordBytes {
				p.held = &pr
				return
			}
			l.take(pr)
		default:
			return
		}
	}
}

func fail(batch []proposal, err error) {
	for _, pr := range batch {
		pr.done <- decided{err: err}
	}
}
