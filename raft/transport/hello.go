package transport

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/cairndb/cairn/wire"
)

// Members prove the cluster secret to each other before they send anything else:
//
//	dialing side                                answering side
//	CLUSTER_HELLO: id, nonce              ->
//	                                      <-    CLUSTER_HELLO_OK: id, nonce, mac "server"
//	CLUSTER_HELLO: all, mac "client",     ->
//	    key, signature "client"
//	                                      <-    CLUSTER_HELLO_OK: all, key, signature "server"
//
// A mac is HMAC-SHA256 with the secret over its side's label, both nonces and both ids. So a program that listens at
// a dead member's address learns neither the secret nor a proof that it could use elsewhere. The answering side sends
// a mac for each secret that it accepts; the dialing side proves the one that it knows as well. The secret admits a
// node; its key proves its id (proof.go). A foreign peer has no raft map and sends the secret in clear text, to this
// port only.

// nonceSize is the length of a nonce in bytes.
const nonceSize = 32

const (
	serverLabel = "cairn hello server\x00"
	clientLabel = "cairn hello client\x00"
)

// handshake holds the values that both sides have chosen.
type handshake struct {
	dialer, answerer uint32
	nonce, challenge []byte // of the dialing side and of the answering side
}

// proofBytes returns the bytes that a side's proofs cover.
func (h *handshake) proofBytes(label string) []byte {
	b := append([]byte(label), h.nonce...)
	b = append(b, h.challenge...)
	b = binary.BigEndian.AppendUint32(b, h.dialer)
	return binary.BigEndian.AppendUint32(b, h.answerer)
}

func (h *handshake) mac(label, secret string) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(h.proofBytes(label))
	return m.Sum(nil)
}

// Prove adds to a dialing member's second hello the proofs that the first CLUSTER_HELLO_OK requests: the mac and,
// with an identity, the signature.
func Prove(secret string, identity ed25519.PrivateKey, nonce []byte, answer *wire.ClusterHelloOK, hello *wire.ClusterHello) {
	h := handshake{dialer: hello.NodeID, answerer: answer.NodeID, nonce: nonce, challenge: answer.Raft.Nonce}
	hello.Raft.Nonce, hello.Raft.MAC = nonce, h.mac(clientLabel, secret)
	h.sign(clientLabel, identity, hello.AdvertiseAddr, hello.Raft)
}

var errMismatch = errors.New("cluster secret mismatch")

// ErrSecret is the error of dialing a node with another cluster secret.
var ErrSecret = &PeerError{Code: wire.CodeSecretMismatch, Text: errMismatch.Error()}

// CheckSecret verifies that the node behind a connection knows one of the secrets, without revealing anything about
// the caller, not even an id. It returns ErrSecret if the node knows none of them.
func CheckSecret(nc net.Conn, deadline time.Time, secrets ...string) error {
	c := &Conn{Conn: nc, r: wire.NewReader(nc, wire.MaxLength),
		t: &Transport{o: Options{Others: secrets, Log: slog.New(slog.DiscardHandler)}}}
	_, _, err := c.begin(deadline, &handshake{nonce: newNonce()})
	return err
}

// secrets returns the secrets that this member accepts, its own first. An empty secret matches nothing.
func (o *Options) secrets() (all []string) {
	for _, s := range append([]string{o.Secret}, o.Others...) {
		if s != "" {
			all = append(all, s)
		}
	}
	return all
}

// match returns the secret that one of the macs proves. It compares all of them in constant time.
func (o *Options) match(h *handshake, label string, macs []byte) (secret string, ok bool) {
	for _, s := range o.secrets() {
		want := h.mac(label, s)
		for rest := macs; len(rest) >= sha256.Size; rest = rest[sha256.Size:] {
			if hmac.Equal(want, rest[:sha256.Size]) && !ok {
				secret, ok = s, true
			}
		}
	}
	return secret, ok
}

// validSecret compares a foreign peer's secret with all valid secrets. It compares hashes, so that its running time
// reveals neither length nor content.
func (o *Options) validSecret(secret string) bool {
	got, same := sha256.Sum256([]byte(secret)), 0
	for _, s := range o.secrets() {
		want := sha256.Sum256([]byte(s))
		same |= subtle.ConstantTimeCompare(got[:], want[:])
	}
	return same == 1
}

