package transport

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

const helloSecret = "a secret that must not travel 12345678"

// member starts a member with the given secrets; the first one is its own.
func member(t *testing.T, id uint32, dial func(context.Context, string) (net.Conn, error), secrets ...string) (*Transport, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if dial == nil {
		dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	tr := New(Options{NodeID: id, Advertise: ln.Addr().String(), Secret: secrets[0], Others: secrets[1:], Dial: dial,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))},
		&peer{id: id, forward: func(_ context.Context, entry string) string { return entry }}, ln)
	tr.Serve()
	t.Cleanup(func() { tr.Close(); tr.Wait() })
	return tr, ln.Addr().String()
}

// readFrame reads one frame.
func readFrame(t *testing.T, nc net.Conn) wire.Frame {
	t.Helper()
	nc.SetDeadline(time.Now().Add(suite.Patience))
	f, err := wire.NewReader(nc, wire.MaxLength).Next()
	if err != nil {
		t.Fatal(err)
	}
	f.Payload = bytes.Clone(f.Payload)
	return f
}

// TestAListenerInAMembersPlaceLearnsNothing: a listener at a dead member's address that does not know the secret
// receives only an id and a nonce, which are useless against other members.
func TestAListenerInAMembersPlaceLearnsNothing(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	heard := make(chan []byte, 1)
	go func() {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		var all bytes.Buffer
		r := wire.NewReader(io.TeeReader(nc, &all), wire.MaxLength)
		if _, err := r.Next(); err == nil {
			ok := &wire.ClusterHelloOK{NodeID: 2, ProtocolVersion: wire.Version, Raft: &wire.RaftHello{Nonce: newNonce(), MAC: newNonce()}}
			ok.SetChecksum()
			b, _ := wire.AppendPack(nil, wire.OpClusterHelloOK, 0, ok, false)
			_, _ = nc.Write(b)
			_, _ = r.Next() // the dialer sends nothing more
		}
		heard <- all.Bytes()
	}()
	dialer, addr := member(t, 1, nil, helloSecret)
	var refusal *PeerError
	if _, err := dialer.Pool.Dial(t.Context(), ln.Addr().String(), ForAppend); !errors.As(err, &refusal) ||
		refusal.Code != wire.CodeSecretMismatch {
		t.Fatalf("a listener without the secret: %v", err)
	}
	b := <-heard
	f, err := wire.NewReader(bytes.NewReader(b), wire.MaxLength).Next()
	var hello wire.ClusterHello
	if err = errors.Join(err, wire.Unpack(f, &hello, wire.MaxPlainEarly)); err != nil {
		t.Fatal(err)
	}
	nonce, sum := hello.Raft.Nonce, hello.Raft.Checksum
	hello.Raft.Nonce, hello.Raft.Checksum = nil, 0
	if len(nonce) != nonceSize || sum == 0 || !reflect.DeepEqual(*hello.Raft, wire.RaftHello{}) {
		t.Errorf("it heard %+v", hello.Raft)
	}
	if hello.Raft = nil; hello != (wire.ClusterHello{NodeID: 1, ProtocolVersion: wire.Version}) {
		t.Errorf("it heard %+v", hello)
	}
	if len(wire.AppendFrame(nil, f)) != len(b) {
		t.Errorf("it heard more than a hello: %d bytes", len(b))
	}
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, want := range []wire.Op{wire.OpClusterHelloOK, wire.OpError} {
		if _, err := nc.Write(b); err != nil {
			t.Fatal(err)
		}
		if got := readFrame(t, nc); got.Op != want {
			t.Fatalf("replayed, it is answered with %s, want %s", got.Op, want)
		}
	}
}

