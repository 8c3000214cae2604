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

// addressesOf returns the addresses at which commands on this machine reach a node. A certificate does not contain a
// wildcard listen address such as [::]. It is replaced with the first host that the certificate is valid for:
// 127.0.0.1, localhost, or the host that peers dial.
func addressesOf(n node.Addrs, advertise string, secured certs.Files) (at cli.Addresses, err error) {
	at = cli.Addresses{Cluster: n.Cluster, TLS: secured.On()}
	dialled, _, _ := net.SplitHostPort(advertise) // a blank host matches no certificate
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

// withHost replaces a wildcard address's host.
func withHost(addr, host string) string {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil || !ap.Addr().Unmap().IsUnspecified() {
		return addr
	}
	_, port, _ := net.SplitHostPort(addr) // cannot fail: parsed above
	return net.JoinHostPort(host, port)
}
