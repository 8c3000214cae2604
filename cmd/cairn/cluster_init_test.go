package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestInitWritesWhatServeReads checks that the configuration that `cairn cluster init` writes passes the strict
// parser and has the requested values.
func TestInitWritesWhatServeReads(t *testing.T) {
	dir := t.TempDir()
	one := filepath.Join(dir, "one.toml")
	var out, errw bytes.Buffer
	if code := run(t.Context(), []string{"cluster", "init", "--node-id", "2", "-o", one, "--data-dir", dir, "--wire-port", "8000",
		"--http-port", "8001", "--cluster-port", "8003", "--peers", "a:1,b:2", "--advertise", "c:3", "--insecure-peers",
		"--secret", "a secret of more than thirty-two characters"}, nil, &out, &errw); code != cli.ExitOK {
		t.Fatalf("exit %d: %s", code, &errw)
	}
	if want := "config written to " + one + "\n"; out.String() != want || strings.Contains(errw.String(), "a secret of") { // no secrets in the output, because terminals are logged
		t.Errorf("printed %q, want %q", &out, want)
	}
	noEnv := func(string) string { return "" }
	up, err := config.Load(one, true, func(*config.File) {}, noEnv, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c := up.Node
	if c.Member.NodeID != 2 || c.Home != dir || c.Addresses.Wire != "0.0.0.0:8000" || c.Addresses.HTTP != "0.0.0.0:8001" ||
		c.Addresses.Cluster != "0.0.0.0:8003" ||
		c.Addresses.Advertise != "c:3" || c.Member.Secret != "a secret of more than thirty-two characters" || len(c.Member.Peers) != 2 ||
		c.Member.Peers[1] != "b:2" {
		t.Errorf("%+v", c)
	}
	if i, err := os.Stat(one); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("a file with a secret has mode %v (%v)", i.Mode(), err)
	}
	errw.Reset()
	if code := run(t.Context(), []string{"cluster", "init", "--node-id", "2", "-o", filepath.Join(dir, "two.toml")}, nil,
		&out, &errw); code != cli.ExitUsage || !strings.Contains(errw.String(), "--tls") {
		t.Errorf("no certificates and no word that none are wanted: exit %d, %s", code, &errw)
	}
	here := filepath.Join(dir, "here.toml")
	if code := run(t.Context(), []string{"cluster", "init", "--node-id", "4", "-o", here, "--data-dir", dir, "--peers",
		"127.0.0.1:7603,[::1]:7613"}, nil, &out, &errw); code != cli.ExitOK {
		t.Fatalf("another node of a cluster on this machine: exit %d, %s", code, &errw)
	}
	up, err = config.Load(here, true, func(*config.File) {}, noEnv, slog.New(slog.DiscardHandler))
	if err != nil || up.Node.Addresses.Cluster != "127.0.0.1:7440" || up.Node.Addresses.Wire != "127.0.0.1:7437" || up.Node.TLS.PlainPeers {
		t.Errorf("another node of a cluster on this machine: %+v, %v", up.Node, err)
	}
	errw.Reset()
	if code := run(t.Context(), []string{"cluster", "init", "--node-id", "2", "-o", one, "--insecure-peers"}, nil, &out,
		&errw); code != cli.ExitFailed || !strings.Contains(errw.String(), "hint: ") {
		t.Errorf("overwriting: exit %d, %s", code, &errw)
	}
	if code := run(t.Context(),
		[]string{"cluster", "init", "--node-id", "3", "-o", filepath.Join(dir, "three.toml"), "--insecure-peers"}, nil, &out,
		&errw); code != cli.ExitOK || !strings.Contains(out.String(), "\ncluster_secret: ") {
		t.Errorf("a secret that was made: exit %d, %s", code, &out)
	}

	if code := run(t.Context(), []string{"cluster", "init", "--nodes", "3", "--dir", dir, "--port-base", "7600"}, nil, &out,
		&errw); code != cli.ExitOK {
		t.Fatalf("exit %d: %s", code, &errw)
	}
	for i, at := range []string{"127.0.0.1:7600", "127.0.0.1:7610", "127.0.0.1:7620"} {
		up, err := config.Load(filepath.Join(dir, "node"+string(rune('1'+i))+".toml"), true, func(*config.File) {}, noEnv,
			slog.New(slog.DiscardHandler))
		c := up.Node
		if err != nil || c.Addresses.Wire != at || c.Member.NodeID != uint32(i+1) || len(c.Member.Peers) != 2 {
			t.Errorf("node %d: %+v, %v", i+1, c, err)
		}
	}
}

// TestAMembersTokenIsGone checks a node of cluster init that lost the file with the shared admin token: the cluster
// secret must not serve as a token, and the node must create a new token.
func TestAMembersTokenIsGone(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	dir := t.TempDir()
	var out, errw bytes.Buffer
	base := fmt.Sprint(cairntest.FreePorts(t, 2*config.PortsEach))
	if code := run(t.Context(), []string{"cluster", "init", "--nodes", "2", "--dir", dir, "--port-base", base}, nil, &out,
		&errw); code != cli.ExitOK {
		t.Fatalf("exit %d: %s", code, &errw)
	}
	text, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(text))
	var nodes []*cairntest.Node
	for _, name := range []string{"node1.toml", "node2.toml"} {
		p := &cairntest.Node{T: t, Args: []string{"serve", "--strict", "--config", filepath.Join(dir, name)}, Token: token}
		nodes = append(nodes, p)
		t.Cleanup(p.Kill)
	}
	startAll(t, nodes, 0, 1)
	up, err := config.Load(filepath.Join(dir, "node1.toml"), true, func(*config.File) {}, os.Getenv, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range nodes {
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(p.Line.Home, "token")); err != nil {
			t.Fatal(err)
		}
		p.Launch()()
		if _, code := cairntest.Run(t, "stats", "--endpoints", p.Line.HTTP, "--token", up.Node.Member.Secret); code == cli.ExitOK {
			t.Errorf("node %d lets the cluster secret in", p.Line.NodeID)
		}
		if is, err := os.ReadFile(filepath.Join(p.Line.Home, "token")); err != nil || bytes.Equal(is, text) {
			t.Errorf("node %d made no other token: %v", p.Line.NodeID, err)
		}
	}
}

