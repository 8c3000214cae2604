// Package ownhost checks that the Host header of a request over loopback names this machine. In a DNS rebinding
// attack, a web page's own host name resolves to this machine, and the browser sends that name. The package imports
// no other package of this module.
package ownhost

import (
	"net"
	"strings"
)

// Is reports whether a Host header names this machine, by a loopback name or by the connection's local address; an
// address cannot be rebound. It compares the text: to a browser, another spelling of the same address is another
// origin, for which it may omit the headers that identify a page.
func Is(header string, at net.Addr) bool {
	host := Name(header)
	if host == "127.0.0.1" || host == "::1" || strings.EqualFold(host, "localhost") {
		return true
	}
	tcp, ok := at.(*net.TCPAddr)
	return ok && host == tcp.AddrPort().Addr().Unmap().String()
}

// Name returns a host without its port and without the brackets of an IPv6 address.
func Name(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
