package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/cluster"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/doctor"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/certs"
	"github.com/cairndb/cairn/node/nodetest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// secureThree starts three nodes with TLS on all ports, as `cluster init --tls` configures them.
func secureThree(t *testing.T) (nodes []*cairntest.Node, au *cluster.Authority, token string) {
	t.Helper()
	dir := t.TempDir()
	nodes, token = startThreeIn(t, dir, func(n *config.NodeFile) {
		if err := cluster.Certify(dir, n); err != nil {
			t.Fatal(err)
		}
	}, 0, 1, 2)
	au, err := cluster.OpenAuthority(filepath.Join(dir, "tls"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range nodes {
		p.CAFile = au.Path("ca.crt")
	}
	return nodes, au, token
}

func trusting(t testing.TB, ca string) *tls.Config {
	t.Helper()
	c, err := (&cli.Target{CA: ca}).TLSConfig()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sayHello sends a node's hello to a peer port and returns the reason for its rejection, or "" if it is accepted.
func sayHello(t testing.TB, addr, ca string, cert *tls.Certificate, hello wire.ClusterHello) string {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(suite.Patience)); err != nil {
		t.Fatal(err)
	}
	if ca != "" {
		cfg := trusting(t, ca)
		cfg.ServerName = "127.0.0.1"
		if cert != nil {
			cfg.Certificates = []tls.Certificate{*cert}
		}
		nc = tls.Client(nc, cfg)
	}
	r, f := wire.NewReader(nc, wire.MaxLength), wire.Frame{}
	if hello.Raft != nil {
		f, err = nodetest.SayHello(nc, r, hello.ClusterSecret, nil, &hello)
	} else if f, err = wire.Pack(wire.OpClusterHello, 0, &hello, false); err == nil {
		if _, err = nc.Write(wire.AppendFrame(nil, f)); err == nil {
			f, err = r.Next()
		}
	}
	if err != nil {
		return err.Error()
	}
	if f.Op == wire.OpClusterHelloOK {
		return ""
	}
	var e wire.Error
	if err := wire.Unpack(f, &e, wire.MaxPlainPeer); err != nil {
		t.Fatal(err)
	}
	return e.Message
}

// TestTLSEverywhere checks that three nodes use TLS on every port, and that clients with wrong certificates or
// secrets get an error and change nothing.
func TestTLSEverywhere(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	nodes, au, token := secureThree(t)
	leader := nodes[leaderOf(t, nodes)]
	if _, code := cairntest.Run(t, "remember", "said in private", "--token", token, "--endpoints", leader.Line.Wire, "--ca",
		au.Path("ca.crt")); code != 0 {
		t.Fatal("a client that trusts the authority is not served")
	}
	if !strings.HasPrefix(leader.Line.HTTP, "https://") {
		t.Errorf("the ready line says %s", leader.Line.HTTP)
	}
	var before api.ClusterStatus
	suite.Eventually(t, "a status", func() (ok bool) { before, ok = statusOf(t, leader); return ok })
	tg := cli.Target{Endpoints: []string{leader.Line.HTTP}, CA: leader.CAFile, Timeout: suite.Patience}
	r, err := tg.Request(t.Context(), "GET", "/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := io.ReadAll(r)
	r.Close()
	if err != nil || strings.Count(string(metrics), "\ncairn_certificate_seconds{") != 2 {
		t.Errorf("the certificates' ends are not told (%v)", err)
	}

	issue := func(a *cluster.Authority, id uint32, from, until time.Time) *tls.Certificate {
		name, err := a.Issue(id, []string{"127.0.0.1"}, from, until)
		if err != nil {
			t.Fatal(err)
		}
		c, err := tls.LoadX509KeyPair(a.Path(name+".crt"), a.Path(name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		return &c
	}
	now := time.Now()
	stranger, err := cluster.OpenAuthority(filepath.Join(t.TempDir(), "other"))
	if err != nil {
		t.Fatal(err)
	}
	good := issue(au, 9, now.Add(-time.Hour), now.Add(time.Hour))
	expired := issue(au, 9, now.Add(-2*time.Hour), now.Add(-time.Hour))
	foreign := issue(stranger, 9, now.Add(-time.Hour), now.Add(time.Hour))
	ca, hello := au.Path("ca.crt"), wire.ClusterHello{NodeID: 9, Role: "voter", ClusterSecret: token,
		AdvertiseAddr: "127.0.0.1:1", ProtocolVersion: 1}
	as := func(id uint32, secret string) wire.ClusterHello {
		h := hello
		h.NodeID, h.ClusterSecret = id, secret
		return h
	}
	for _, tc := range []struct {
		name, ca string
		cert     *tls.Certificate
		hello    wire.ClusterHello
		want     string
	}{
		{"all as it should be", ca, good, hello, ""},
		{"another authority's certificate", ca, foreign, hello, "tls: "},
		{"an expired certificate", ca, expired, hello, "tls: "},
		{"no certificate", ca, nil, hello, "tls: "},
		{"plain text", "", nil, hello, "this port speaks TLS"},
		{"another node's certificate", ca, good, as(1, token), "node 1 needs node-1.cairn"},
		{"the wrong secret", ca, good, as(9, "guessed"), "cluster secret mismatch"},
	} {
		got := sayHello(t, leader.Line.Cluster, tc.ca, tc.cert, tc.hello)
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("peer with %s: %q, want %q", tc.name, got, tc.want)
		}
	}
	for _, tc := range []struct {
		name string
		cfg  client.Config
		want string
	}{
		{"plain text", client.Config{Token: token}, "this port speaks TLS"},
		{"another authority", client.Config{Token: token, TLS: trusting(t, stranger.Path("ca.crt"))}, "unknown authority"},
		{"a wrong token", client.Config{Token: "ydb_wrong", TLS: trusting(t, ca)}, "invalid or revoked token"},
	} {
		tc.cfg.Addrs = []string{leader.Line.Wire}
		c, err := client.Dial(t.Context(), tc.cfg)
		if err == nil {
			c.Close()
			t.Errorf("client with %s was served", tc.name)
		} else if !strings.Contains(err.Error(), tc.want) {
			t.Errorf("client with %s: %v, want %q", tc.name, err, tc.want)
		}
	}
	var after api.ClusterStatus
	// an election may happen on a slow machine
	if !suite.Within(suite.Patience, func() (ok bool) { after, ok = statusOf(t, leader); return ok }) || len(after.Peers) != 2 {
		t.Errorf("the refused are members: %+v", after)
	}
	since, code := cairntest.Run(t, "log", "tail", "--json", "--token", token, "--from", fmt.Sprint(before.Applied+1),
		"--endpoints", leader.Line.HTTP, "--ca", ca)
	for entry := range strings.Lines(since) { // nodes may write records about their own start this late
		if !strings.Contains(entry, `"kind":"advertise"`) && !strings.Contains(entry, `"kind":"identity"`) {
			t.Errorf("the refused had an effect: %s", entry)
		}
	}
	if code != 0 {
		t.Fatalf("log tail: exit %d", code)
	}

	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"forget", "x", "--endpoints", leader.Line.Wire}, "hint: name the authority to trust with --ca"},
		{[]string{"forget", "x", "--endpoints", leader.Line.Wire, "--tls"}, "hint: name the authority to trust with --ca"},
		{[]string{"status", "--endpoints", strings.Replace(leader.Line.HTTP, "https", "http", 1)}, "hint: if the port uses TLS"},
		{[]string{"status", "--endpoints", leader.Line.HTTP}, "hint: name the authority to trust with --ca"},
	} {
		var output bytes.Buffer
		if code := run(t.Context(), append(tc.args, "--token", token), nil, io.Discard, &output); code != cli.ExitFailed ||
			!strings.Contains(output.String(), tc.want) {
			t.Errorf("%v: exit %d, %s; want %q", tc.args, code, &output, tc.want)
		}
	}

	short := onLeader(t, nodes, token, "token", "create", "--ca", ca)
	if !suite.Within(suite.Patience, func() bool { // if leadership moves, the repeated call may find the token already revoked
		cairntest.Run(t, "token", "revoke", short, "--token", token, "--endpoints", nodes[leaderOf(t, nodes)].Line.HTTP, "--ca", ca)
		c, err := client.Dial(t.Context(), client.Config{Addrs: []string{leader.Line.Wire}, Token: short, TLS: trusting(t, ca)})
		if err == nil {
			c.Close()
		}
		return client.IsCode(err, wire.CodeAuthInvalid)
	}) {
		t.Error("a revoked token opens a node")
	}
	for _, want := range []string{"signed by unknown authority", "has expired"} {
		if !suite.Within(suite.Patience, func() bool { return strings.Contains(leader.Log.String(), want) }) {
			t.Errorf("the refusing node's log does not say %q", want)
		}
	}
}

// TestCertificatesRotateUnderLoad replaces all certificates while clients write. No write may be rejected or lost,
// and new connections must get the new certificates.
func TestCertificatesRotateUnderLoad(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	nodes, au, token := secureThree(t)
	leaderOf(t, nodes)
	addrs := wireAddrs(nodes)
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	acked := map[string]string{}
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ { // a new connection for every few writes, so that handshakes happen during the change
				c, err := client.Dial(t.Context(), client.Config{Addrs: addrs, Token: token, TLS: trusting(t, au.Path("ca.crt"))})
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				for j := range 5 {
					m := wire.NewRemember(fmt.Sprintf("writer %d memory %d.%d", w, i, j))
					m.IdempotencyKey = client.NewKey()
					rid, err := putUntilKnown(t.Context(), c, m)
					if err != nil {
						t.Errorf("writer %d: %v", w, err)
					}
					mu.Lock()
					acked[rid] = m.Text
					mu.Unlock()
				}
				c.Close()
			}
		})
	}
	waitForWrites(t, &mu, acked, 50)
	serials := map[string]string{}
	for i := range nodes {
		name, err := au.Issue(uint32(i+1), []string{"127.0.0.1"}, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		cert, err := tls.LoadX509KeyPair(au.Path(name+".crt"), au.Path(name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		serials[addrs[i]] = cert.Leaf.SerialNumber.String()
	}
	checkBadKey(t, nodes, au, token)
	for addr, want := range serials {
		if !suite.Within(suite.Patience, func() bool { return shown(t, addr, au).SerialNumber.String() == want }) {
			t.Errorf("%s goes on with its old certificate", addr)
		}
	}
	waitForWrites(t, &mu, acked, 50)
	nodes[0].Kill() // a restarted member must show its new certificate to the others
	nodes[0].Launch()()
	waitForWrites(t, &mu, acked, 50)
	stop()
	wg.Wait()
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, acked)
	}
	t.Logf("%d writes acknowledged across the change", len(acked))
}

