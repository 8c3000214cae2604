package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/node/nodetest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// TestTheClusterSecretIsRotated replaces the secret in three rolling restarts: nodes accept the new secret, then show
// it, then forget the old one. No write may be rejected or lost, and afterwards the old secret must be rejected.
func TestTheClusterSecretIsRotated(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "nine restarts, as the race detector sees them in other tests")
	nodes, old := startThree(t, 0, 1, 2)
	next := home.NewSecret()
	token := onLeader(t, nodes, old, "token", "create")
	sameState(t, nodes) // wait until all nodes have the token
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	acked := map[string]string{}
	var wg sync.WaitGroup
	wg.Go(func() {
		cfg := client.Config{Addrs: wireAddrs(nodes), Token: token}
		writeUntil(ctx, t, cfg, &mu, acked, func(int) string { return "memory " + client.NewKey() })
	})
	waitForWrites(t, &mu, acked, 5)
	for _, step := range []struct{ shown, other string }{{old, next}, {next, old}, {next, ""}} {
		for _, p := range nodes {
			rewrite(t, p.Args[3], step.shown, step.other)
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			p.Launch()()
			waitForWrites(t, &mu, acked, 5)
		}
	}
	stop()
	wg.Wait()
	for _, p := range nodes {
		p.Token = next
	}
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, next, acked)
	}
	hello := wire.ClusterHello{NodeID: 9, Role: "voter", ClusterSecret: old, AdvertiseAddr: "127.0.0.1:1", ProtocolVersion: 1}
	if got := sayHello(t, nodes[0].Line.Cluster, "", nil, hello); got != "cluster secret mismatch" {
		t.Errorf("the old secret: %q", got)
	}
	hello.ClusterSecret, hello.Raft = next, nodetest.Versions()
	hello.Raft.EntryMin, hello.Raft.EntryMax, hello.Raft.Version = 90, 91, "from the future"
	if got := sayHello(t, nodes[0].Line.Cluster, "", nil, hello); !strings.Contains(got, "reads log records of versions") {
		t.Errorf("a peer whose records cannot be read: %q", got)
	}
	t.Logf("%d writes acknowledged across nine restarts", len(acked))
}

// onLeader runs a command with a token on the leader, and repeats it if leadership moves in between.
func onLeader(t testing.TB, nodes []*cairntest.Node, token string, args ...string) string {
	t.Helper()
	var out string
	if !suite.Within(suite.Patience, func() bool {
		var code int
		out, code = cairntest.Run(t, append(slices.Clone(args), "--token", token, "--endpoints", nodes[leaderOf(t, nodes)].Line.HTTP)...)
		return code == 0
	}) {
		t.Fatalf("cairn %s: not done", strings.Join(args, " "))
	}
	return strings.TrimSpace(out)
}

// rewrite changes the secrets in a configuration.
func rewrite(t *testing.T, path, shown, other string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range strings.Split(string(b), "\n") {
		switch {
		case strings.HasPrefix(l, "other_cluster_secret"):
			continue
		case strings.HasPrefix(l, "cluster_secret"):
			l = "cluster_secret = \"" + shown + "\""
			if other != "" {
				l += "\nother_cluster_secret = \"" + other + "\""
			}
		}
		lines = append(lines, l)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestATokenIsRotated moves clients from one token to another while they write. No request may fail more than once,
// and afterwards every node must reject the old token.
func TestATokenIsRotated(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	nodes, secret := startThree(t, 0, 1, 2)
	opens := func(p *cairntest.Node, token string) bool {
		c, err := client.Dial(t.Context(), client.Config{Addrs: []string{p.Line.Wire}, Token: token})
		return err == nil && c.Close() == nil
	}
	refused := func(p *cairntest.Node, token string) bool {
		c, err := client.Dial(t.Context(), client.Config{Addrs: []string{p.Line.Wire}, Token: token})
		if err == nil {
			c.Close()
		}
		return client.IsCode(err, wire.CodeAuthInvalid)
	}
	everywhere := func(is func(*cairntest.Node, string) bool, token string) bool {
		return suite.Within(suite.Patience, func() bool {
			return !slices.ContainsFunc(nodes, func(p *cairntest.Node) bool { return !is(p, token) })
		})
	}
	old, next := onLeader(t, nodes, secret, "token", "create", "--label", "before"), onLeader(t, nodes, secret, "token", "create", "--label", "after")
	if !everywhere(opens, old) || !everywhere(opens, next) {
		t.Fatal("a new token does not reach all nodes")
	}
	before := startLoad(t, nodes, old)
	before.goesOn(t)
	after := startLoad(t, nodes, next)
	after.goesOn(t)
	before.end()
	suite.Eventually(t, "the token to be revoked", func() bool { // a repeated call may find the token already revoked
		lead := nodes[leaderOf(t, nodes)]
		_, code := cairntest.Run(t, "token", "revoke", old, "--endpoints", lead.Line.HTTP, "--token", secret)
		return code == 0 || refused(lead, old)
	})
	if !everywhere(refused, old) {
		t.Error("a revoked token opens a node")
	}
	after.goesOn(t)
	after.end()
	sameState(t, nodes)
	for _, p := range nodes {
		checkTexts(t, p, secret, before.acked, after.acked)
	}
}

// checkTexts checks that a node has every acknowledged text at least once.
func checkTexts(t testing.TB, p *cairntest.Node, token string, acked ...map[string]string) {
	t.Helper()
	rows := exportedBy(t, p, token)
	for _, part := range acked {
		for rid, text := range part {
			if rows[rid] != text {
				t.Errorf("node %d lost %s (%q)", p.Line.NodeID, rid, text)
			}
		}
	}
}
