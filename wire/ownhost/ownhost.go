// Package ownhost tells this machine's names from others in the Host header of requests over loopback. A web page that
// has its own name rebound to this machine sends that name. The package depends on no other package of ours.
package ownhost

import (
	"net"
	"strings"
)

// Is reports whether a Host header names this machine: by its loopback names, or by the address that was connected
// to, for an address cannot be rebound. It is compared as written: another spelling of the same address is another
// origin to a browser, which may leave out there what it says of pages.
func Is(header string, at net.Addr) bool {
	host := Name(header)
	if host == "127.0.0.1" || host == "::1" || strings.EqualFold(host, "localhost") {
		return true
	}
	tcp, ok := at.(*net.TCPAddr)
	return ok && host == tcp.AddrPort().Addr().Unmap().String()
}

// Name is a host without its port and without the brackets of an address.
func Name(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