// checkBadKey replaces the first node's key by another node's, and then restores it. Meanwhile the node must keep its
// current certificate, and `cairn cluster keys` and the doctor must report the problem at another node.
func checkBadKey(t *testing.T, nodes []*cairntest.Node, au *cluster.Authority, token string) {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{"node1.key", "node2.key"} {
		b, err := os.ReadFile(au.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	for _, name := range []string{"node2.key", "node1.key"} {
		if err := os.WriteFile(au.Path("node1.key"), files[name], 0o600); err != nil {
			t.Fatal(err)
		}
		for verb, want := range map[string]string{"cluster keys": "its files are not used: certificate " + au.Path("node1.crt"),
			"doctor": "with which it would not start: certificate " + au.Path("node1.crt")} {
			args := append(strings.Fields(verb), "--endpoints", nodes[1].Line.HTTP, "--ca", au.Path("ca.crt"), "--token", token)
			if !suite.Within(suite.Patience, func() bool {
				out, _ := cairntest.Command(t.Context(), args...).CombinedOutput()
				return strings.Contains(string(out), want) == (name == "node2.key")
			}) {
				t.Errorf("cairn %s, with %s: it says %q, or does not", verb, name, want)
			}
		}
	}
}

// shown returns the certificate that a port presents.
func shown(t testing.TB, addr string, au *cluster.Authority) *x509.Certificate {
	t.Helper()
	nc, err := tls.Dial("tcp", addr, trusting(t, au.Path("ca.crt")))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	return nc.ConnectionState().PeerCertificates[0]
}

func TestClusterInitMakesCertificates(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	if _, code := cairntest.Run(t, "cluster", "init", "--nodes", "3", "--dir", dir, "--tls"); code != 0 {
		t.Fatal("init")
	}
	for _, name := range []string{"ca", "node1", "node2", "node3"} {
		if st, err := os.Stat(filepath.Join(dir, "tls", name+".key")); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s.key: %v, %v", name, st, err)
		}
	}
	if _, code := cairntest.Run(t, "cluster", "cert", "--dir", filepath.Join(dir, "tls"), "--node-id", "2", "--host",
		"db2.example"); code != 0 {
		t.Fatal("cert")
	}
	elsewhere := filepath.Join(dir, "tsl")
	if _, code := cairntest.Run(t, "cluster", "cert", "--dir", elsewhere, "--node-id", "2"); code != cli.ExitFailed {
		t.Errorf("a certificate of no authority: exit %d", code)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("an authority that nobody trusts was made")
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls", "node2.crt"), filepath.Join(dir, "tls", "node2.key"))
	if err != nil || cert.Leaf.VerifyHostname("db2.example") != nil || cert.Leaf.VerifyHostname("node-2.cairn") != nil {
		t.Errorf("the new certificate: %v %v", cert.Leaf, err)
	}
}

// TestDoctorLooksAtCertificates checks that the doctor reports certificates that expire soon, have expired, or do not
// match the key, and says what to do.
func TestDoctorLooksAtCertificates(t *testing.T) {
	t.Parallel()
	au, err := cluster.OpenAuthority(filepath.Join(t.TempDir(), "tls"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, tc := range []struct {
		id           uint32
		from, until  time.Duration
		status, says string
	}{
		{1, -time.Hour, 100 * 24 * time.Hour, doctor.OK, "ends in 99 days"},
		{1, -time.Hour, 3 * 24 * time.Hour, doctor.Warn, "ends in 2 days"},
		{1, -48 * time.Hour, -24 * time.Hour, doctor.Fail, "ended "},
		{1, 4 * time.Hour, 100 * 24 * time.Hour, doctor.Fail, "valid from "},
		{2, -time.Hour, 100 * 24 * time.Hour, doctor.Fail, "this node needs node-1.cairn"},
	} {
		name, err := au.Issue(tc.id, []string{"127.0.0.1"}, now.Add(tc.from), now.Add(tc.until))
		if err != nil {
			t.Fatal(err)
		}
		f := doctor.CheckCertificate("tls.cluster",
			certs.Files{Cert: au.Path(name + ".crt"), Key: au.Path(name + ".key"), CA: au.Path("ca.crt")}, true, 1)
		if f.Status != tc.status || !strings.Contains(f.Says, tc.says) || (f.Status != doctor.OK) != (f.Do != "") {
			t.Errorf("%+v: %+v", tc, f)
		}
	}
}
