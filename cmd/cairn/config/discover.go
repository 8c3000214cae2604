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

// How a node asks DNS for the members.
const (
	askDNSAgain = time.Second
	tellOfDNS   = 10 * time.Second // between two lines about waiting
	askedEnough = 3                // attempts of a node that is a member already: it knows the others, and starts without DNS
)

// FindPeers fills cluster.peers from the SRV records that cluster.peers_srv names, this node's own among them. A node
// with an empty home waits until there are as many as cluster.peers_expected says: members found a cluster together,
// and with fewer there could be two.
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
		if len(records) >= want || member && (len(records) > 0 || asked >= askedEnough) {
			for _, r := range records {
				c.Peers = append(c.Peers, filePeer{Addr: net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port)))})
			}
			slices.SortFunc(c.Peers, func(a, b filePeer) int { return cmp.Compare(a.Addr, b.Addr) })
			return nil
		}
		if now := time.Now(); asked == 1 || now.Sub(told) >= tellOfDNS {
			told = now
			log.Info("waiting until DNS names the members", "peers_srv", c.PeersSRV, "named", len(records), "expected", want, "err", err)
		}
		if err := pause.For(ctx, askDNSAgain); err != nil {
			return err
		}
	}
}

// WithoutSelf takes this node out of the members that DNS named.
func (f *File) WithoutSelf() error {
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

// FromHostname makes a node of a numbered host, such as a pod of a StatefulSet: NAME-2 is node 3, and its peer address
// is the configured peer that bears its name, or for a number beyond those the first one's with the number changed. So
// one configuration, which lists all members, serves them all: in the paths of certificates and keys {node} stands for
// the node's id.
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
