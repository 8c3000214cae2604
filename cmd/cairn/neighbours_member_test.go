package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/peertest"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// fakeMember returns a member that the test controls, with the id, the secret and the key of a node.
func fakeMember(t *testing.T, p *cairntest.Node, id uint32, cluster string, hello wire.RaftHello) *peertest.Peer {
	t.Helper()
	return impostor(t, p, id, keyOf(t, p), cluster, hello)
}

// keyOf returns the key of a node's home.
func keyOf(t *testing.T, p *cairntest.Node) ed25519.PrivateKey {
	t.Helper()
	key, err := home.OpenIdentity(p.Line.Home)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// impostor returns a peer with the id and the secret of a node, and the given key.
func impostor(t *testing.T, p *cairntest.Node, id uint32, key ed25519.PrivateKey, cluster string, hello wire.RaftHello) *peertest.Peer {
	t.Helper()
	up, err := config.Load(p.Args[3], false, func(*config.File) {}, func(string) string { return "" }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	hello.ClusterID, hello.HasState, hello.EntryMin, hello.EntryMax, hello.StateMin, hello.StateMax, hello.Reads = cluster, true, oplog.RecordVersion, oplog.RecordVersion, snapshot.Min, snapshot.Max, oplog.Reads()
	m := peertest.NewPeer(transport.Options{NodeID: id, Advertise: up.Node.Addresses.Advertise,
		Secret: up.Node.Member.Secret, Identity: key, Log: slog.New(slog.DiscardHandler),
		Dial: up.Node.Seams.WithDefaults().Dial}, hello)
	t.Cleanup(m.Close)
	return m
}

// TestTheClusterSecretMakesNoMember connects with the secret of a running cluster and the id of each member in turn,
// but with a different key. Every member must reject it for every purpose. A member whose home was emptied must
// rejoin by itself with a new key, after which its old key is rejected.
func TestTheClusterSecretMakesNoMember(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	nodes, token := startThreeIn(t, t.TempDir(), shortElection, 0, 1, 2)
	if _, err := putUntilKnown(t.Context(), connect(t, nodes, token), wire.NewRemember("kept")); err != nil {
		t.Fatal(err)
	}
	sameState(t, nodes)
	at := leaderOf(t, nodes)
	s, ok := statusOf(t, nodes[at])
	if !ok {
		t.Fatal("no status")
	}
	stranger := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	refused := func(p *cairntest.Node, key ed25519.PrivateKey) {
		t.Helper()
		for _, stateless := range []bool{false, true} {
			thief := impostor(t, p, p.Line.NodeID, key, s.Cluster, wire.RaftHello{Stateless: stateless})
			for _, to := range nodes {
				for _, purpose := range []string{transport.ForHeartbeat, transport.ForAppend, transport.ForSnapshot,
					transport.ForForward, transport.ForAsk} {
					if err := thief.Hello(t.Context(), to.Line.Cluster, purpose); err == nil ||
						!strings.Contains(err.Error(), fmt.Sprintf("node %d has the key", p.Line.NodeID)) {
						t.Errorf("node %d, asked as node %d for %s: %v", to.Line.NodeID, p.Line.NodeID, purpose, err)
					}
				}
			}
		}
	}
	for _, p := range nodes {
		refused(p, stranger)
		refused(p, nil)
	}
	victim := nodes[(at+1)%3]
	old := keyOf(t, victim)
	victim.Kill()
	if err := os.RemoveAll(victim.Line.Home); err != nil {
		t.Fatal(err)
	}
	victim.Launch()()
	sameState(t, nodes)
	var log strings.Builder
	for _, p := range nodes {
		log.WriteString(p.Log.String())
	}
	if want := fmt.Sprintf("logged=%s key=%s", transport.PublicText(old)[:16],
		transport.PublicText(keyOf(t, victim))[:16]); !strings.Contains(log.String(), want) {
		t.Errorf("no log warns of %s", want)
	}
	refused(victim, old)
}

// TestOneMemberHurtsNoOther takes over the third member of a cluster, and also sends the others wrong data in their
// leader's name. They must reject records that contradict their applied ones or are invalid, report that, move
// nothing aside, keep their votes, and continue without the third.
func TestOneMemberHurtsNoOther(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	nodes, token := startThreeIn(t, t.TempDir(), shortElection, 0, 1, 2)
	c := connect(t, nodes, token)
	acked := map[string]string{}
	put := func(text string) {
		t.Helper()
		putAndRecord(t, c, wire.NewRemember(text), acked)
	}
	for i := range 20 {
		put(fmt.Sprint("kept ", i))
	}
	sameState(t, nodes)
	at := leaderOf(t, nodes)
	leader, follower, third := nodes[at], nodes[(at+1)%3], nodes[(at+2)%3]
	third.Kill()
	s, ok := statusOf(t, leader)
	if !ok {
		t.Fatal("no status")
	}
	hostile := fakeMember(t, third, third.Line.NodeID, s.Cluster,
		wire.RaftHello{AckTerm: s.CurrentTerm + 5, AckIndex: 1 << 40, Receipt: "of my own making",
			CommitTerm: s.CurrentTerm, CommitIndex: uint64(s.Applied) + 1000})
	inItsName := fakeMember(t, leader, leader.Line.NodeID, s.Cluster, wire.RaftHello{})
	held, err := hostile.Compare(t.Context(), leader.Line.NodeID, leader.Line.Cluster, uint64(s.Applied))
	if err != nil || held.Term == 0 || len(held.Sum) == 0 || len(held.States) == 0 {
		t.Fatalf("the leader holds %+v, %v", held, err)
	}
	last := uint64(s.Applied)
	forged := []struct {
		what string
		from *peertest.Peer
		to   []*cairntest.Node
		wire.RaftAppend
	}{
		{"a term more, and another term at an applied index", hostile, []*cairntest.Node{leader, follower},
			wire.RaftAppend{Term: s.CurrentTerm + 1, PrevIndex: last, PrevTerm: held.Term + 1}},
		{"seven bytes of garbage", hostile, []*cairntest.Node{leader, follower},
			wire.RaftAppend{Term: s.CurrentTerm + 1, PrevIndex: last, PrevTerm: held.Term, Commit: last + 1,
				Entries: []wire.RaftEntry{{Index: last + 1, Term: s.CurrentTerm + 1, Data: []byte("garbage")}}}},
		{"one bit in what the leader sends", inItsName, []*cairntest.Node{follower},
			wire.RaftAppend{Term: s.CurrentTerm, PrevIndex: last, PrevTerm: held.Term ^ 1}},
	}
	for _, f := range forged {
		for _, to := range f.to {
			if r, err := f.from.Append(t.Context(), to.Line.Cluster, f.RaftAppend); err == nil {
				t.Errorf("%s: node %d takes it: %+v", f.what, to.Line.NodeID, r)
			}
		}
	}
	put("after one of each")
	for range 5 { // repeated, so that the others stop following the third
		for _, f := range forged[:2] {
			for _, to := range f.to {
				_, _ = f.from.Append(t.Context(), to.Line.Cluster, f.RaftAppend) // rejected, as above
			}
		}
		if err := errors.Join(hostile.Hello(t.Context(), leader.Line.Cluster, transport.ForAsk),
			hostile.Hello(t.Context(), follower.Line.Cluster, transport.ForAsk)); err != nil {
			t.Fatal(err)
		}
	}
	put("after many")
	for _, p := range []*cairntest.Node{leader, follower} {
		if !strings.Contains(p.Log.String(), `msg="refused what a peer sent, and changed nothing" peer=`+fmt.Sprint(third.Line.NodeID)) {
			t.Errorf("node %d does not say what it refused:\n%s", p.Line.NodeID, cairntest.Tail(p.Log.String(), 2000))
		}
		if out, _ := cairntest.Run(t, "cluster", "status", "--endpoints", p.Line.HTTP, "--token",
			token); !strings.Contains(out, fmt.Sprintf("node %d  disputes what node %d says", p.Line.NodeID, third.Line.NodeID)) {
			t.Errorf("status of node %d:\n%s", p.Line.NodeID, out)
		}
		if aside := movedAside(t, p.Line.Home); len(aside) > 0 {
			t.Errorf("node %d moved %q", p.Line.NodeID, aside)
		}
		if marks, err := filepath.Glob(filepath.Join(p.Line.Home, "raft", "amnesia")); err != nil || len(marks) > 0 {
			t.Errorf("node %d has no vote: %v, %v", p.Line.NodeID, marks, err)
		}
	}
	hostile.Close()
	inItsName.Close()
	third.Launch()()
	leader.Kill() // the other two elect a leader
	if !suite.Within(suite.Patience, func() bool {
		s, ok := statusOf(t, follower)
		return ok && s.LeaderID != nil && *s.LeaderID != leader.Line.NodeID
	}) {
		t.Fatal("no leader")
	}
	put("without the first leader")
	leader.Launch()()
	sameState(t, nodes)
	checkExport(t, leader, token, acked)
}
