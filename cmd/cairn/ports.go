package main

import (
	"net"
	"strconv"
)

// reservePorts finds free loopback addresses. They are free again when it returns, so somebody else may take
// one before it is used; members must know each other's addresses before any of them listens.
func reservePorts(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		ln, err := net.Listen("tcp", loopback(0))
		if err != nil {
			return nil, err
		}
		defer ln.Close()
		addrs[i] = ln.Addr().String()
	}
	return addrs, nil
}

// portOf is the port of an address that was bound.
func portOf(addr string) int {
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return n
}
