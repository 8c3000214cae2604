package node

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/state"
)

// An introduction tracks how far a node has introduced itself to its cluster.
type introduction struct {
	followed   chan struct{} // signals that leadership was checked
	ready      chan struct{} // closed once the node serves requests
	introduced sync.Once

	homeToken string      // hash of the token in HOME/token; "" if none
	homeKnown atomic.Bool // whether the state has it
}

// onLeadershipCheck is called at each check of leadership. It checks the clock and wakes introduce.
func (n *Node) onLeadershipCheck(leads bool) {
	n.clock.check(n, leads)
	pause.Offer(n.followed, struct{}{}) // a running introduce reads the newest state anyway
}

// introduce is the task that ensures that the cluster has a name, and that the state has this node's addresses and
// the home's token.
func (n *Node) introduce(ctx context.Context) error {
	var logged string // every heartbeat tries again, but logs each error once
	for range pause.Received(ctx.Done(), n.followed) {
		if _, known := n.commit.Leader(); !known {
			continue
		}
		err := n.advertise(ctx)
		if err == nil {
			logged = ""
		} else if ctx.Err() == nil && err.Error() != logged {
			logged = err.Error()
			n.log.Info("the log does not have the addresses of this node yet", "err", err)
		}
	}
	return ctx.Err()
}

// advertise writes into the log what every node must know: the cluster's name, this node's addresses and key, and, if
// configured, the token of its home.
func (n *Node) advertise(ctx context.Context) error {
	var cluster string
	var known bool
	err := n.state.Inspect(func(v *state.View) {
		cluster = v.Cluster()
		known = slices.Contains(v.Nodes(), n.info())
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Limits.ApplyTimeout)
	defer cancel()
	if cluster == "" {
		if !n.commit.Leads() {
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
	if n.cfg.Tokens.EnsureHome {
		if err := n.ensureHomeToken(ctx); err != nil {
			return err
		}
	}
	if !n.service.Cluster().Ready() {
		return errBehindLeader
	}
	n.introduced.Do(func() { close(n.ready) })
	return nil
}

var errBehindLeader = errors.New("this node has not caught up with its leader")

func (n *Node) info() oplog.NodeInfo {
	return oplog.NodeInfo{ID: n.cfg.Member.NodeID, Wire: n.cfg.Addresses.AdvertiseWire, HTTP: n.cfg.Addresses.AdvertiseHTTP,
		Peer: n.raft.Advertised(), Version: n.cfg.Version, Key: hex.EncodeToString(n.identity.Public().(ed25519.PublicKey))}
}