// TestARefusalIsLoggedOnce: a node with another secret retries again and again. The member that rejects it logs that
// once, and once more after the node was admitted. A client that only checks its secret (CheckSecret) is not logged.
func TestARefusalIsLoggedOnce(t *testing.T) {
	t.Parallel()
	answers, addr := member(t, 2, nil, helloSecret)
	var log bytes.Buffer
	var mu sync.Mutex
	answers.o.Log = slog.New(slog.NewTextHandler(&recordingConn{mu: &mu, to: &log, Conn: discardConn{}}, nil))
	const other = "quite another secret of enough bytes 123"
	meet := func(greet func(nc net.Conn) error, want error) {
		t.Helper()
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if err := greet(nc); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		nc.SetDeadline(time.Now().Add(suite.Patience))
		if err := nc.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, nc); err != nil { // until the member has ended the connection and has logged
			t.Fatal(err)
		}
	}
	friend, _ := member(t, 3, nil, helloSecret)
	for round := 1; round <= 2; round++ {
		for range 3 {
			meet(func(nc net.Conn) error {
				c := &Conn{Conn: nc, r: wire.NewReader(nc, wire.MaxLength), t: &Transport{o: Options{Secret: other}}}
				_, _, err := c.begin(time.Now().Add(suite.Patience), &handshake{dialer: 3, nonce: newNonce()})
				return err
			}, ErrSecret)
		}
		for secret, want := range map[string]error{helloSecret: nil, other: ErrSecret} {
			meet(func(nc net.Conn) error { return CheckSecret(nc, time.Now().Add(suite.Patience), secret) }, want)
		}
		mu.Lock()
		if got := strings.Count(log.String(), "peer refused"); got != round {
			t.Errorf("round %d: %d lines:\n%s", round, got, log.String())
		}
		mu.Unlock()
		if _, err := friend.Pool.Dial(t.Context(), addr, ForAsk); err != nil {
			t.Fatal(err)
		}
	}
}

// discardConn discards all writes.
type discardConn struct{ net.Conn }

func (discardConn) Write(b []byte) (int, error) { return len(b), nil }

