package node

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/certs"
)

// withTLS adds TLS to a listener. Without certificates it logs a warning for plain text off loopback.
func (n *Node) withTLS(name string, ln net.Listener, c *certs.Certificates, protocols ...string) net.Listener {
	if c == nil {
		n.warnPlainText(name, ln)
		return ln
	}
	cfg := c.ForClients()
	cfg.NextProtos = protocols
	return tls.NewListener(ln, cfg)
}

// checkPeerTLS rejects a plain-text peer port that other machines can reach, unless the configuration allows it.
func (c Config) checkPeerTLS() error {
	host, _, err := net.SplitHostPort(c.Addresses.Cluster)
	if err != nil || c.TLS.Peers.On() || c.TLS.PlainPeers || host == "localhost" {
		return nil // no peer port, or an address that is rejected elsewhere
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	return fmt.Errorf("cluster: the peer port %s is off loopback and has no TLS: set [tls.cluster] (`cairn cluster init --tls` and `cairn cluster cert` make certificates), "+
		"or insecure_peers = true in [cluster] if nobody else is on the network of the members", c.Addresses.Cluster)
}

func (n *Node) warnPlainText(name string, ln net.Listener) {
	if a, ok := ln.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		n.log.Warn("PLAIN TEXT OFF LOOPBACK: every machine on the way can read memories, tokens and secrets; configure [tls] and [tls.cluster]",
			"surface", name, "addr", a.String())
	}
}

// shownCertificates returns this node's certificates, by their audience.
func (n *Node) shownCertificates() map[string]certs.Shown {
	shown := map[string]certs.Shown{}
	for to, c := range n.certs {
		shown[to] = c.Shown()
	}
	return shown
}

// ports returns the ports that clients and members connect to.
func (n *Node) ports() (all []api.Port) {
	at := n.Addrs()
	for _, p := range []api.Port{{Name: "wire", Addr: at.Wire, TLS: n.cfg.TLS.Clients.On()},
		{Name: "http", Addr: at.HTTP, TLS: n.cfg.TLS.Clients.On()}, {Name: "peers", Addr: at.Cluster, TLS: n.cfg.TLS.Peers.On()}} {
		if p.Addr == "" { // a single node has no peer port
			continue
		}
		ap, err := netip.ParseAddrPort(p.Addr)
		p.Loopback = err == nil && ap.Addr().IsLoopback()
		all = append(all, p)
	}
	return all
}

// scheme returns the beginning of the URLs of the cluster's gateways.
func (n *Node) scheme() string {
	if n.cfg.TLS.Clients.On() {
		return "https://"
	}
	return "http://"
}
