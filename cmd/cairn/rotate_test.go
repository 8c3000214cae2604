package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// TestTheClusterSecretIsRotated: in three rolling restarts (learn the new secret, show it, forget the old one) a writer is
// never refused and loses nothing; afterwards the old secret opens nothing.
func TestTheClusterSecretIsRotated(t *testing.T) {
	nodes, old := startThree(t, 0, 1, 2)
	next := newSecret()
	t.Setenv("CAIRN_TOKEN", old)
	out, code := cli(t, "token", "create", "--url", nodes[leaderOf(t, nodes)].line.HTTP)
	if code != 0 {
		t.Fatal("no token")
	}
	sameState(t, nodes) // the token is on all of them
	var addrs []string
	for _, p := range nodes {
		addrs = append(addrs, p.line.Wire)
	}
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	acked := map[string]string{}
	var wg sync.WaitGroup
	wg.Go(func() {
		c, err := client.Dial(t.Context(), client.Config{Addrs: addrs, Token: strings.TrimSpace(out)})
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		for i := 0; ctx.Err() == nil; i++ {
			m := wire.NewRemember("memory " + client.NewKey())
			m.IdempotencyKey = client.NewKey()
			rid, err := putOnce(t.Context(), c, m)
			if err != nil {
				t.Errorf("write %d: %v", i, err)
				return
			}
			mu.Lock()
			acked[rid] = m.Text
			mu.Unlock()
		}
	})
	waitForWrites(t, &mu, acked, 5)
	for _, step := range []struct{ shown, other string }{{old, next}, {next, old}, {next, ""}} {
		for _, p := range nodes {
			rewrite(t, p.args[3], step.shown, step.other)
			if _, err := p.stop(); err != nil {
				t.Fatal(err)
			}
			p.launch()()
			waitForWrites(t, &mu, acked, 5)
		}
	}
	stop()
	wg.Wait()
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, next, acked)
	}
	hello := wire.ClusterHello{NodeID: 9, Role: "voter", ClusterSecret: old, AdvertiseAddr: "127.0.0.1:1", ProtocolVersion: 1}
	if got := sayHello(t, nodes[0].line.Cluster, "", nil, hello); got != "cluster secret mismatch" {
		t.Errorf("the old secret: %q", got)
	}
	hello.ClusterSecret, hello.Raft = next, &wire.RaftHello{EntryMin: 90, EntryMax: 91, Version: "from the future"}
	if got := sayHello(t, nodes[0].line.Cluster, "", nil, hello); !strings.Contains(got, "reads log records of versions") {
		t.Errorf("a peer whose records cannot be read: %q", got)
	}
	t.Logf("%d writes acknowledged across nine restarts", len(acked))
}

// rewrite changes the secrets of a configuration.
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

// TestATokenIsRotated: clients move from one token to another while they write; no request fails beyond one repetition, and
// the old one opens nothing afterwards, on any node.
func TestATokenIsRotated(t *testing.T) {
	nodes, secret := startThree(t, 0, 1, 2)
	t.Setenv("CAIRN_TOKEN", secret)
	made := func(label string) string {
		t.Helper()
		out, code := cli(t, "token", "create", "--label", label, "--url", nodes[leaderOf(t, nodes)].line.HTTP)
		if code != 0 {
			t.Fatal("no token")
		}
		return strings.TrimSpace(out)
	}
	opens := func(p *nodeProcess, token string) bool {
		c, err := client.Dial(t.Context(), client.Config{Addrs: []string{p.line.Wire}, Token: token})
		if err != nil {
			return false
		}
		return c.Close() == nil
	}
	everywhere := func(token string, want bool) bool {
		return eventually(func() bool {
			for _, p := range nodes {
				if opens(p, token) != want {
					return false
				}
			}
			return true
		})
	}
	old, next := made("before"), made("after")
	if !everywhere(old, true) || !everywhere(next, true) {
		t.Fatal("a new token does not reach all nodes")
	}
	before := putLoad(t, nodes, old)
	before.goesOn(t)
	after := putLoad(t, nodes, next)
	after.goesOn(t)
	before.end()
	if out, code := cli(t, "token", "revoke", old, "--url", nodes[leaderOf(t, nodes)].line.HTTP); code != 0 {
		t.Fatalf("not revoked: %s", out)
	}
	if !everywhere(old, false) {
		t.Error("a revoked token opens a node")
	}
	after.goesOn(t)
	after.end()
	sameState(t, nodes)
	for _, p := range nodes {
		checkTexts(t, p, secret, before.acked, after.acked)
	}
}

// checkTexts checks that a node holds what was acknowledged; texts may be there more than once.
func checkTexts(t testing.TB, p *nodeProcess, token string, acked ...map[string]string) {
	t.Helper()
	rows := exported(t, p, token)
	for _, part := range acked {
		for rid, text := range part {
			if rows[rid] != text {
				t.Errorf("node %d lost %s (%q)", p.line.NodeID, rid, text)
			}
		}
	}
}