// TestARecordedHelloProvesNothing: a recorded handshake that is replayed to the member fails at the proof.
func TestARecordedHelloProvesNothing(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sent bytes.Buffer
	dialer, _ := member(t, 1, func(ctx context.Context, addr string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		return &recordingConn{nc, &mu, &sent}, err
	}, helloSecret)
	_, addr := member(t, 2, nil, helloSecret)
	if _, err := dialer.Pool.Dial(t.Context(), addr, ForAppend); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	recording := bytes.Clone(sent.Bytes())
	mu.Unlock()
	if bytes.Contains(recording, []byte(helloSecret)) {
		t.Error("the secret travelled in clear")
	}
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Write(recording); err != nil {
		t.Fatal(err)
	}
	r := wire.NewReader(nc, wire.MaxLength)
	nc.SetDeadline(time.Now().Add(suite.Patience))
	var last wire.Frame
	for range 2 {
		if last, err = r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	var e wire.Error
	if err := wire.Unpack(last, &e, wire.MaxPlainPeer); err != nil || e.Code != wire.CodeSecretMismatch {
		t.Errorf("answered with %s: %+v, %v", last.Op, e, err)
	}
}

// recordingConn records all writes.
type recordingConn struct {
	net.Conn
	mu *sync.Mutex
	to *bytes.Buffer
}

func (r *recordingConn) Write(b []byte) (int, error) {
	r.mu.Lock()
	r.to.Write(b)
	r.mu.Unlock()
	return r.Conn.Write(b)
}

// TestMacsAreThoseOfTheVectors compares the MACs with test vectors for implementations in other languages.
// wire/testdata has the frames.
func TestMacsAreThoseOfTheVectors(t *testing.T) {
	t.Parallel()
	h := handshake{dialer: 1, answerer: 2, nonce: bytes.Repeat([]byte{0x11}, nonceSize), challenge: bytes.Repeat([]byte{0x22}, nonceSize)}
	for label, want := range map[string]string{
		serverLabel: "bad32791bc50c3e67c4e1ced6886ca99a700e7047a5365e4de7200dc6d33d793",
		clientLabel: "1c88fec0801d57d87dec796ed58c3aa4438a547b5c762f99b466ec9b4d241156",
	} {
		if got := hex.EncodeToString(h.mac(label, "s3cret")); got != want {
			t.Errorf("%q: %s, want %s", label, got, want)
		}
	}
	for _, c := range []struct {
		label, addr string
		seed        byte
		want        string
	}{
		{clientLabel, "127.0.0.1:7440", 0x33,
			"8eba9beeb3b7c2f6aeaff81533d8b1eb94de762fac410c9528df6e27100d0e816d966caa2022d1b69e1d4e62e98303383b3d1ea2cdbc6924856a2a07c9d5c101"},
		{serverLabel, "127.0.0.2:7440", 0x44,
			"fb56a2823061e4e248697635347abf412b26de342c7df02bf666c7cdacd5d70946c61e1042f8feb981c69b5ce238095971244f84e84efd1177792f1db64bb30e"},
	} {
		r := &wire.RaftHello{Purpose: ForAppend}
		if h.sign(c.label, keyOf(c.seed), c.addr, r); hex.EncodeToString(r.Proof) != c.want {
			t.Errorf("%q: %x, want %s", c.label, r.Proof, c.want)
		}
	}
}

// keyOf returns a key of 32 equal bytes.
func keyOf(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

// TestASignatureIsGoodForOneHello: a signature is valid only for the nonces, ids, purpose, address and direction that
// it was made for.
func TestASignatureIsGoodForOneHello(t *testing.T) {
	t.Parallel()
	made := func() (*handshake, *wire.RaftHello) {
		h := &handshake{dialer: 1, answerer: 2, nonce: bytes.Repeat([]byte{0x11}, nonceSize),
			challenge: bytes.Repeat([]byte{0x22}, nonceSize)}
		r := &wire.RaftHello{Purpose: ForAppend}
		h.sign(clientLabel, keyOf(3), "here:1", r)
		return h, r
	}
	h, r := made()
	if err := h.verify(clientLabel, r.Purpose, 1, r); err != nil {
		t.Error(err)
	}
	if err := h.verify(serverLabel, r.Purpose, 1, r); !errors.Is(err, errProof) {
		t.Errorf("in the other direction: %v", err)
	}
	for name, change := range map[string]func(*handshake, *wire.RaftHello){
		"dialer's nonce":   func(h *handshake, _ *wire.RaftHello) { h.nonce[0]++ },
		"answerer's nonce": func(h *handshake, _ *wire.RaftHello) { h.challenge[0]++ },
		"dialer":           func(h *handshake, _ *wire.RaftHello) { h.dialer = 3 },
		"answerer":         func(h *handshake, _ *wire.RaftHello) { h.answerer = 3 },
		"purpose":          func(_ *handshake, r *wire.RaftHello) { r.Purpose = ForAsk },
		"address":          func(_ *handshake, r *wire.RaftHello) { r.Addr = "there:1" },
		"key":              func(_ *handshake, r *wire.RaftHello) { r.Key = PublicText(keyOf(4)) },
		"no signature":     func(_ *handshake, r *wire.RaftHello) { r.Proof = nil },
		"no key":           func(_ *handshake, r *wire.RaftHello) { r.Key = "no hex" },
	} {
		h, r := made()
		if change(h, r); !errors.Is(h.verify(clientLabel, r.Purpose, 1, r), errProof) {
			t.Errorf("with another %s it is good", name)
		}
	}
}

// TestSecretsRotate: two members with a common secret accept each other, whichever dials and whichever secret is its
// own.
func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	older, newer, none := "the older secret "+helloSecret, "the newer secret "+helloSecret, "another secret "+helloSecret
	for _, c := range []struct {
		a, b string // own secret and others
		met  bool
	}{
		{older, older, true}, {older, older + "," + newer, true}, {older + "," + newer, newer + "," + older, true},
		{newer + "," + older, newer, true},
		{older, newer + "," + older, true}, {older, newer, false}, {older + "," + newer, none, false},
	} {
		ta, at := member(t, 1, nil, strings.Split(c.a, ",")...)
		tb, bt := member(t, 2, nil, strings.Split(c.b, ",")...)
		for _, d := range []struct {
			from *Transport
			to   string
		}{{ta, bt}, {tb, at}} {
			var refusal *PeerError
			_, err := d.from.Pool.Dial(t.Context(), d.to, ForAsk)
			if met := err == nil; met != c.met || !met && (!errors.As(err, &refusal) || refusal.Code != wire.CodeSecretMismatch) {
				t.Errorf("%s dials %s: %v", c.a, c.b, err)
			}
		}
	}
}
