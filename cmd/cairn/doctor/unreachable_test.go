package doctor

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
)

// says joins the texts and advice of findings.
func says(fs []Finding) (all string) {
	for _, f := range fs {
		all += f.Status + ": " + f.Says + ": " + f.Do + "\n"
	}
	return all
}

// TestAPeerThatRejectsThisNodeIsNotDown: for a member whose port answers, the doctor does not advise to start, remove
// or recover it.
func TestAPeerThatRejectsThisNodeIsNotDown(t *testing.T) {
	t.Parallel()
	e := examination{running: &api.ClusterStatus{NodeID: 1, QuorumSize: 2, Condition: "not healthy: no quorum",
		Peers: []api.Peer{{NodeID: 2, Addr: "b:7440"}, {NodeID: 3, Addr: "c:7440"}}}}
	if got := says(e.cluster(t.Context())); !strings.Contains(got, "cluster recover") || !strings.Contains(got, "node 2 does not answer: start it") {
		t.Errorf("of two that are down:\n%s", got)
	}
	e.greeted = []string{"b:7440"}
	got := says(e.cluster(t.Context()))
	if strings.Contains(got, "cluster recover") || strings.Contains(got, "node 2 does not answer: start it") ||
		!strings.Contains(got, "node 2 does not answer node 1, and its port answers") || !strings.Contains(got, "node 3 does not answer: start it") {
		t.Errorf("of one that runs:\n%s", got)
	}
}

// TestAConfiguredPeerThatMoved: a configured address that no member has any more is reported as such.
func TestAConfiguredPeerThatMoved(t *testing.T) {
	t.Parallel()
	gone := rafttest.Addr(t)
	e := examination{t: &cli.Target{}, cfg: node.Config{Member: node.Member{Peers: []string{gone}}}}
	if got := says(e.peers(t.Context())); !strings.Contains(got, "no firewall blocks this port") {
		t.Errorf("of a node that does not run:\n%s", got)
	}
	e.running = &api.ClusterStatus{NodeID: 1, Peers: []api.Peer{{NodeID: 2, Addr: "b:7440"}}}
	if got := says(e.peers(t.Context())); !strings.Contains(got, gone) || !strings.Contains(got, "no member has this address") ||
		!strings.Contains(got, "b:7440") {
		t.Errorf("of an address that no member has:\n%s", got)
	}
}

// TestAPeerThatSpeaksTLS: a node without a certificate cannot join members that use TLS, and no firewall is the reason.
func TestAPeerThatSpeaksTLS(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", rafttest.Addr(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	reply, err := wire.AppendPack(nil, wire.OpError, 0, // as a member's port replies to plain text
		&wire.Error{Code: wire.CodeInvalidPayload, Message: "this port speaks TLS"}, false)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		if _, err := wire.NewReader(nc, 64<<10).Next(); err == nil {
			_, _ = nc.Write(reply)
		}
	}()
	e := examination{t: &cli.Target{}, cfg: node.Config{Home: t.TempDir(),
		Member: node.Member{Peers: []string{l.Addr().String()}, Secret: strings.Repeat("s", 32)}}}
	if got := says(e.peers(t.Context())); !strings.Contains(got, "give this node a certificate of the same authority") || strings.Contains(got, "firewall") {
		t.Errorf("of a member that uses TLS:\n%s", got)
	}
}

// TestADamagedNodeKeyIsFound: the doctor reports a damaged node key, with which the node would not start.
func TestADamagedNodeKeyIsFound(t *testing.T) {
	t.Parallel()
	e := examination{t: &cli.Target{}, cfg: node.Config{Home: filepath.Join(t.TempDir(), "h")}}
	if err := os.Mkdir(e.cfg.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := says(e.home(t.Context())); strings.Contains(got, Fail) {
		t.Errorf("of a home without a key: %s", got)
	}
	if err := os.WriteFile(filepath.Join(e.cfg.Home, "node.key"), []byte("0g"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := says(e.home(t.Context())); !strings.Contains(got, Fail) || !strings.Contains(got, "node.key is not a valid key") {
		t.Errorf("of a damaged key: %s", got)
	}
}
