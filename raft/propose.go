package raft

import (
	"context"
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// Future is a record on its way.
type Future struct {
	n   *Node
	f   hraft.ApplyFuture
	err error
}

// enqueueTimeout bounds how long a record waits to be taken in.
const enqueueTimeout = 5 * time.Second

// Propose takes a record into the log of the leader. Calls of one goroutine keep their order. The data is not
// to be changed afterwards.
func (n *Node) Propose(_ context.Context, data []byte) *Future {
	if !n.IsLeader() {
		return &Future{err: ErrNotLeader}
	}
	return &Future{n: n, f: n.raft.Apply(data, enqueueTimeout)}
}

// Wait returns the record's index and what the state machine made of it. Errors are ErrNotLeader and
// ErrUnavailable when the record surely is not in the log, ErrUnknownOutcome otherwise.
func (f *Future) Wait() (index uint64, result any, err error) {
	if f.err != nil {
		return 0, nil, f.err
	}
	if err := f.n.await(context.Background(), f.f); err != nil {
		return 0, nil, meaning(err)
	}
	result = f.f.Response()
	if _, lost := result.(unknownOutcome); lost {
		return 0, nil, ErrUnknownOutcome
	}
	return f.f.Index(), result, nil
}

// ReadIndex is an index at which everything acknowledged, or read anywhere, before the call is applied. The leader
// takes what is committed, for a follower may have applied more than the leader itself, and confirms that it still
// leads; a follower asks the leader.
func (n *Node) ReadIndex(ctx context.Context) (uint64, error) {
	if n.IsLeader() {
		term := n.ready.Load()
		i, err := n.lastForState(n.raft.CommitIndex())
		if err != nil {
			return 0, err
		}
		if err := n.confirm(ctx, term); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrNoLeader, err)
		}
		return i, nil
	}
	var ok wire.ReadIndexOK
	before, _ := n.sm.Applied()
	leader, _, _ := n.Leader()
	err := n.askLeader(ctx, wire.OpReadIndex, &wire.Nothing{}, wire.OpReadIndexOK, &ok)
	if err == nil && ok.Index < before { // records that are applied anywhere are committed
		why := n.refuse(leader, before,
			fmt.Errorf("record %d is applied here, and the leader says that it has committed %d", before, ok.Index))
		return 0, fmt.Errorf("%w: %w", ErrNoLeader, why)
	}
	return ok.Index, err
}

// Forward sends an entry to the leader and returns what became of it. The entry may arrive twice: it carries
// an idempotency key. ErrNotLeader and ErrNoLeader mean that it surely was not taken.
func (n *Node) Forward(ctx context.Context, m wire.Forward) ([]byte, error) {
	var ok wire.ForwardOK
	err := n.askLeader(ctx, wire.OpForward, &m, wire.OpForwardOK, &ok)
	return ok.Outcome, err
}

func (n *Node) askLeader(ctx context.Context, op wire.Op, m wire.Message, want wire.Op, answer wire.Message) error {
	id, addr, ok := n.Leader()
	if !ok {
		return ErrNoLeader
	}
	if id == n.cfg.NodeID {
		return ErrNotLeader // it leads, but its barrier is not through
	}
	err := n.transport.Pool.Call(ctx, addr, transport.ForForward, op, m, want, answer)
	if pe, ok := errors.AsType[*transport.PeerError](err); ok && pe.Code == wire.CodeNotLeader {
		return ErrNotLeader
	}
	return err
}

// lastForState is the last record, at or before an index, that the state machine is given; the library keeps the
// others for itself.
func (n *Node) lastForState(index uint64) (uint64, error) {
	for ; index > 0; index-- {
		var l hraft.Log
		switch err := n.logs.GetLog(index, &l); {
		case errors.Is(err, hraft.ErrLogNotFound): // it left the log when the state machine had it
			index, _ = n.sm.Applied()
			return index, nil
		case err != nil:
			return 0, fmt.Errorf("record %d: %w", index, err)
		case l.Type == hraft.LogCommand, l.Type == hraft.LogConfiguration:
			return index, nil
		}
	}
	return 0, nil
}
