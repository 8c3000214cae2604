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
