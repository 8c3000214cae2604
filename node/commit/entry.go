package commit

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// forwardKeyTTL sets how long the key of a forwarded entry is kept: longer than the forwarder retries, and longer than
// a leader's clock is likely to be wrong by.
const forwardKeyTTL = oplog.Time(24 * time.Hour / time.Microsecond)

// Propose writes an entry of a caller of this node to the log and returns its outcome when the leader's state has
// applied it. A follower rejects it with NotLeader, unless it may forward it. An UnknownOutcome error means that the
// entry may be in the log; after every other error it is not.
func (l *Log) Propose(ctx context.Context, by wire.Asker, e oplog.Entry, forward bool) (oplog.Outcome, error) {
	if err := l.checkDecodable(e.Ops); err != nil {
		return oplog.Outcome{}, err
	}
	if l.Leads() && (!forward || e.Key == "") { // an entry with a key is sent again when leadership moves before its outcome is known
		o, err := l.enter(ctx, access.Asker{Asker: by, Node: l.opts.NodeID}, e)
		if !forward || !errors.Is(err, &oplog.Error{Kind: oplog.NotLeader}) {
			return o, err
		}
	}
	if !forward {
		return oplog.Outcome{}, l.NotLeader()
	}
	if e.Key == "" { // it may have to be sent twice
		e.Key, e.KeyTTL = oplog.ForwardKey+uuid.NewString(), forwardKeyTTL
	}
	return l.forward(ctx, by, e)
}

// enter puts an entry into the log, on the leader. Every entry goes through it.
//
// Invariant: nothing enters that may not be stored, whichever member sends it: every replica would carry it to reject
// it.
//
// Invariant: every member decodes every kind in the log, and what changes the cluster shares its entry with an audit
// row. While an upgrade is under way and some member does not decode audit rows, changes go on without them.
func (l *Log) enter(ctx context.Context, by access.Asker, e oplog.Entry) (oplog.Outcome, error) {
	for _, op := range e.Ops {
		if err := oplog.Check(op); err != nil {
			return oplog.Outcome{}, err
		}
	}
	kept, rows := l.opts.Audit(by, e.DB, e.Ops)
	e.Node, e.Ops = by.Node, kept
	if l.requireAllDecode(oplog.Newer(rows)) == nil {
		e.Ops = append(e.Ops, rows...)
	}
	if err := l.requireAllDecode(oplog.Newer(e.Ops)); err != nil {
		return oplog.Outcome{}, err
	}
	body, err := e.Encode()
	if err != nil {
		return oplog.Outcome{}, err
	}
	return l.proposer.propose(ctx, body)
}
