package raft

import (
	"context"

	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// A Client sends requests to the members of a cluster under a member's identity. It does not open that member's log.
type Client struct {
	n     *Node
	addrs []string
}

// NewClient returns a client that reaches the members at their peer addresses.
func NewClient(cfg Config, addrs []string) *Client {
	n := newNode(cfg.withDefaults(), nil)
	n.offline = true
	return &Client{n, addrs}
}

// Close closes the client's connections.
func (c *Client) Close() {
	c.n.cancel()
	_ = c.n.transport.Close() // no request is running
	c.n.transport.Wait()
}

// Addrs returns the addresses of the members.
func (c *Client) Addrs() []string { return c.addrs }

// Forward sends an entry to a member and returns its outcome. Only a leader accepts it.
func (c *Client) Forward(ctx context.Context, addr string, m wire.Forward) (outcome []byte, err error) {
	var ok wire.ForwardOK
	err = c.n.transport.Pool.Call(ctx, addr, transport.ForForward, wire.OpForward, &m, wire.OpForwardOK, &ok)
	return ok.Outcome, err
}
