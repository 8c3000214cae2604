package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/pause"
)

// How a node queries DNS for the members.
const (
	dnsInterval       = time.Second
	dnsLogInterval    = 10 * time.Second // between two log lines about waiting
	maxMemberAttempts = 3                // attempts of an existing member, which then starts without DNS because it knows the others
)

// FindPeers fills cluster.peers from the SRV records of cluster.peers_srv, this node's own record included. A node
// with an empty home waits until there are at least cluster.peers_expected records: with fewer members, two separate
// clusters could be founded.
func (f *File) FindPeers(ctx context.Context, dns *net.Resolver, log *slog.Logger) error {
	c := &f.Cluster
	if c.PeersSRV == "" {
		return nil
	}
	if len(c.Peers) > 0 {
		return errors.New("cluster.peers and cluster.peers_srv both say who the members are: remove one")
	}
	c.ClusterPort = cmp.Or(c.ClusterPort, 7440)
	_, err := os.Stat(filepath.Join(cmp.Or(f.Server.DataDir, "./data"), "raft"))
	member, want := err == nil, cmp.Or(c.PeersExpected, 3)
	for told, asked := time.Now(), 1; ; asked++ {
		_, records, err := dns.LookupSRV(ctx, "", "", c.PeersSRV)
		if len(records) >= want || member && (len(records) > 0 || asked >= maxMemberAttempts) {
			for _, r := range records {
				c.Peers = append(c.Peers, filePeer{Addr: net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port)))})
			}
			slices.SortFunc(c.Peers, func(a, b filePeer) int { return cmp.Compare(a.Addr, b.Addr) })
			return nil
		}
		if now := time.Now(); asked == 1 || now.Sub(told) >= dnsLogInterval {
			told = now
			log.Info("waiting until DNS names the members", "peers_srv", c.PeersSRV, "named", len(records), "expected", want, "err", err)
		}
		if err := pause.For(ctx, dnsInterval); err != nil {
			return err
		}
	}
}

// RemoveSelf removes this node from the members found in DNS.
func (f *File) RemoveSelf() error {
	c := &f.Cluster
	if c.PeersSRV == "" || len(c.Peers) == 0 {
		return nil
	}
	own := slices.IndexFunc(c.Peers, func(p filePeer) bool { return p.Addr == c.AdvertiseAddr })
	if own < 0 {
		return fmt.Errorf("cluster.advertise_addr %q is not among the members that %s names: %s", c.AdvertiseAddr,
			c.PeersSRV, strings.Join(api.Each(c.Peers, filePeer.addr), ", "))
	}
	c.Peers = slices.Delete(c.Peers, own, own+1)
	return nil
}

func (p filePeer) addr() string { return p.Addr }

// FromHostname derives the node's settings from a numbered host name, such as that of a StatefulSet's pod, so that
// one configuration with all members serves all of them. NAME-2 is node 3. Its peer address is the configured peer
// with its host name; without one, it is this host name in the domain of the first peer. In the paths of certificates
// and keys, {node} is replaced with the node's id.
func (f *File) FromHostname(host string) error {
	host, _, _ = strings.Cut(host, ".")
	at := strings.LastIndexByte(host, '-')
	n, err := strconv.ParseUint(host[at+1:], 10, 31)
	if at < 0 || err != nil {
		return fmt.Errorf("host name %q does not end in -NUMBER", host)
	}
	if len(f.Cluster.Peers) == 0 {
		return fmt.Errorf("host name %q: cluster.peers must list all members, including this one", host)
	}
	own := ""
	for _, p := range f.Cluster.Peers {
		if name, _, _ := strings.Cut(p.Addr, "."); name == host {
			own = p.Addr
		}
	}
	if own == "" {
		_, rest, found := strings.Cut(f.Cluster.Peers[0].Addr, ".")
		if !found {
			return fmt.Errorf("cluster.peers: %q has no domain to find %s in", f.Cluster.Peers[0].Addr, host)
		}
		own = host + "." + rest
	}
	f.Cluster.Peers = slices.DeleteFunc(f.Cluster.Peers, func(p filePeer) bool { return p.Addr == own })
	f.Cluster.NodeID = uint32(n) + 1
	for _, t := range []*tlsFiles{&f.TLS.tlsFiles, &f.TLS.Cluster} {
		for _, path := range []*string{&t.CertPath, &t.KeyPath} {
			*path = strings.ReplaceAll(*path, "{node}", strconv.FormatUint(n+1, 10))
		}
	}
	f.Cluster.AdvertiseAddr = cmp.Or(f.Cluster.AdvertiseAddr, own)
	return nil
}
