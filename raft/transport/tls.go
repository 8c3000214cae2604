package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/cairndb/cairn/wire"
)

// Identity returns the DNS name in a member's certificate. Host names are not checked on the peer port: the
// certificate names the member's id, so a member may move to another host.
func Identity(id uint32) string { return fmt.Sprintf("node-%d.cairn", id) }

// checkCertificate rejects a TLS connection whose certificate names another node. A plain connection has no
// certificate to check.
func checkCertificate(nc net.Conn, id uint32) error {
	tc, ok := nc.(*tls.Conn)
	if !ok {
		return nil
	}
	certs := tc.ConnectionState().PeerCertificates
	if len(certs) == 0 {
		return errors.New("the peer showed no certificate")
	}
	if want := Identity(id); !slices.Contains(certs[0].DNSNames, want) {
		return fmt.Errorf("the certificate is for %v, and node %d needs %s", certs[0].DNSNames, id, want)
	}
	return nil
}

// tlsHandshake performs the TLS handshake, and closes the connection if it fails.
func tlsHandshake(ctx context.Context, tc *tls.Conn) (net.Conn, error) {
	if err := tc.HandshakeContext(ctx); err != nil {
		tc.Close()
		if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
			return nil, errors.New("tls: the peer does not use TLS")
		}
		return nil, err
	}
	return tc, nil
}

// tlsFaultKind returns the kind of a failed handshake. The number of kinds is small and does not depend on the peer.
func tlsFaultKind(err error) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return fmt.Sprint("certificate ", invalid.Reason)
	}
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return fmt.Sprintf("%T", err)
}

// handshake secures an accepted connection; it returns nil if it was rejected. A client without TLS gets the reason
// in a plain frame.
func (s *server) handshake(raw net.Conn) net.Conn {
	ctx, cancel := context.WithTimeout(s.t.ctx, unauthenticatedTimeout)
	defer cancel()
	tc := tls.Server(raw, s.t.o.ServerTLS)
	err := tc.HandshakeContext(ctx)
	if err == nil {
		return tc
	}
	if _, told := s.t.loggedTLSFaults.LoadOrStore(tlsFaultKind(err), true); !told { // unauthenticated clients may connect in any number
		s.t.o.Log.Warn("peer refused: no secure connection", "addr", raw.RemoteAddr(), "err", err)
	}
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil {
		_ = raw.SetWriteDeadline(time.Now().Add(time.Second))
		if b, err := wire.AppendPack(nil, wire.OpError, 0,
			&wire.Error{Code: wire.CodeInvalidPayload, Message: "this port speaks TLS"}, false); err == nil {
			_, _ = raw.Write(b) // it is rejected either way
		}
	}
	return nil
}
