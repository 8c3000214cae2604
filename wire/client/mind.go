package client

import (
	"context"

	"github.com/cairndb/cairn/wire"
)

// Think asks the leader for a round of cognition. The counts are what was accepted.
func (c *Client) Think(ctx context.Context, m wire.Think) (wire.ThinkResult, error) {
	return ask[wire.ThinkResult](ctx, c, once, wire.OpThink, &m, wire.OpThinkResult)
}

// Conflicts lists contradictions, the most urgent first.
func (c *Client) Conflicts(ctx context.Context, m wire.Conflicts) ([]wire.Conflict, error) {
	r, err := ask[wire.ConflictResult](ctx, c, read, wire.OpConflicts, &m, wire.OpConflictResult)
	return r.Conflicts, err
}

// Resolve settles a contradiction. A conflict is settled once: a repeated one is refused.
func (c *Client) Resolve(ctx context.Context, m wire.Resolve) error {
	return c.call(ctx, once, wire.OpResolve, &m, wire.OpConflictResult, &wire.Resolved{})
}

// Personality is what the database's memories make of their agent.
func (c *Client) Personality(ctx context.Context) ([]wire.Trait, error) {
	r, err := ask[wire.Personality](ctx, c, read, wire.OpPersonality, nil, wire.OpInfoResult)
	return r.Traits, err
}
