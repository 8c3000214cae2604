package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/wire/client"
)

// localCluster is nodes of this process, for measuring.
type localCluster struct {
	dir, token string
	configs    []node.Config
	nodes      []*node.Node
	addrs      []string
}

func startLocal(ctx context.Context, n int, edit ...func(*node.Config)) (_ *localCluster, err error) {
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err != nil {
		return nil, err
	}
	l := &localCluster{dir: dir, token: home.NewSecret()}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	base, err := config.FreeRow(n) // members must know each other's addresses before any of them listens
	if err != nil {
		return nil, err
	}
	for i := range n {
		cfg := node.Config{Home: filepath.Join(dir, fmt.Sprint("node", i+1)), Member: node.Member{NodeID: uint32(i + 1), Secret: l.token},
			Addresses: node.Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: config.Loopback(base + i)},
			Raft:      node.Raft{Heartbeat: config.DevHeartbeat, Election: config.DevElection},
			Version:   cli.BuildVersion(), Logger: slog.New(slog.DiscardHandler)}
		for j := range n {
			if j != i {
				cfg.Member.Peers = append(cfg.Member.Peers, node.Peer{Addr: config.Loopback(base + j)})
			}
		}
		for _, f := range edit {
			f(&cfg)
		}
		nd, err := node.Open(ctx, cfg)
		if err != nil {
			return nil, err
		}
		l.configs = append(l.configs, cfg)
		l.nodes = append(l.nodes, nd)
		l.addrs = append(l.addrs, nd.Addrs().Wire)
	}
	for _, nd := range l.nodes {
		if err := nd.Ready(ctx); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// reopen starts a node again that was closed.
func (l *localCluster) reopen(ctx context.Context, i int) error {
	nd, err := node.Open(ctx, l.configs[i])
	if err != nil {
		return err
	}
	l.nodes[i], l.addrs[i] = nd, nd.Addrs().Wire
	return nd.Ready(ctx)
}

// dial makes a client of the nodes.
func (l *localCluster) dial(ctx context.Context) (*client.Client, error) {
	return client.Dial(ctx, client.Config{Addrs: l.addrs, Token: l.token})
}

func (l *localCluster) close() error {
	var errs []error
	for _, n := range l.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(l.dir))...)
}

// A subject is what a bench measures: the cluster that flags name, or nodes that it started.
type subject struct {
	cfg  client.Config
	said string // which it is
	own  *localCluster
}

// subjectOf is the cluster that flags name, or so many nodes, which it starts.
func subjectOf(ctx context.Context, t *cli.Target, nodes int) (s subject, err error) {
	s.cfg.Database, s.said = t.Database, fmt.Sprint(t.Endpoints)
	if len(t.Endpoints) > 0 {
		s.cfg.Addrs, s.cfg.Token, err = named(ctx, t)
		return s, err
	}
	if nodes != 1 && nodes != 3 {
		return s, cli.Usagef("--nodes %d: want 1 or 3", nodes)
	}
	if s.own, err = startLocal(ctx, nodes); err != nil {
		return s, err
	}
	s.cfg.Addrs, s.cfg.Token = s.own.addrs, s.own.token
	s.said = fmt.Sprintf("nodes started here: %d", nodes)
	return s, nil
}

// gateway is the URL of one of its nodes' gateways.
func (s subject) gateway(ctx context.Context, t *cli.Target) (string, error) {
	if s.own == nil {
		return t.URL(ctx)
	}
	return "http://" + s.own.nodes[0].Addrs().HTTP, nil
}

// close ends what was started.
func (s subject) close() error {
	if s.own == nil {
		return nil
	}
	return s.own.close()
}

// dialAll makes so many clients, which are the caller's to close; those that were made before one failed are closed.
func dialAll(ctx context.Context, cfg client.Config, n int) (all clients, err error) {
	for range n {
		c, err := client.Dial(ctx, cfg)
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

type clients []*client.Client

func (all clients) close() {
	for _, c := range all {
		_ = c.Close() // what it was asked was answered
	}
}

// named is the wire ports of the cluster that the user names, and the token.
func named(ctx context.Context, t *cli.Target) (addrs []string, token string, err error) {
	if addrs, err = t.Wire(ctx); err == nil {
		token, err = t.Token()
	}
	return addrs, token, err
}
