package node

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"

	"github.com/cairndb/cairn/node/certs"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

// ImportLost sends records that a node's home has and the cluster has lost to the cluster. It connects to the members
// with the identity of this node, which may or may not be running.
func ImportLost(ctx context.Context, cfg Config, lost home.LostRecords) (done home.Imported, err error) {
	files := cfg.Files()
	secret, err := home.OpenSecret(files)
	if err != nil {
		return done, err
	}
	identity, err := home.OpenIdentity(cfg.Home)
	if err != nil {
		return done, err
	}
	var client *tls.Config
	if cfg.TLS.Peers.On() {
		own, err := certs.Open(cfg.TLS.Peers, cfg.Logger)
		if err != nil {
			return done, fmt.Errorf("tls.cluster: %w", err)
		}
		_, client = own.ForPeers()
	}
	addrs := append([]string{cmp.Or(cfg.Addresses.Advertise, cfg.Addresses.Cluster)}, cfg.Member.Peers...)
	to := raft.NewClient(raft.Config{NodeID: cfg.Member.NodeID, Advertise: addrs[0], Logger: cfg.Logger,
		Hello:       func() wire.RaftHello { return helloOf(cfg) },
		Credentials: raft.Credentials{Secret: secret, Identity: identity, ClientTLS: client}}, addrs)
	defer to.Close()
	return home.ImportLost(ctx, files, lost, to)
}
