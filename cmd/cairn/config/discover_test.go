package config

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// name encodes a domain name for DNS.
func name(s string) (b []byte) {
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0)
}

// serveDNS serves SRV records of members 0 to n-1 as the answer to every query, and returns a resolver that uses it.
func serveDNS(t *testing.T, members *atomic.Int32) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	go func() {
		for b := make([]byte, 1500); ; {
			n, from, err := pc.ReadFrom(b)
			if err != nil {
				return
			}
			ask := b[12:n]
			end := strings.IndexByte(string(ask), 0) + 5 // behind the name its type and class
			count := int(members.Load())
			out := append([]byte(nil), b[:2]...)
			out = append(out, 0x84, 0, 0, 1, 0, byte(count), 0, 0, 0, 0)
			out = append(out, ask[:end]...)
			for i := range count {
				target := name(fmt.Sprintf("cairn-%d.cairn-peers.test", i))
				out = append(out, 0xc0, 12, 0, 33, 0, 1, 0, 0, 0, 1)
				out = binary.BigEndian.AppendUint16(out, uint16(6+len(target)))
				out = append(out, 0, 0, 0, 0)
				out = binary.BigEndian.AppendUint16(out, 7440)
				out = append(out, target...)
			}
			if _, err := pc.WriteTo(out, from); err != nil {
				return
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// TestPeersFromDNS: a node with an empty home waits for all members and removes itself from them. An existing member
// starts with fewer.
func TestPeersFromDNS(t *testing.T) {
	t.Parallel()
	var members atomic.Int32
	dns := serveDNS(t, &members)
	log := slog.New(slog.DiscardHandler)
	ctx := suite.Context(t)
	file := func(home string) *File {
		f := &File{}
		f.Server.DataDir, f.Cluster.PeersSRV = home, "_peer._tcp.cairn-peers.test."
		return f
	}
	members.Store(2)
	empty, short := t.TempDir(), time.Now()
	late := time.AfterFunc(200*time.Millisecond, func() { members.Store(3) })
	defer late.Stop()
	f := file(empty)
	if err := f.FindPeers(ctx, dns, log); err != nil || len(f.Cluster.Peers) != 3 || time.Since(short) < 200*time.Millisecond {
		t.Fatalf("%+v, %v", f.Cluster.Peers, err)
	}
	if err := f.FromHostname("cairn-1"); err != nil || len(f.Cluster.Peers) != 2 || f.Cluster.NodeID != 2 ||
		f.Cluster.AdvertiseAddr != "cairn-1.cairn-peers.test:7440" || f.Cluster.Peers[0].Addr != "cairn-0.cairn-peers.test:7440" {
		t.Errorf("by its host name: %+v, %v", f.Cluster, err)
	}
	f = file(empty)
	f.Cluster.AdvertiseAddr = "cairn-2.cairn-peers.test:7440"
	if err := f.FindPeers(ctx, dns, log); err != nil {
		t.Fatal(err)
	}
	if err := f.RemoveSelf(); err != nil || len(f.Cluster.Peers) != 2 {
		t.Errorf("by its address: %+v, %v", f.Cluster.Peers, err)
	}
	f = file(empty)
	f.Cluster.AdvertiseAddr = "elsewhere:7440"
	if err := f.FindPeers(ctx, dns, log); err != nil {
		t.Fatal(err)
	}
	if err := f.RemoveSelf(); err == nil || !strings.Contains(err.Error(), "elsewhere:7440") ||
		!strings.Contains(err.Error(), "cairn-0.cairn-peers.test:7440") {
		t.Errorf("an address that DNS does not name: %v", err)
	}
	members.Store(1)
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "raft"), 0o700); err != nil {
		t.Fatal(err)
	}
	f = file(home)
	if err := f.FindPeers(ctx, dns, log); err != nil || len(f.Cluster.Peers) != 1 {
		t.Errorf("a member: %+v, %v", f.Cluster.Peers, err)
	}
	f = file(empty)
	f.Cluster.Peers = []filePeer{{Addr: "a:1"}}
	if err := f.FindPeers(ctx, dns, log); err == nil || !strings.Contains(err.Error(), "remove one") {
		t.Errorf("both ways: %v", err)
	}
}
