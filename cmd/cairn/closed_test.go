package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/node/nodetest"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestALoneNodeOpensNoPeerPort checks that neither `cairn dev` nor `cairn serve` without peers listens for members,
// unless configured to. Each creates its own cluster secret at its first start anyway.
func TestALoneNodeOpensNoPeerPort(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	base := cairntest.FreePorts(t, 6)
	lone := filepath.Join(t.TempDir(), "lone.toml")
	homeDir := filepath.Join(t.TempDir(), "home")
	if err := os.WriteFile(lone,
		fmt.Appendf(nil, "[server]\nwire_port = %d\nbind = \"127.0.0.1\"\ndata_dir = %q\n[local]\ndisable = [\"string\", \"covenant\"]\n",
			base, homeDir), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"dev":   {"dev", "--home", filepath.Join(t.TempDir(), "home"), "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))},
		"serve": {"serve", "--strict", "--config", lone},
	} {
		t.Run(name, func(t *testing.T) {
			p := &cairntest.Node{T: t, Args: args}
			t.Cleanup(p.Kill)
			secret := ""
			for range 2 {
				p.Launch()()
				if b, err := json.Marshal(p.Line); err != nil || p.Line.Cluster != "" || bytes.Contains(b, []byte(`"cluster"`)) {
					t.Errorf("the ready line names a peer port: %s, %v", b, err)
				}
				path := filepath.Join(p.Line.Home, home.SecretFile)
				st, err := os.Stat(path)
				if err != nil || st.Mode().Perm() != 0o600 {
					t.Fatalf("the home's secret: %v, %v", st, err)
				}
				now := fileText(t, path)
				if len(now) < home.MinSecret || secret != "" && now != secret {
					t.Errorf("the secret has %d characters, and the same as before: %v", len(now), now == secret)
				}
				secret = now
				if s, ok := statusOf(t, p); !ok || s.Clustered {
					t.Errorf("status %+v, %v", s, ok)
				}
				if err := p.Stop(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A stranger is a connection to a peer port whose hello may be rejected.
type stranger struct {
	t  *testing.T
	nc net.Conn
	r  *wire.Reader
}

func meet(t *testing.T, addr string) *stranger {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(suite.Patience)); err != nil {
		t.Fatal(err)
	}
	return &stranger{t, nc, wire.NewReader(nc, wire.MaxLength)}
}

// ask sends a frame and returns the error with which the node rejects it, or "".
func (s *stranger) ask(op wire.Op, m wire.Message) string {
	s.t.Helper()
	b, err := wire.AppendPack(nil, op, 1, m, false)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.nc.Write(b); err != nil {
		return err.Error()
	}
	return s.refusal(s.r.Next())
}

// hello sends the hello of a member that knows a secret.
func (s *stranger) hello(secret string, id uint32) string {
	s.t.Helper()
	return s.refusal(nodetest.SayHello(s.nc, s.r, secret, nil,
		&wire.ClusterHello{NodeID: id, Role: "voter", AdvertiseAddr: "127.0.0.1:1", ProtocolVersion: wire.Version,
			Raft: nodetest.Versions()}))
}

func (s *stranger) refusal(f wire.Frame, err error) string {
	s.t.Helper()
	if err != nil {
		return err.Error()
	}
	var e wire.Error
	if f.Op != wire.OpError {
		return ""
	}
	if err := wire.Unpack(f, &e, wire.MaxPlainPeer); err != nil {
		s.t.Fatal(err)
	}
	return e.Message
}

// TestStrangersAtThePeerPort checks that no frame gets an answer without the secret, and that a client with the
// secret that is not a member can neither write nor change the membership. The log and the audit must stay unchanged.
func TestStrangersAtThePeerPort(t *testing.T) {
	t.Parallel()
	p := singleMember(t)
	before := controlState(t, waitSettled(t, p))
	entry, err := oplog.Entry{Node: 9,
		Ops: []oplog.Op{&oplog.CreateToken{Hash: access.HashToken("mine"), DB: oplog.DefaultDB, Scopes: []string{"admin"}, At: 1}}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	const self = "127.0.0.1:1"
	frames := map[string]struct {
		op wire.Op
		m  wire.Message
	}{
		"pull":     {wire.OpOplogPull, &wire.OplogPull{Database: "default", Limit: 10}},
		"join":     {wire.OpMembership, &wire.Membership{Action: "join", NodeID: 9, Addr: self, Role: "voter"}},
		"promote":  {wire.OpMembership, &wire.Membership{Action: "promote", NodeID: 1}},
		"remove":   {wire.OpMembership, &wire.Membership{Action: "remove", NodeID: 1}},
		"transfer": {wire.OpMembership, &wire.Membership{Action: "transfer", NodeID: 1}},
		"other":    {wire.OpMembership, &wire.Membership{Action: "join", NodeID: 7, Addr: self, Role: "voter"}},
		"forward":  {wire.OpForward, &wire.Forward{Entry: entry}},
	}
	for name, secret := range map[string]string{"empty": "", "short": "hunter2", "wrong": home.NewSecret()} {
		for _, id := range []uint32{1, 9} {
			if got := meet(t, p.Line.Cluster).hello(secret, id); got != "cluster secret mismatch" {
				t.Errorf("%s secret as node %d: %q", name, id, got)
			}
		}
	}
	for name, f := range frames {
		if got := meet(t, p.Line.Cluster).ask(f.op, f.m); !strings.HasPrefix(got, "expected ClusterHello: this is the peer port") {
			t.Errorf("%s without a hello: %q", name, got)
		}
		refused := meet(t, p.Line.Cluster)
		refused.hello("", 9)
		if got := refused.ask(f.op, f.m); got == "" {
			t.Errorf("%s after an empty secret is answered", name)
		}
		if name == "pull" || name == "join" { // the secret is enough to read the log and to join
			continue
		}
		s := meet(t, p.Line.Cluster)
		if got := s.hello(p.Token, 9); got != "" {
			t.Fatalf("hello as node 9: %q", got)
		}
		if got := s.ask(f.op, f.m); !strings.Contains(got, "not a member") {
			t.Errorf("%s by node 9, which is none: %q", name, got)
		}
		own := meet(t, p.Line.Cluster)
		if got := own.hello(p.Token, 1); !strings.Contains(got, "node 1 has the key") {
			t.Errorf("hello as the node that is asked: %q", got)
		}
		if got := own.ask(f.op, f.m); got == "" {
			t.Errorf("%s as the node that is asked is answered", name)
		}
	}
	if after := controlState(t, p); after != before {
		t.Errorf("log and audit were %s, and are %s", before, after)
	}
}

// waitSettled waits until a node has made its own writes after a start. The last of them is the operator of its
// Covenant dialect, before which it answers no request of that dialect.
func waitSettled(t *testing.T, p *cairntest.Node) *cairntest.Node {
	t.Helper()
	covenantAsked[json.RawMessage](t, covenantOf(t, p), map[string]any{"kind": "ping"})
	return p
}

// controlState returns everything that a change of the control plane would alter: the end of the log, the audit, the
// tokens and the members.
func controlState(t *testing.T, p *cairntest.Node) string {
	t.Helper()
	tg := cli.Target{Endpoints: []string{p.Line.HTTP}, TokenFile: p.TokenFile(), Timeout: suite.Patience}
	var log struct { // without the applied index, which is local to this node
		Term    uint64          `json:"current_term"`
		Last    uint64          `json:"last_log_index"`
		Members json.RawMessage `json:"members"`
	}
	var audit, tokens json.RawMessage
	for path, to := range map[string]any{"/v1/cluster/raft": &log, "/v1/admin/audit": &audit, "/v1/admin/tokens": &tokens} {
		if err := tg.Get(t.Context(), "GET", path, nil, to); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("term %d, last %d, members %s, audit %s, tokens %s", log.Term, log.Last, log.Members, audit, tokens)
}

// TestAPeersBombCostsLittle checks that compressed frames that unpack to 256 MiB, with or without a declared size,
// and frames of the largest allowed size cost a member less than 100 MB, even if eight clients with the secret send
// them repeatedly. The member collects its garbage at once: how much of it waits depends on the machine.
func TestAPeersBombCostsLittle(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "it weighs a process, which holds several times as much under the race detector")
	if runtime.GOOS != "linux" {
		t.Skip("memory of another process is read in /proc, which this system has not")
	}
	p := singleMember(t, "GOGC=1", "GOMEMLIMIT=64MiB")
	var streamed bytes.Buffer // without a declared size
	w, err := zstd.NewWriter(&streamed)
	if err != nil {
		t.Fatal(err)
	}
	for range 256 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	entries := bytes.Repeat([]byte("\x83\xa1i\x01\xa1t\x01\xa1k\x00"), wire.MaxPlainPeer/11)
	payloads := [][]byte{streamed.Bytes(), w.EncodeAll(make([]byte, 256<<20), nil), w.EncodeAll(make([]byte, wire.MaxPlainPeer), nil),
		w.EncodeAll(append([]byte("\x83\xa8database\xa7default\xa3ops\x90\xa4raft\x87\xa4term\x01\xa6leader\x09\xableader_addr\xa1a\xaaprev_index\x00\xa9prev_term\x00\xa6commit\x00\xa7entries\xdd"+
			string(binary.BigEndian.AppendUint32(nil, uint32(len(entries)/10)))), entries...), nil)}
	before, _ := procStat(t, p.Cmd.Process.Pid)
	peak := before
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var senders sync.WaitGroup
	for i := range 8 {
		senders.Go(func() {
			payload := payloads[i%len(payloads)]
			frame := wire.AppendFrame(nil, wire.Frame{Flags: wire.Version | wire.FlagZstd, Op: wire.OpOplogPush, Payload: payload})
			for ctx.Err() == nil {
				s := meet(t, p.Line.Cluster)
				if refused := s.hello(p.Token, 9); refused != "" {
					t.Error(refused)
					return
				}
				if _, err := s.nc.Write(frame); err != nil {
					t.Error(err)
					return
				}
				if _, err := s.r.Next(); err != nil {
					t.Error(err)
					return
				}
				s.nc.Close()
			}
		})
	}
	for ctx.Err() == nil {
		now, _ := procStat(t, p.Cmd.Process.Pid)
		peak = max(peak, now)
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	senders.Wait()
	t.Logf("%d MiB before, %d MiB more at most", before>>20, (peak-before)>>20)
	if peak-before > 100<<20 {
		t.Errorf("it cost %d MiB", (peak-before)>>20)
	}
}

// TestNodesAreNamedByTheirAdvertisedHost checks that a node that listens on every address tells its clients the host
// that its peers dial.
func TestNodesAreNamedByTheirAdvertisedHost(t *testing.T) {
	t.Parallel()
	dir, base := t.TempDir(), cairntest.FreePorts(t, config.PortsEach)
	n := config.LocalNode(filepath.Join(dir, "home"), 1, 1, base, home.NewSecret())
	n.Bind, n.Advertise, n.InsecurePeers, n.Master = "", fmt.Sprintf("localhost:%d", base+3), true, true
	p := &cairntest.Node{T: t, Args: []string{"serve", "--strict", "--config", filepath.Join(dir, "node.toml")}, Token: n.Secret}
	if err := config.Write(p.Args[3], n, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	p.Launch()()
	p.Line.HTTP = "http://" + config.Loopback(n.HTTPPort)
	var s struct {
		Leader string `json:"leader_addr"`
		HTTP   string `json:"leader_http"`
		Wire   string `json:"wire"`
	}
	tg := cli.Target{Endpoints: []string{p.Line.HTTP}, TokenText: p.Token, Timeout: suite.Patience}
	if err := tg.Get(t.Context(), "GET", "/v1/cluster", nil, &s); err != nil {
		t.Fatal(err)
	}
	if wire, http := fmt.Sprintf("localhost:%d", n.WirePort), fmt.Sprintf("localhost:%d", n.HTTPPort); s.Leader != wire || s.Wire != wire ||
		s.HTTP != http {
		t.Errorf("%+v, want %s and %s", s, wire, http)
	}
}
