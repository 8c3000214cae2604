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
	"time"

	"github.com/cairndb/cairn/node/certs"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

func (n *Node) openRaft(ctx context.Context) (err error) {
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
	sole, err := home.SoleNode(n.cfg.Files(), n.state)
	if err != nil { // the scrub finds the damage, and the others heal a member
		n.log.Error("the list of nodes could not be read", "err", err)
	}
	seams.Listen = listen
	n.raft, err = raft.Open(ctx, raft.Config{
		NodeID: member.NodeID, Dir: filepath.Join(n.cfg.Home, "raft"), Addr: at.Cluster, Advertise: cmp.Or(at.Advertise, at.Cluster),
		Role: member.Role, Peers: member.Peers, Alone: sole, Timing: n.cfg.Raft, Seams: seams, Keys: n.keys, Logger: n.log,
		Credentials: raft.Credentials{Secret: member.Secret, Others: member.OtherSecrets, Identity: n.identity,
			KeyOf: n.keyOf, FixedKeys: member.FixedKeys, ServerTLS: server, ClientTLS: client},
		Hello: n.helloInfo, Founds: oplog.ClusterOf, Handler: n.peers(),
		Window: n.window, Retain: func() uint64 { return uint64(n.state.FirstRetained()) },
		Check: commit.CheckRecord, Failed: func(err error) { n.cancel(err) }, StepAside: n.stepAside,
	}, n.commit.StateMachine())
	if err != nil {
		return err
	}
	return home.Rebuilt(n.cfg.Files(), n.raft.Status().LastIndex)
}

// maxSetAside bounds how many states that were moved aside a home may hold while its node steps aside by itself. A
// fault that comes back would fill the disk, and an operator has to look.
const maxSetAside = 3

// stepAside has this node stop, and its next start move state and log aside: a majority of the voters holds something
// else.
func (n *Node) stepAside(why error, lost raft.Lost) error {
	if aside := home.SetAsides(n.cfg.Home); len(aside) >= 2*maxSetAside { // a state and a log each time
		return fmt.Errorf("the home holds %d files that were moved aside: look why, remove them, and see deploy/runbooks/divergence.md",
			len(aside))
	}
	if err := errors.Join(home.NoteLost(n.cfg.Files(), lost), home.LeaveWord(n.cfg.Files(), home.DamageFile, why)); err != nil {
		return err
	}
	n.cancel(why)
	return nil
}

// askAbout adds to the error of a record that cannot be applied what the other voters hold in its place. Where that is
// another record, this node's log is wrong, and its next start gets the others'.
func (n *Node) askAbout(err error) error {
	var u *commit.UnappliedError
	if !errors.As(err, &u) || !errors.Is(err, oplog.ErrRecord) {
		return err
	}
	ctx, cancel := context.WithTimeout(n.ctx, askAboutTimeout)
	defer cancel()
	if n.commit.WaitOpen(ctx) != nil { // the log is given to the state before it is known here
		return err
	}
	said := n.raft.Doubt(ctx, uint64(u.Index), err)
	n.log.Error("a committed record cannot be decoded", "index", u.Index, "others", said)
	return fmt.Errorf("%w (%s)", err, said)
}

const askAboutTimeout = 5 * time.Second

// keyOf is the public key that the cluster knows of a member.
func (n *Node) keyOf(id uint32) (key string) {
	_ = n.state.Look(func(v *state.View) { // a closing state knows none
		if i := slices.IndexFunc(v.Nodes(), func(i oplog.NodeInfo) bool { return i.ID == id }); i >= 0 {
			key = v.Nodes()[i].Key
		}
	})
	return key
}

func (n *Node) helloInfo() wire.RaftHello {
	h := helloOf(n.cfg)
	_ = n.state.Look(func(v *state.View) { // a closing state has no name to tell
		h.ClusterID, h.Needs = v.Cluster(), v.NeededKinds()
	})
	return h
}

// helloOf says what a node of this binary can read, and where its clients find it.
func helloOf(cfg Config) wire.RaftHello {
	return wire.RaftHello{EntryMin: oplog.RecordVersion, EntryMax: oplog.RecordVersion, StateMin: snapshot.Min, StateMax: snapshot.Max,
		Reads: oplog.Reads(), Wire: cfg.Addresses.AdvertiseWire, HTTP: cfg.Addresses.AdvertiseHTTP, Version: cfg.Version}
}