func newNonce() []byte {
	b := make([]byte, nonceSize)
	rand.Read(b) // never fails
	return b
}

// hello performs the dialing side's handshake. It checks the id, the secret, the certificate, the key and the cluster
// of the node that answers.
func (c *Conn) hello(deadline time.Time) error {
	h := handshake{dialer: c.t.o.NodeID, nonce: newNonce()}
	first, secret, err := c.begin(deadline, &h)
	if err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	hello, err := c.t.host.Hello(h.answerer, c.key.addr, c.key.purpose)
	if err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	Prove(secret, c.t.o.Identity, h.nonce, &first, hello)
	if c.Hello, err = c.ask(deadline, hello); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	if c.Hello.NodeID != h.answerer {
		return fmt.Errorf("hello: node %d answers as node %d", h.answerer, c.Hello.NodeID)
	}
	c.sums = true
	c.r.Checksums()
	if err := errors.Join(checkCertificate(c.Conn, c.Hello.NodeID),
		h.verify(serverLabel, c.key.purpose, c.Hello.NodeID, c.Hello.Raft)); err != nil {
		return err
	}
	_, err = c.t.host.CheckPeer(c.Hello.NodeID, c.key.addr, c.Hello.Raft)
	return err
}

// begin sends the first hello. It returns the answer, and the secret that both sides know.
func (c *Conn) begin(deadline time.Time, h *handshake) (first wire.ClusterHelloOK, secret string, err error) {
	first, err = c.ask(deadline, &wire.ClusterHello{NodeID: h.dialer, ProtocolVersion: wire.Version, Raft: &wire.RaftHello{Nonce: h.nonce}})
	if err != nil {
		return first, "", err
	}
	h.answerer, h.challenge = first.NodeID, bytes.Clone(first.Raft.Nonce) // clone: the reader reuses its buffer
	secret, ok := c.t.o.match(h, serverLabel, first.Raft.MAC)
	if !ok {
		return first, "", ErrSecret
	}
	return first, secret, nil
}

// ask sends a hello and returns a member's answer.
func (c *Conn) ask(deadline time.Time, hello *wire.ClusterHello) (ok wire.ClusterHelloOK, err error) {
	hello.SetChecksum()
	if err := c.Send(deadline, wire.OpClusterHello, hello); err != nil {
		return ok, err
	}
	f, err := c.Next(deadline)
	if err != nil {
		return ok, err
	}
	if err := readAnswer(f, wire.OpClusterHelloOK, &ok); err != nil {
		return ok, err
	}
	if ok.Raft == nil {
		return ok, fmt.Errorf("node %d is not a member: it does not prove the cluster secret", ok.NodeID)
	}
	return ok, c.t.checkAnswer(&ok, c.RemoteAddr())
}

// handleHello validates the hello and answers it. It changes only this connection.
func (c *Inbound) handleHello(f wire.Frame) bool {
	var h handshake
	code, err := c.readHello(f, &c.Peer)
	proven := false
	switch {
	case err != nil:
	case c.Peer.Raft == nil:
		proven = c.t.o.validSecret(c.Peer.ClusterSecret)
	default:
		f, h, proven, code, err = c.challenge(f)
	}
	c.Peer.ClusterSecret = ""
	if err == nil {
		code, err = c.checkHello(&h, proven)
	}
	if err != nil {
		_ = c.Fail(f, code, "%v", err)
		return false
	}
	if !c.admit(identityIn(c.Peer.NodeID, c.Peer.Raft)) {
		return false
	}
	c.t.rejections.forget(c.Peer.NodeID)
	ok := c.t.host.HelloOK(&c.Peer)
	if c.Peer.Raft != nil {
		h.sign(serverLabel, c.t.o.Identity, c.t.o.Advertise, ok.Raft)
		ok.SetChecksum()
	}
	return c.Reply(f, wire.OpClusterHelloOK, ok) == nil
}

