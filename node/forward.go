package node

import (
	"context"
	"errors"

	"github.com/vmihailenco/msgpack/v5"

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
func (s *Service) forward(ctx context.Context, body []byte, newer oplog.Kinds) (oplog.Outcome, error) {
	sent := false // an attempt went out whose fate is not known
	for {
		changed, led := s.raft.Changed(), s.machine.leads()
		o, err := s.hand(ctx, body, newer)
		var e *oplog.Error
		switch {
		case err == nil && o.Err != nil && sent: // what refused it may be gone when the attempt arrives
			return o, unknown(o.Err)
		case err == nil:
			return o, nil
		case errors.Is(err, raft.ErrNotLeader), errors.Is(err, ErrNoLeader), errors.Is(err, raft.ErrNoLeader),
			errors.Is(err, &oplog.Error{Kind: oplog.NotLeader}):
		case errors.As(err, &e) && e.Kind != oplog.UnknownOutcome:
			if sent {
				return o, unknown(err)
			}
			return o, err
		default:
			sent = true
		}
		if !led && s.machine.leads() {
			continue // leadership came here meanwhile
		}
		if err := pause(ctx, changed); err != nil {
			if sent {
				return o, unknown(err)
			}
			if err := s.disk.refusal(); err != nil { // perhaps why nobody leads
				return o, err
			}
			return o, ErrNoLeader
		}
	}
}

// hand gives an entry to whoever leads, once.
func (s *Service) hand(ctx context.Context, body []byte, newer oplog.Kinds) (oplog.Outcome, error) {
	if s.machine.leads() {
		if err := s.readByAll(newer); err != nil {
			return oplog.Outcome{}, err
		}
		return s.proposer.propose(ctx, body)
	}
	out, err := s.raft.Forward(ctx, body)
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
func (s *Service) Forward(ctx context.Context, body []byte) ([]byte, error) {
	r := relayed{}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ApplyTimeout)
	defer cancel()
	if err := s.isOpen(ctx); err != nil {
		return nil, err
	}
	o, err := oplog.Outcome{}, s.notLeader()
	if s.machine.leads() {
		if err = s.takes(body); err == nil {
			o, err = s.proposer.propose(ctx, body)
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

// takes says whether a body from the network is an entry that all members can read: nothing else enters the log, where
// every node would have to decode it. The scan comes first, because a decoder can be made to eat the stack.
func (s *Service) takes(body []byte) error {
	for rest := body; len(rest) > 0; {
		n, err := wire.Scan(rest)
		if err != nil {
			return errUnreadable
		}
		rest = rest[n:]
	}
	e, err := oplog.DecodeEntry(body)
	if err != nil || len(e.Ops) == 0 {
		return errUnreadable
	}
	return s.readByAll(oplog.Newer(e.Ops))
}
