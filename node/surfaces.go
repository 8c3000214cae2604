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

// surfaces holds the node's ports of clients, and the limits that they share.
type surfaces struct {
	byteBudget *large.Shares // bytes of requests being read and answers being sent, on all ports
	turns      large.Turns   // turns at decoding large requests
	wireConns  *access.Conns // connections of the wire port
	wire       *wireport.Server
	gateway    *gateway.Gateway
	wireLn     net.Listener
	httpLn     net.Listener
}

func newSurfaces(l Limits) surfaces {
	return surfaces{byteBudget: large.NewBudget(), turns: large.NewTurns(), wireConns: access.NewConns(l.MaxConns, l.MaxConnsPerIP)}
}

// openSurfaces makes the ports of clients answer. Requests that need the log wait for it.
func (n *Node) openSurfaces() (err error) {
	n.wire = wireport.New(wireport.Config{Door: n.service, Access: n.access, Conns: n.wireConns, Log: n.log, Errors: n.wireErrors(),
		WaitOpen: n.commit.WaitOpen, Indexed: n.commit.Indexed,
		Budget: n.byteBudget, Turns: n.turns, Lenient: n.cfg.Surfaces.Lenient, Forward: n.cfg.Surfaces.forwardWrites(false),
		MaxInFlight: n.cfg.Limits.MaxInFlight, AuthTimeout: n.cfg.Limits.AuthTimeout, WriteTimeout: n.cfg.Limits.writeTimeout})
	n.serverClosers = append(n.serverClosers, n.wire.Close)
	n.spawn("wire", func(context.Context) error { return n.wire.Run(n.wireLn) })
	if n.gateway, err = n.newGateway(); err != nil {
		return err
	}
	n.serverClosers = append(n.serverClosers, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		return n.gateway.Close(ctx)
	})
	n.spawn("http", func(context.Context) error { return n.gateway.Run(n.httpLn) })
	return nil
}

func (n *Node) newGateway() (*gateway.Gateway, error) {
	s := n.service
	oauth, err := n.newAuthorizer()
	if err != nil {
		return nil, err
	}
	m := engine.NewMetrics(s, n.wireConns)
	g := gateway.New(gateway.Config{Door: s, Foreign: []gateway.Dialect{mem0.New(s), memorystores.New(s)}, OAuth: oauth,
		Access: n.access, Conns: access.NewConns(n.cfg.Limits.MaxConns, n.cfg.Limits.MaxConnsPerIP), Metrics: m,
		Console: console.Handler(), Log: n.log,
		Models:   mcp.New(mcp.Config{Door: s, Version: n.cfg.Version, Lenient: n.cfg.Surfaces.Lenient, Log: n.log}),
		WaitOpen: n.commit.WaitOpen,
		Leader:   s.Cluster().KnownLeader, Budget: n.byteBudget, Turns: n.turns, Lenient: n.cfg.Surfaces.Lenient,
		Forward: n.cfg.Surfaces.forwardWrites(true),
		Hosts:   n.cfg.hostNames(), MaxInFlight: n.cfg.Limits.MaxInFlight, MaxRPS: n.cfg.Limits.MaxRPS, CORSOrigins: n.cfg.Surfaces.CORSOrigins})
	m.Gateway = g
	return g, nil
}

// newAuthorizer returns the issuer of access tokens for /mcp, or nil if none is configured.
func (n *Node) newAuthorizer() (gateway.Authorizer, error) {
	if n.cfg.OAuth.Issuer == "" {
		return nil, nil
	}
	return oauth.New(oauth.Config{Settings: n.cfg.OAuth, Door: n.service, Access: n.access,
		Secrets: append([]string{n.cfg.Member.Secret}, n.cfg.Member.OtherSecrets...)})
}

// wireErrors returns the encoder of errors in the protocol of clients and peers.
func (n *Node) wireErrors() wireport.Errors {
	return wireport.Errors{Leader: n.service.Cluster().KnownLeader, Log: n.log}
}

// peerHandler returns the handler of requests of other nodes.
func (n *Node) peerHandler() raft.Handler {
	s := n.service
	return struct {
		*engine.Service
		*peerport.Port
	}{s, peerport.New(peerport.Config{State: n.state, WaitOpen: n.commit.WaitOpen,
		Status: s.Cluster().PeerStatus, Record: s.Record, Push: s.Push, Errors: n.wireErrors().Of, Turns: n.turns})}
}
