package node

import (
	"context"
	"errors"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

// relayed is an outcome on its way back from the leader.
type relayed struct {
	Index    oplog.Index    `msgpack:"i"`
	Results  []oplog.Result `msgpack:"r,omitempty"`
	Err      *oplog.Error   `msgpack:"e,omitempty"` // a replicated refusal, or, without Index, the leader's own
	Replayed bool           `msgpack:"p,omitempty"`
}

// forward sends an entry to the leader, again while it surely was not taken, and when nobody knows whether it was:
// its key makes that safe. An error is a refusal only when no attempt can have been taken.
func (s *Service) forward(ctx context.Context, c api.Caller, e oplog.Entry) (oplog.Outcome, error) {
	body, err := e.Encode()
	if err != nil {
		return oplog.Outcome{}, err
	}
	sent := false // an attempt went out whose fate is not known
	for {
		changed, led := s.raft.Changed(), s.machine.leads()
		o, err := s.hand(ctx, c, e, body)
		var refusal *oplog.Error
		switch {
		case err == nil && o.Err != nil && sent: // what refused it may be gone when the attempt arrives
			return o, unknown(o.Err)
		case err == nil:
			return o, nil
		case errors.Is(err, raft.ErrNotLeader), errors.Is(err, ErrNoLeader), errors.Is(err, raft.ErrNoLeader),
			errors.Is(err, &oplog.Error{Kind: oplog.NotLeader}):
		case errors.As(err, &refusal) && refusal.Kind != oplog.UnknownOutcome:
			if sent {
				return o, unknown(err)
			}
			return o, err
		default:
			sent = true
		}
		if err := s.noLeader(); !sent && err != error(ErrNoLeader) {
			if _, known := s.machine.leader(); !known {
				return o, err
			}
		}
		if !led && s.machine.leads() {
			continue // leadership came here meanwhile
		}
		if err := pause(ctx, changed); err != nil {
			if sent {
				return o, unknown(err)
			}
			if err := s.disk.Refusal(); err != nil { // perhaps why nobody leads
				return o, err
			}
			return o, s.noLeader()
		}
	}
}

// hand gives an entry to the node that leads, once. body is the entry as it travels.
func (s *Service) hand(ctx context.Context, c api.Caller, e oplog.Entry, body []byte) (oplog.Outcome, error) {
	if s.machine.leads() {
		return s.enter(ctx, access.Asker{Asker: access.AskerOf(c), Node: s.cfg.NodeID}, e)
	}
	out, err := s.raft.Forward(ctx, wire.Forward{Entry: body, Asker: access.AskerOf(c)})
	if err != nil {
		return oplog.Outcome{}, err
	}
	var r relayed
	if err := msgpack.Unmarshal(out, &r); err != nil {
		return oplog.Outcome{}, unknown(err)
	}
	if r.Index == 0 && r.Err != nil {
		return oplog.Outcome{}, r.Err
	}
	return oplog.Outcome{Index: r.Index, Results: r.Results, Err: r.Err, Replayed: r.Replayed}, nil
}

func unknown(err error) error {
	return &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the write may or may not have happened", Err: err}
}

// Forward implements raft.Handler: the leader's end of forward.
func (s *Service) Forward(ctx context.Context, from uint32, m wire.Forward) ([]byte, error) {
	r := relayed{}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ApplyTimeout)
	defer cancel()
	if err := s.isOpen(ctx); err != nil {
		return nil, err
	}
	o, err := oplog.Outcome{}, s.notLeader()
	if s.machine.leads() {
		var e oplog.Entry
		if e, err = readEntry(m.Entry); err == nil {
			err = ownAddress(from, e)
		}
		if err == nil {
			o, err = s.enter(ctx, access.Asker{Asker: m.Asker, Node: from}, e)
		}
	}
	if err != nil {
		if !errors.As(err, &r.Err) {
			r.Err = &oplog.Error{Kind: oplog.Internal, Text: "internal error"}
		}
	} else {
		r.Index, r.Results, r.Err, r.Replayed = o.Index, o.Results, o.Err, o.Replayed
	}
	return msgpack.Marshal(&r)
}

// enter is the one way of an entry into the log, on the leader: all members can read it, and what it changes of the cluster
// goes in together with who asked.
func (s *Service) enter(ctx context.Context, by access.Asker, e oplog.Entry) (oplog.Outcome, error) {
	asked, rows := s.access.Audited(by, e.DB, e.Ops)
	if e.Node, e.Ops = by.Node, asked; s.readByAll(oplog.Newer(rows)) == nil { // in the middle of an upgrade things go on without the audit
		e.Ops = append(e.Ops, rows...)
	}
	if err := s.readByAll(oplog.Newer(e.Ops)); err != nil {
		return oplog.Outcome{}, err
	}
	body, err := e.Encode()
	if err != nil {
		return oplog.Outcome{}, err
	}
	return s.proposer.propose(ctx, body)
}

// ownAddress refuses what a node says of another: its addresses, and the key that proves who it is.
func ownAddress(from uint32, e oplog.Entry) error {
	for _, op := range e.Ops {
		if a, ok := op.(*oplog.Advertise); ok && a.Node != from {
			return oplog.Errorf(oplog.Denied, "node %d says where node %d is", from, a.Node)
		}
	}
	return nil
}

// readEntry reads a body from the network: nothing else enters the log, where every node would have to decode it. The scan
// comes first, because a decoder can be made to eat the stack.
func readEntry(body []byte) (e oplog.Entry, err error) {
	for rest := body; len(rest) > 0; {
		n, err := wire.Scan(rest)
		if err != nil {
			return e, errUnreadable
		}
		rest = rest[n:]
	}
	if e, err = oplog.DecodeEntry(body); err != nil || len(e.Ops) == 0 {
		return e, errUnreadable
	}
	return e, nil
}
