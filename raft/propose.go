package raft

import (
	"context"
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// Future is a proposed record whose outcome is not known yet.
type Future struct {
	n   *Node
	f   hraft.ApplyFuture
	err error
}

// enqueueTimeout bounds how long a record waits until the library accepts it.
const enqueueTimeout = 5 * time.Second

// Propose appends a record to the log of this node, which must lead. Calls of one goroutine keep their order. The
// caller must not change data afterwards.
func (n *Node) Propose(_ context.Context, data []byte) *Future {
	if !n.IsLeader() {
		return &Future{err: ErrNotLeader}
	}
	return &Future{n: n, f: n.raft.Apply(data, enqueueTimeout)}
}

// Wait returns the record's index and the state machine's result. ErrNotLeader, ErrNoLeader and ErrUnavailable mean
// that the record is certainly not in the log; ErrUnknownOutcome means that it may be.
func (f *Future) Wait() (index uint64, result any, err error) {
	if f.err != nil {
		return 0, nil, f.err
	}
	if err := f.n.await(context.Background(), f.f); err != nil {
		return 0, nil, translateError(err)
	}
	result = f.f.Response()
	if _, lost := result.(unknownOutcome); lost {
		return 0, nil, ErrUnknownOutcome
	}
	return f.f.Index(), result, nil
}

// ReadIndex returns an index for a linearizable read: a state at that index includes every record that was
// acknowledged, or read on any member, before the call. The leader returns its commit index and confirms that it
// still leads. It does not return its applied index, because a follower may have applied more than the leader. A
// follower asks the leader.
func (n *Node) ReadIndex(ctx context.Context) (uint64, error) {
	if n.IsLeader() {
		term := n.readyTerm.Load()
		i, err := n.lastStateIndex(n.raft.CommitIndex())
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
		why := n.reject(leader, before,
			fmt.Errorf("record %d is applied here, and the leader says that it has committed %d", before, ok.Index))
		return 0, fmt.Errorf("%w: %w", ErrNoLeader, why)
	}
	return ok.Index, err
}

// Forward sends an entry to the leader and returns its outcome. The entry may arrive twice, so it has an idempotency
// key. ErrNotLeader and ErrNoLeader mean that the leader certainly did not accept it.
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
		return ErrNotLeader // this node leads, but has not applied its barrier yet
	}
	ctx, cancel := n.whileLeads(ctx, id)
	defer cancel()
	err := n.transport.Pool.Call(ctx, addr, transport.ForForward, op, m, want, answer)
	if pe, ok := errors.AsType[*transport.PeerError](err); ok && pe.Code == wire.CodeNotLeader {
		return ErrNotLeader
	}
	if _, ok := errors.AsType[*transport.NotSentError](err); ok {
		return fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	return err
}

// whileLeads returns a context that ends with ctx, or an election after this node knows another leader than id: an
// answer of the deposed one may still be on its way.
func (n *Node) whileLeads(ctx context.Context, id uint32) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			changed := n.Changed()
			if now, _, ok := n.Leader(); ok && now != id {
				_ = pause.For(ctx, n.cfg.Election)
				cancel()
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}

// lastStateIndex returns the last record, at or before an index, that the state machine gets. The library does not
// pass its own records (barriers, noops) on.
func (n *Node) lastStateIndex(index uint64) (uint64, error) {
	for ; index > 0; index-- {
		var l hraft.Log
		switch err := n.logs.GetLog(index, &l); {
		case errors.Is(err, hraft.ErrLogNotFound): // it was compacted, so the state machine has applied it
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
