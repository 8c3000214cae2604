package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/wire/client"
)

// A LocalCluster is a cluster of nodes in this process.
type LocalCluster struct {
	Dir     string
	Client  client.Config // of all nodes
	Configs []node.Config
	Nodes   []*node.Node
}

// Cluster starts n nodes in this process and waits until they serve.
func (l *Rig) Cluster(ctx context.Context, n int, edit ...func(*node.Config)) (*LocalCluster, error) {
	dir, err := l.Dir()
	if err != nil {
		return nil, err
	}
	c := &LocalCluster{Dir: dir, Client: client.Config{Token: home.NewSecret()}}
	l.OnClose(func() (err error) {
		for _, nd := range c.Nodes {
			err = errors.Join(err, nd.Close())
		}
		return err
	})
	base, err := config.FreePorts(n) // members need each other's addresses before any of them listens
	if err != nil {
		return nil, err
	}
	for i := range n {
		cfg := node.Config{Home: filepath.Join(dir, fmt.Sprint("node", i+1)),
			Member:    node.Member{NodeID: uint32(i + 1), Secret: c.Client.Token},
			Addresses: node.Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: config.Loopback(base + i)},
			Version:   cli.BuildVersion(), Logger: slog.New(slog.DiscardHandler)}
		for j := range n {
			if j != i {
				cfg.Member.Peers = append(cfg.Member.Peers, config.Loopback(base+j))
			}
		}
		for _, f := range edit {
			f(&cfg)
		}
		nd, err := node.Open(ctx, cfg)
		if err != nil {
			return nil, err
		}
		c.Configs, c.Nodes, c.Client.Addrs = append(c.Configs, cfg), append(c.Nodes, nd), append(c.Client.Addrs, nd.Addrs().Wire)
	}
	for _, nd := range c.Nodes {
		if err := nd.Ready(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Reopen opens a closed node again.
func (c *LocalCluster) Reopen(ctx context.Context, i int) error {
	nd, err := node.Open(ctx, c.Configs[i])
	if err != nil {
		return err
	}
	c.Nodes[i], c.Client.Addrs[i] = nd, nd.Addrs().Wire
	return nd.Ready(ctx)
}

// Gateway returns the URL of the first node's gateway.
func (c *LocalCluster) Gateway() string { return "http://" + c.Nodes[0].Addrs().HTTP }

// A clusterUnderTest is the measured cluster: the one in the flags, or nodes that the bench started.
type clusterUnderTest struct {
	cfg         client.Config
	description string // its description in reports
	local       *LocalCluster
}

// clusterUnderTest returns the cluster in the flags. Without endpoints it starts a cluster of 1 or 3 nodes.
func (l *Rig) clusterUnderTest(ctx context.Context, t *cli.Target, nodes int, edit ...func(*node.Config)) (s clusterUnderTest, err error) {
	if len(t.Endpoints) > 0 {
		s.description = fmt.Sprint(t.Endpoints)
		if s.cfg.Addrs, err = t.Wire(ctx); err == nil {
			s.cfg.Token, err = t.Token()
		}
	} else if nodes != 1 && nodes != 3 {
		return s, cli.Usagef("--nodes %d: want 1 or 3", nodes)
	} else if s.local, err = l.Cluster(ctx, nodes, edit...); err == nil {
		s.cfg, s.description = s.local.Client, fmt.Sprintf("nodes started here: %d", nodes)
	}
	s.cfg.Database = t.Database
	return s, err
}

// gateway returns the URL of a node's gateway.
func (s clusterUnderTest) gateway(ctx context.Context, t *cli.Target) (string, error) {
	if s.local == nil {
		return t.URL(ctx)
	}
	return s.local.Gateway(), nil
}