// readHello decodes a hello.
func (c *Inbound) readHello(f wire.Frame, to *wire.ClusterHello) (wire.Code, error) {
	if f.Op != wire.OpClusterHello {
		return wire.CodeInvalidPayload, errors.New("expected ClusterHello: this is the peer port, for members; clients use the wire port or the gateway")
	}
	if err := wire.Unpack(f, to, wire.MaxPlainEarly); err != nil {
		return wire.CodeInvalidPayload, err
	}
	if checksummed(to.Raft) && !to.Checked() {
		c.t.damagedFrames.Add(1)
		err := errors.New(wire.ErrChecksum.Text)
		c.logRejected(to.NodeID, err, false)
		return wire.CodeInvalidPayload, err
	}
	return 0, nil
}

// challenge answers a member's first hello with a proof of the secret, and reads its second. proven reports whether
// the second hello proves the secret too.
func (c *Inbound) challenge(f wire.Frame) (second wire.Frame, h handshake, proven bool, code wire.Code, err error) {
	h = handshake{dialer: c.Peer.NodeID, answerer: c.t.o.NodeID, nonce: c.Peer.Raft.Nonce, challenge: newNonce()}
	if len(h.nonce) != nonceSize {
		return f, h, false, wire.CodeInvalidPayload,
			fmt.Errorf("a member's hello needs a nonce of %d bytes, and this has %d", nonceSize, len(h.nonce))
	}
	h.nonce = bytes.Clone(h.nonce) // clone: the reader reuses its buffer
	ok := &wire.ClusterHelloOK{NodeID: h.answerer, ProtocolVersion: wire.Version, Raft: &wire.RaftHello{Nonce: h.challenge}}
	for _, s := range c.t.o.secrets() {
		ok.Raft.MAC = append(ok.Raft.MAC, h.mac(serverLabel, s)...)
	}
	ok.SetChecksum()
	if err := c.Reply(f, wire.OpClusterHelloOK, ok); err != nil {
		return f, h, false, 0, err
	}
	if second, err = c.r.Next(); err != nil {
		if errors.Is(err, io.EOF) && h.dialer != 0 { // CheckSecret sends no id and ends the connection here
			c.logRejected(h.dialer, errors.New("it left before it proved the cluster secret, as a node with another one does"), false)
		}
		return f, h, false, wire.CodeInvalidPayload, err
	}
	c.Peer = wire.ClusterHello{}
	if code, err = c.readHello(second, &c.Peer); err != nil {
		return second, h, false, code, err
	}
	if c.Peer.Raft == nil || c.Peer.NodeID != h.dialer {
		return second, h, false, wire.CodeInvalidPayload, errors.New("the second hello is another node's")
	}
	_, proven = c.t.o.match(&h, clientLabel, c.Peer.Raft.MAC)
	return second, h, proven, 0, nil
}

// logRejected logs why a peer is rejected, once until the peer is admitted, because it retries several times a
// second. All peers that have not proved the secret share one entry, because they choose their ids freely.
func (c *Inbound) logRejected(peer uint32, why error, proven bool) {
	reason := errMismatch.Error()
	if proven {
		reason = why.Error()
	}
	if c.t.rejections.changed(peer, reason, proven) {
		c.t.o.Log.Warn("peer refused", "peer", peer, "addr", c.nc.RemoteAddr(), "err", why)
	}
}

// checkHello checks the complete hello: secret, version, certificate, key, cluster. It logs rejections.
func (c *Inbound) checkHello(h *handshake, proven bool) (code wire.Code, err error) {
	defer func() {
		if err != nil {
			c.logRejected(c.Peer.NodeID, err, proven)
		}
	}()
	if !proven {
		return wire.CodeSecretMismatch, errMismatch
	}
	if v := max(c.Peer.ProtocolVersion, 1); v != wire.Version {
		return wire.CodeInvalidPayload, fmt.Errorf("protocol version mismatch: peer=%d, ours=%d", v, wire.Version)
	}
	if err := checkCertificate(c.nc, c.Peer.NodeID); err != nil {
		return wire.CodeSecretMismatch, err
	}
	if c.Peer.Raft == nil {
		return 0, nil
	}
	if err := h.verify(clientLabel, c.Peer.Raft.Purpose, c.Peer.NodeID, c.Peer.Raft); err != nil {
		return wire.CodeInvalidPayload, err
	}
	return c.t.host.CheckPeer(c.Peer.NodeID, "", c.Peer.Raft)
}
