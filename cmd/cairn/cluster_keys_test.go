package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/cluster"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestKeysOfACluster checks that every member reports the key ids of all homes and the certificates of all members.
// Tokens without scope admin must be rejected, and no answer may contain a key.
func TestKeysOfACluster(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "three nodes are not started")
	dir, keyFile := t.TempDir(), filepath.Join(t.TempDir(), "key")
	if _, code := cairntest.Run(t, "key", "new", "--output", keyFile); code != 0 {
		t.Fatal("no key")
	}
	nodes, token := configureThree(t, dir, func(n *config.NodeFile) {
		if err := cluster.Certify(dir, n); err != nil {
			t.Fatal(err)
		}
	})
	au, err := cluster.OpenAuthority(filepath.Join(dir, "tls"))
	if err != nil {
		t.Fatal(err)
	}
	ca := au.Path("ca.crt")
	for _, p := range nodes {
		p.CAFile, p.Env = ca, append(p.Env, "CAIRN_ENCRYPTION_KEY_FILE="+keyFile)
	}
	startAll(t, nodes, 0, 1, 2)
	at := []string{"--endpoints", nodes[1].Line.HTTP, "--ca", ca}
	var all api.KeysAnswer
	asked := &cli.Target{Endpoints: []string{nodes[1].Line.HTTP}, TokenText: token, CA: ca, Timeout: suite.Patience}
	if !suite.Within(suite.Patience, func() bool { // wait until all members are known
		all = api.KeysAnswer{}
		return asked.Get(t.Context(), "GET", api.Keys.Path(), nil, &all) == nil && len(all.Nodes) == 3
	}) {
		t.Fatalf("%d nodes, want 3: %+v", len(all.Nodes), all)
	}
	for i, n := range all.Nodes {
		if n.NodeID != uint32(i+1) || n.Error != "" || !n.Encrypted || len(n.Keys) != 1 || !n.Keys[0].Active || len(n.Rewriting) != 0 ||
			len(n.Certificates) != 2 || len(n.Ports) != 3 {
			t.Errorf("node %d: %+v", i+1, n)
			continue
		}
		if n.Keys[0].Master != all.Nodes[0].Keys[0].Master || i > 0 && n.Keys[0].ID == all.Nodes[0].Keys[0].ID {
			t.Errorf("node %d has the keys %+v, node 1 %+v", i+1, n.Keys, all.Nodes[0].Keys)
		}
		cert := n.Certificates[0]
		leaf := shown(t, nodes[i].Line.Wire, au)
		if cert.To != "clients" || cert.State != "valid" || cert.Subject != leaf.Subject.String() ||
			cert.Until != float64(leaf.NotAfter.Unix()) || len(cert.Names) == 0 {
			t.Errorf("node %d says that it shows %+v; it shows %s until %s", i+1, cert, leaf.Subject, leaf.NotAfter)
		}
		for _, p := range n.Ports {
			if !p.TLS {
				t.Errorf("node %d: port %s is said to be plain", i+1, p.Name)
			}
		}
	}
	raw, code := cairntest.Run(t, append([]string{"cluster", "keys", "--json", "--token", token}, at...)...)
	key, err := os.ReadFile(keyFile)
	if code != 0 || err != nil || strings.Contains(raw, strings.TrimSpace(string(key))) || strings.Contains(raw, "PRIVATE") ||
		strings.Contains(strings.ToLower(raw), "wrapped") {
		t.Errorf("exit %d, %v: %s", code, err, raw)
	}
	text, code := cairntest.Run(t, append([]string{"cluster", "keys", "--token", token}, at...)...)
	for _, want := range []string{"DATA KEY", all.Nodes[2].Keys[0].ID, "active", "SHOWN TO", "peers", "TLS"} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("exit %d, no %q in\n%s", code, want, text)
		}
	}
	reader := onLeader(t, nodes, token, "token", "create", "--scope", "read", "--ca", ca)
	sameState(t, nodes) // wait until all nodes have the token
	if out, err := cairntest.Command(t.Context(),
		append([]string{"cluster", "keys", "--token", reader}, at...)...).CombinedOutput(); exitOf(t, err) != cli.ExitFailed ||
		!strings.Contains(string(out), "admin") {
		t.Errorf("a token that may read: %s", fmt.Sprint(string(out), err))
	}
}
