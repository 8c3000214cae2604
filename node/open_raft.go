package node

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	"github.com/cairndb/cairn/node/certs"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

func (n *Node) openRaft(ctx context.Context) (err error) {
	peers := make([]string, len(n.cfg.Member.Peers))
	for i, p := range n.cfg.Member.Peers {
		peers[i] = p.Addr
	}
	listen := n.cfg.Seams.Listen
	var server, client *tls.Config
	if n.cfg.TLS.Peers.On() {
		own, err := certs.Open(n.cfg.TLS.Peers, n.log)
		if err != nil {
			return fmt.Errorf("tls.cluster: %w", err)
		}
		n.certs["peers"] = own
		server, client = own.ForPeers()
	} else {
		listen = func(ctx context.Context, addr string) (net.Listener, error) {
			ln, err := n.cfg.Seams.Listen(ctx, addr)
			if err == nil {
				n.plainly("peer", ln)
			}
			return ln, err
		}
	}
	at, member, seams := n.cfg.Addresses, n.cfg.Member, n.cfg.Seams
	seams.Listen = listen
	n.raft, err = raft.Open(ctx, raft.Config{
		NodeID: member.NodeID, Dir: filepath.Join(n.cfg.Home, "raft"), Addr: at.Cluster, Advertise: cmp.Or(at.Advertise, at.Cluster),
		Role: member.Role, Peers: peers, Alone: home.SoleNode(n.cfg.Files(), n.state), Timing: n.cfg.Raft, Seams: seams, Keys: n.keys, Logger: n.log,
		Credentials: raft.Credentials{Secret: member.Secret, Others: member.OtherSecrets, Identity: n.identity, KeyOf: n.keyOf, ServerTLS: server, ClientTLS: client},
		Hello:       n.helloInfo, Founds: oplog.Founds, Handler: n.peers(),
		Window: n.window, Retain: func() uint64 { return uint64(n.state.Retains()) },
		Failed:       func(err error) { n.cancel(err) },
		Contradicted: func(err error) { n.cancel(errors.Join(err, home.LeaveWord(n.cfg.Files(), home.DamageFile, err))) },
	}, n.commit.StateMachine())
	if err != nil {
		return err
	}
	return home.Rebuilt(n.cfg.Files(), n.raft.Status().LastIndex)
}

// keyOf is the public key that the cluster knows of a member.
func (n *Node) keyOf(id uint32) (key string) {
	_ = n.state.Read(func(v *state.View) error { // a closing state knows none
		if i := slices.IndexFunc(v.Nodes(), func(i oplog.NodeInfo) bool { return i.ID == id }); i >= 0 {
			key = v.Nodes()[i].Key
		}
		return nil
	})
	return key
}

func (n *Node) helloInfo() wire.RaftHello {
	h := wire.RaftHello{EntryMin: oplog.RecordVersion, EntryMax: oplog.RecordVersion, StateMin: snapshot.Min, StateMax: snapshot.Max,
		Reads: oplog.Reads(), Wire: n.cfg.Addresses.AdvertiseWire, HTTP: n.cfg.Addresses.AdvertiseHTTP, Version: n.cfg.Version}
	_ = n.state.Read(func(v *state.View) error { // a closing state has no name to tell
		h.ClusterID, h.Needs = v.Cluster(), v.Needs()
		return nil
	})
	return h
}
