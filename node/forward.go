package node

import (
	"context"
	"errors"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// relayed is an outcome on its way back from the leader.
type relayed struct {
	Index    oplog.Index    `msgpack:"i"`
	Results  []oplog.Result `msgpack:"r,omitempty"`
	Err      *oplog.Error   `msgpack:"e,omitempty"` // a replicated refusal, or, without Index, the leader's own
	Replayed bool           `msgpack:"p,omitempty"`
}

// forward sends an entry to the leader, again while nobody leads and it surely was not taken, or when the
// connection broke: its key makes that safe.
func (s *Service) forward(ctx context.Context, body []byte) (oplog.Outcome, error) {
	for {
		changed := s.raft.Changed()
		out, err := s.raft.Forward(ctx, body)
		if err == nil {
			var r relayed
			if err := msgpack.Unmarshal(out, &r); err != nil {
				return oplog.Outcome{}, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader's answer is unreadable", Err: err}
			}
			if r.Index != 0 {
				return oplog.Outcome{Index: r.Index, Results: r.Results, Err: r.Err, Replayed: r.Replayed}, nil
			}
			if !errors.Is(r.Err, &oplog.Error{Kind: oplog.NotLeader}) {
				return oplog.Outcome{}, r.Err
			}
		}
		if s.machine.leads() { // leadership came here meanwhile
			return s.proposer.propose(ctx, body)
		}
		if err := pause(ctx, changed); err != nil {
			return oplog.Outcome{}, ErrNoLeader
		}
	}
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
		if err = readable(body); err == nil {
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

// readable says whether a body from the network is an entry: nothing else enters the log, where every node would
// have to decode it. The scan comes first, because a decoder can be made to eat the stack.
func readable(body []byte) error {
	for rest := body; len(rest) > 0; {
		n, err := wire.Scan(rest)
		if err != nil {
			return oplog.Errorf(oplog.Invalid, "the entry is unreadable")
		}
		rest = rest[n:]
	}
	if e, err := oplog.DecodeEntry(body); err != nil || len(e.Ops) == 0 {
		return oplog.Errorf(oplog.Invalid, "the entry is unreadable")
	}
	return nil
}
