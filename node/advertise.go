package node

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/cairndb/cairn/wire/ownhost"
)

// Invariant: a node never advertises an unspecified address (0.0.0.0, [::]). For a listener it means every address of
// this machine, but for a dialer this machine: a client that dials it would reach itself.

// unspecified reports whether an address has no host that others could dial.
func unspecified(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip, perr := netip.ParseAddr(host)
	return err == nil && (host == "" || perr == nil && ip.Unmap().IsUnspecified())
}

// advertisedAddr returns the address to advertise for a listener: the host at which peers dial the node, with the
// listener's port. For a listener on loopback it is the listener's own address. It returns "" if the host is unknown.
func advertisedAddr(bound, advertise string) string {
	host, port, err := net.SplitHostPort(bound)
	if err != nil {
		return bound
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		return bound
	}
	if peers, _, err := net.SplitHostPort(advertise); err == nil {
		return net.JoinHostPort(peers, port)
	}
	if unspecified(bound) {
		return ""
	}
	return bound
}

// hostNames returns the names at which, by the configuration, clients and peers reach the node.
func (c Config) hostNames() (names []string) {
	for _, addr := range []string{c.Addresses.Advertise, c.Addresses.AdvertiseWire, c.Addresses.AdvertiseHTTP} {
		if addr != "" {
			names = append(names, strings.ToLower(ownhost.Name(addr)))
		}
	}
	for _, origin := range append(slices.Clone(c.Surfaces.CORSOrigins), c.OAuth.Issuer) {
		if u, err := url.Parse(origin); err == nil && u.Host != "" {
			names = append(names, strings.ToLower(u.Hostname()))
		}
	}
	return names
}

// checkAdvertised rejects a configuration that would advertise unspecified addresses.
func (c Config) checkAdvertised() error {
	var errs []error
	for _, a := range []struct{ key, addr string }{{"advertise_addr", c.Addresses.Advertise},
		{"advertise_wire", c.Addresses.AdvertiseWire}, {"advertise_http", c.Addresses.AdvertiseHTTP}} {
		if a.addr == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(a.addr); err != nil {
			errs = append(errs, fmt.Errorf("cluster.%s: want host:port, got %q", a.key, a.addr))
		} else if unspecified(a.addr) {
			errs = append(errs, fmt.Errorf("cluster.%s: %s is a wildcard: set the address that peers dial", a.key, a.addr))
		}
	}
	if c.Addresses.Advertise == "" && c.Addresses.Cluster != "" && unspecified(c.Addresses.Cluster) {
		errs = append(errs,
			errors.New("cluster.advertise_addr is required when the peer port listens on every address: set the host:port that peers dial"))
	}
	return errors.Join(errs...)
}
