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

// introduction tracks how far a node has come with making itself known to its cluster.
type introduction struct {
	followed   chan struct{} // holds a token when leadership was checked
	ready      chan struct{} // closed when the node serves
	introduced sync.Once

	homeToken string      // hash of the token of HOME/token; blank for none
	homeKnown atomic.Bool // the state has it
}

// led is called at each check of leadership. It has a leader whose clock is off hand over, and wakes introduce.
func (n *Node) led(leads bool) {
	n.clock.look(n, leads)
	pause.Offer(n.followed, struct{}{}) // when introduce is at work, it reads the newest state
}

// introduce is the task that makes sure that the cluster has a name, that this node's addresses are in the state, and
// that there is a token when one is to be minted.
func (n *Node) introduce(ctx context.Context) error {
	var logged string // it is tried at every heartbeat
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

// advertise puts into the log what every node knows of each member: the cluster's name, this node's addresses and
// key, and, where one is requested, a token.
func (n *Node) advertise(ctx context.Context) error {
	var cluster string
	var known bool
	err := n.state.Look(func(v *state.View) {
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
