package node

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// retryPause is how long a write waits before it looks for the leader again when nothing tells it to.
const retryPause = 100 * time.Millisecond

// pause waits for leadership to move, or a moment.
func pause(ctx context.Context, changed <-chan struct{}) error {
	t := time.NewTimer(retryPause)
	defer t.Stop()
	select {
	case <-changed:
		return nil
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lead is the task that follows leadership. A new leader's clock observes the log's newest time before it stamps anything.
// Nothing here waits for a write: one may wait for this node to know that it leads.
func (n *Node) lead(ctx context.Context) error {
	var clock clockWatch
	for {
		changed := n.raft.Changed()
		id, _, ok := n.raft.Leader()
		if !ok {
			id = 0
		}
		n.machine.lead.Store(uint64(id))
		leads := n.raft.IsLeader()
		if leads && !n.machine.ours.Load() {
			n.clock.Observe(n.state.Last())
		}
		n.machine.ours.Store(leads)
		clock.look(n, leads)
		select {
		case n.followed <- struct{}{}:
		default: // the last one is being worked on
		}
		select {
		case <-changed:
		case <-time.After(n.cfg.Heartbeat):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// introduce is the task that makes sure that the cluster has a name, that this node's addresses are in the state, and that
// there is a token when one is to be minted.
func (n *Node) introduce(ctx context.Context) error {
	var logged string // it is tried at every heartbeat
	for {
		select {
		case <-n.followed:
		case <-ctx.Done():
			return ctx.Err()
		}
		if _, known := n.machine.leader(); !known {
			continue
		}
		err := n.present(ctx)
		if err == nil {
			logged = ""
		} else if ctx.Err() == nil && err.Error() != logged {
			logged = err.Error()
			n.log.Info("not introduced yet", "err", err)
		}
	}
}

// present writes what every node is to know of this one.
func (n *Node) present(ctx context.Context) error {
	var cluster string
	var known bool
	err := n.state.Read(func(v *oplog.View) error {
		cluster = v.Cluster()
		for _, i := range v.Nodes() {
			known = known || i == n.info()
		}
		return nil
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.ApplyTimeout)
	defer cancel()
	if cluster == "" {
		if !n.machine.leads() {
			return nil
		}
		if err := n.service.Note(ctx, &oplog.Init{Cluster: oplog.NewID(), At: oplog.At(time.Now())}); err != nil {
			return err
		}
	}
	if !known {
		i := n.info()
		op := &oplog.Advertise{Node: i.ID, Wire: i.Wire, HTTP: i.HTTP, Peer: i.Peer, Version: i.Version, Key: i.Key}
		if err := n.service.Note(ctx, op); err != nil {
			return err
		}
	}
	if n.cfg.MintToken {
		if err := n.mint(ctx); err != nil {
			return err
		}
	}
	if !n.service.ready() {
		return errBehindLeader
	}
	n.introduced.Do(func() { close(n.ready) })
	return nil
}

var errBehindLeader = errors.New("this node has not caught up with its leader")

func (n *Node) info() oplog.NodeInfo {
	return oplog.NodeInfo{ID: n.cfg.NodeID, Wire: n.cfg.AdvertiseWire, HTTP: n.cfg.AdvertiseHTTP, Peer: n.raft.Advertised(), Version: n.cfg.Version, Key: hex.EncodeToString(n.identity.Public().(ed25519.PublicKey))}
}
