package node

import (
	"context"
	"net"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/console"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/node/gateway"
	"github.com/cairndb/cairn/node/mcp"
	"github.com/cairndb/cairn/node/mem0"
	"github.com/cairndb/cairn/node/memorystores"
	"github.com/cairndb/cairn/node/oauth"
	"github.com/cairndb/cairn/node/peerport"
	"github.com/cairndb/cairn/node/wireport"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire/large"
)

// surfaces are the node's ports of clients, and the memory that their requests share.
type surfaces struct {
	bodies  *large.Shares // of requests being read and of answers being sent, on all ports
	turns   large.Turns   // at decoding large requests
	wires   *access.Conns // of the wire port
	wire    *wireport.Server
	gateway *gateway.Gateway
	wireLn  net.Listener
	httpLn  net.Listener
}

func newSurfaces(l Limits) surfaces {
	return surfaces{bodies: large.NewBudget(), turns: large.NewTurns(), wires: access.NewConns(l.MaxConns, l.MaxConnsPerIP)}
}

// openSurfaces has the node's ports of clients answer. What needs the log waits for it there.
func (n *Node) openSurfaces() (err error) {
	n.wire = wireport.New(wireport.Config{Door: n.service, Access: n.access, Conns: n.wires, Log: n.log, Errors: n.errors(),
		WaitOpen: n.commit.WaitOpen, Indexed: n.commit.Indexed,
		Budget: n.bodies, Turns: n.turns, Lenient: n.cfg.Surfaces.Lenient, Forward: n.cfg.Surfaces.forwards(false),
		MaxInFlight: n.cfg.Limits.MaxInFlight, AuthTimeout: n.cfg.Limits.AuthTimeout, WriteTimeout: n.cfg.Limits.writeTimeout})
	n.serving = append(n.serving, n.wire.Close)
	n.spawn("wire", func(context.Context) error { return n.wire.Run(n.wireLn) })
	if n.gateway, err = n.newGateway(); err != nil {
		return err
	}
	n.serving = append(n.serving, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		return n.gateway.Close(ctx)
	})
	n.spawn("http", func(context.Context) error { return n.gateway.Run(n.httpLn) })
	return nil
}

func (n *Node) newGateway() (*gateway.Gateway, error) {
	s := n.service
	oauth, err := n.authorizer()
	if err != nil {
		return nil, err
	}
	m := engine.NewMetrics(s, n.wires)
	g := gateway.New(gateway.Config{Door: s, Foreign: []gateway.Dialect{mem0.New(s), memorystores.New(s)}, OAuth: oauth,
		Access: n.access, Conns: access.NewConns(n.cfg.Limits.MaxConns, n.cfg.Limits.MaxConnsPerIP), Metrics: m,
		Console: console.Handler(), Log: n.log,
		Models:   mcp.New(mcp.Config{Door: s, Version: n.cfg.Version, Lenient: n.cfg.Surfaces.Lenient, Log: n.log}),
		WaitOpen: n.commit.WaitOpen,
		Leader:   s.Cluster().KnownLeader, Budget: n.bodies, Turns: n.turns, Lenient: n.cfg.Surfaces.Lenient,
		Forward: n.cfg.Surfaces.forwards(true),
		Hosts:   n.cfg.hosts(), MaxInFlight: n.cfg.Limits.MaxInFlight, MaxRPS: n.cfg.Limits.MaxRPS, CORSOrigins: n.cfg.Surfaces.CORSOrigins})
	m.Gateway = g
	return g, nil
}

// authorizer issues access tokens for /mcp where the configuration names an issuer; nil where it does not.
func (n *Node) authorizer() (gateway.Authorizer, error) {
	if n.cfg.OAuth.Issuer == "" {
		return nil, nil
	}
	return oauth.New(oauth.Config{Settings: n.cfg.OAuth, Door: n.service, Access: n.access,
		Secrets: append([]string{n.cfg.Member.Secret}, n.cfg.Member.OtherSecrets...)})
}

// errors says errors in the protocol that clients and peers share.
func (n *Node) errors() wireport.Errors {
	return wireport.Errors{Leader: n.service.Cluster().KnownLeader, Log: n.log}
}

// peers answers what other nodes ask.
func (n *Node) peers() raft.Handler {
	s := n.service
	return struct {
		*engine.Service
		*peerport.Port
	}{s, peerport.New(peerport.Config{State: n.state, WaitOpen: n.commit.WaitOpen,
		Status: s.Cluster().PeerStatus, Record: s.Record, Push: s.Push, Errors: n.errors().Of, Turns: n.turns})}
}
