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
				n.warnPlainText("peer", ln)
			}
			return ln, err
		}
	}
	at, member, seams := n.cfg.Addresses, n.cfg.Member, n.cfg.Seams
	sole, err := home.SoleNode(n.cfg.Files(), n.state)
	if err != nil { // the scrub will find the damage, and the cluster heals a member
		n.log.Error("the list of nodes could not be read", "err", err)
	}
	seams.Listen = listen
	n.raft, err = raft.Open(ctx, raft.Config{
		NodeID: member.NodeID, Dir: filepath.Join(n.cfg.Home, "raft"), Addr: at.Cluster, Advertise: cmp.Or(at.Advertise, at.Cluster),
		Role: member.Role, Peers: member.Peers, Alone: sole, Timing: n.cfg.Raft, Seams: seams, Keys: n.keys, Logger: n.log,
		Credentials: raft.Credentials{Secret: member.Secret, Others: member.OtherSecrets, Identity: n.identity,
			KeyOf: n.keyOf, FixedKeys: member.FixedKeys, ServerTLS: server, ClientTLS: client},
		Hello: n.helloInfo, Founds: oplog.ClusterOf, Handler: n.peerHandler(),
		Window: n.window, Retain: func() uint64 { return uint64(n.state.FirstRetained()) },
		Check: commit.CheckRecord, Failed: func(err error) { n.cancel(err) }, StepAside: n.stepAside,
	}, n.commit.StateMachine())
	if err != nil {
		return err
	}
	return home.CheckRebuilt(n.cfg.Files(), n.raft.Status().LastIndex)
}

// maxSetAside bounds how often a node steps aside without an operator. A recurring fault would fill the disk with
// states that were moved aside.
const maxSetAside = 3

// stepAside stops this node and makes its next start move state and log aside, because a majority of the voters has
// other records.
func (n *Node) stepAside(why error, lost raft.Lost) error {
	if aside := home.SetAsideNames(n.cfg.Home); len(aside) >= 2*maxSetAside { // a state and a log each
		return fmt.Errorf("the home holds %d files that were moved aside: look why, remove them, and see deploy/runbooks/divergence.md",
			len(aside))
	}
	if err := errors.Join(home.NoteLost(n.cfg.Files(), lost), home.WriteNote(n.cfg.Files(), home.DamageFile, why)); err != nil {
		return err
	}
	n.cancel(why)
	return nil
}

// explainUnapplied adds to the error of a record that cannot be applied what the other voters have at its index. If
// they have another record, this node's log is wrong, and its next start gets theirs.
func (n *Node) explainUnapplied(err error) error {
	var u *commit.UnappliedError
	if !errors.As(err, &u) || !errors.Is(err, oplog.ErrRecord) {
		return err
	}
	ctx, cancel := context.WithTimeout(n.ctx, explainTimeout)
	defer cancel()
	if n.commit.WaitOpen(ctx) != nil { // n.raft is set only once the log is open
		return err
	}
	answers := n.raft.VerifyWithVoters(ctx, uint64(u.Index), err)
	n.log.Error("a committed record cannot be decoded", "index", u.Index, "others", answers)
	return fmt.Errorf("%w (%s)", err, answers)
}

const explainTimeout = 5 * time.Second

// keyOf returns the public key of a member that the cluster knows, "" if none.
func (n *Node) keyOf(id uint32) (key string) {
	_ = n.state.Inspect(func(v *state.View) { // "" while the state is closing
		if i := slices.IndexFunc(v.Nodes(), func(i oplog.NodeInfo) bool { return i.ID == id }); i >= 0 {
			key = v.Nodes()[i].Key
		}
	})
	return key
}

func (n *Node) helloInfo() wire.RaftHello {
	h := helloOf(n.cfg)
	_ = n.state.Inspect(func(v *state.View) { // without the cluster's name while the state is closing
		h.ClusterID, h.Needs = v.Cluster(), v.NeededKinds()
	})
	return h
}

// helloOf returns what a node of this binary can read, and the addresses for its clients.
func helloOf(cfg Config) wire.RaftHello {
	return wire.RaftHello{EntryMin: oplog.RecordVersion, EntryMax: oplog.RecordVersion, StateMin: snapshot.Min, StateMax: snapshot.Max,
		Reads: oplog.Reads(), Wire: cfg.Addresses.AdvertiseWire, HTTP: cfg.Addresses.AdvertiseHTTP, Version: cfg.Version}
}
