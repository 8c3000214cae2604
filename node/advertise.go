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

// Invariant: a node advertises no unspecified address (0.0.0.0, [::]). A listener reads it as "every address of this
// machine", and a dialer as "this machine": a client that is sent to it would ask itself.

// unspecified reports whether an address has no host that others could dial.
func unspecified(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip, perr := netip.ParseAddr(host)
	return err == nil && (host == "" || perr == nil && ip.Unmap().IsUnspecified())
}

// reachedAt is the address that a node advertises for a listener: the host at which its peers dial it with the
// listener's port, or the listener's own address when it listens on loopback alone. It is empty when the host is not
// known.
func reachedAt(bound, advertise string) string {
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

// hosts are the names at which the configuration says that clients and peers find the node.
func (c Config) hosts() (names []string) {
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

// reachable rejects a configuration that would advertise unspecified addresses.
func (c Config) reachable() error {
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
