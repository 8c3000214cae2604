package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FromHostname makes a node of a numbered host, such as a pod of a StatefulSet: NAME-2 is node 3, and its peer address is
// the configured peer that bears its name, or for a number beyond those the first one's with the number changed. So one
// configuration, which lists all members, serves them all: in the paths of certificates and keys {node} stands for the node's id.
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
