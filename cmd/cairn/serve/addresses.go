package serve

import (
	"crypto/tls"
	"net"
	"net/netip"
	"path/filepath"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/certs"
)

// addressesOf returns where this machine's commands reach a node. A listener on every address ([::]) is none that a
// certificate names: its host becomes the first of loopback's and the one that peers dial which the certificate is for.
func addressesOf(n node.Addrs, advertise string, secured certs.Files) (at cli.Addresses, err error) {
	at = cli.Addresses{Cluster: n.Cluster, TLS: secured.On()}
	dialled, _, _ := net.SplitHostPort(advertise) // an empty host is not a certificate's
	hosts := []string{"127.0.0.1", "localhost", dialled}
	host := hosts[0]
	if at.TLS {
		pair, err := tls.LoadX509KeyPair(secured.Cert, secured.Key)
		if err != nil {
			return at, err
		}
		for _, h := range hosts {
			if pair.Leaf.VerifyHostname(h) == nil {
				host = h
				break
			}
		}
	}
	at.Wire, at.HTTP = withHost(n.Wire, host), withHost(n.HTTP, host)
	if secured.CA != "" {
		at.CA, err = filepath.Abs(secured.CA)
	}
	return at, err
}

// withHost puts a host in the place of an unspecified one.
func withHost(addr, host string) string {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil || !ap.Addr().Unmap().IsUnspecified() {
		return addr
	}
	_, port, _ := net.SplitHostPort(addr) // it was just parsed
	return net.JoinHostPort(host, port)
}