// TestInitNamesHomesWhole checks that the configuration has the absolute path of the home, so that the node can start
// in any directory.
func TestInitNamesHomesWhole(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var out, errw bytes.Buffer
	if code := run(t.Context(), []string{"cluster", "init", "--nodes", "1", "--dir", "here"}, nil, &out, &errw); code != cli.ExitOK {
		t.Fatalf("exit %d: %s", code, &errw)
	}
	if code := run(t.Context(), []string{"cluster", "init", "--node-id", "1", "--insecure-peers"}, nil, &out, &errw); code != cli.ExitOK {
		t.Fatalf("exit %d: %s", code, &errw)
	}
	for path, home := range map[string]string{filepath.Join("here", "node1.toml"): filepath.Join(dir, "here", "node1"),
		"cairn.toml": filepath.Join(dir, "data")} {
		up, err := config.Load(path, true, func(*config.File) {}, func(string) string { return "" }, slog.New(slog.DiscardHandler))
		if err != nil || up.Node.Home != home {
			t.Errorf("%s: home %s, want %s; %v", path, up.Node.Home, home, err)
		}
	}
}

// TestOneElectionTimeout checks that configurations of cluster init and of deploy/ have the default election timing,
// which the promise of a new leader within 2 s depends on.
func TestOneElectionTimeout(t *testing.T) {
	dir := t.TempDir()
	one := filepath.Join(dir, "one.toml")
	var errw bytes.Buffer
	for _, args := range [][]string{{"--node-id", "1", "-o", one, "--insecure-peers"}, {"--nodes", "2", "--dir", dir}} {
		if code := run(t.Context(), append([]string{"cluster", "init"}, args...), nil, &bytes.Buffer{}, &errw); code != cli.ExitOK {
			t.Fatalf("exit %d: %s", code, &errw)
		}
	}
	for _, pattern := range []string{dir + "/*.toml", "../../deploy/*/*.toml", "../../deploy/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil || strings.Contains(string(b), "election_timeout_ms") || strings.Contains(string(b), "heartbeat_interval_ms") {
				t.Errorf("%s has a timing of its own (%v)", file, err)
			}
		}
	}
}

// TestInitRefusesWhatServeDoes checks that cluster init writes nothing that a node would reject at its start.
func TestInitRefusesWhatServeDoes(t *testing.T) {
	dir := t.TempDir()
	one := []string{"--node-id", "1", "-o", filepath.Join(dir, "one.toml"), "--insecure-peers"}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{append(one, "--wire-port", "99999"), "server.wire_port: want a number from 0 to 65535, got 99999"},
		{append(one, "--peers", "a"), "peer 1: address a: missing port"},
		{[]string{"--nodes", "3", "--dir", filepath.Join(dir, "three"), "--port-base", "65520"}, "--port-base: want a number from 1 to 65506 for 3 nodes"},
		{[]string{"--nodes", "-1", "--dir", filepath.Join(dir, "none")}, "a number above 0"},
	} {
		var out, errw bytes.Buffer
		code := run(t.Context(), append([]string{"cluster", "init"}, tc.args...), nil, &out, &errw)
		if code != cli.ExitUsage || !strings.Contains(errw.String(), tc.want) {
			t.Errorf("%v: exit %d, %s", tc.args, code, &errw)
		}
	}
	if all, err := filepath.Glob(dir + "/*"); err != nil || len(all) > 0 {
		t.Errorf("left %v (%v)", all, err)
	}
}

// TestCertificatesStayWhereNothingIsMade checks that a rejected call keeps the certificate in use, whether it is
// rejected because the configuration exists or because the new certificate would have expired.
func TestCertificatesStayWhereNothingIsMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, cert := filepath.Join(dir, "cairn.toml"), filepath.Join(dir, "tls", "node1.crt")
	read := func() string {
		raw, err := os.ReadFile(cert)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	initialize := []string{"cluster", "init", "--node-id", "1", "--tls", "-o", file, "--advertise"}
	if code, _, stderr := cairn(t, append(initialize, "db1.example:7440")...); code != cli.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	before := read()
	if code, _, stderr := cairn(t, append(initialize, "db2.example:7440")...); code != cli.ExitFailed ||
		!strings.Contains(stderr, "move it away") {
		t.Errorf("a second init: exit %d, %s", code, stderr)
	}
	if code, _, stderr := cairn(t, "cluster", "cert", "--dir", filepath.Join(dir, "tls"), "--node-id", "1", "--days",
		"0"); code != cli.ExitUsage {
		t.Errorf("a certificate of no day: exit %d, %s", code, stderr)
	}
	if read() != before {
		t.Error("the certificate was replaced")
	}
}
