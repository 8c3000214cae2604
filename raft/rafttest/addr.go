// Package rafttest holds helpers for tests of members in any package: addresses, and bits that flip.
package rafttest

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

var given atomic.Uint32

// Addr returns an address that a test can listen on repeatedly. Members must know each other's addresses before they
// start and keep them through restarts, and no other process may take an address meanwhile. So each process uses its
// own loopback address, from which the system makes no connections.
func Addr(t testing.TB) string {
	t.Helper()
	pid := os.Getpid()
	host := net.IPv4(127, byte(1+pid>>16&0x7f), byte(pid>>8), byte(pid))
	for range 100 {
		addr := fmt.Sprintf("%s:%d", host, 10_000+given.Add(1)%50_000)
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			host = net.IPv4(127, 0, 0, 1) // the system has only one loopback address
			continue
		}
		ln.Close()
		return addr
	}
	t.Fatal("no free port")
	return ""
}
