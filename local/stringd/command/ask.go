package command

import (
	"context"
	"time"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/node/api"
)

// leaderless bounds a write while no leader is known: the client gets NO_LEADER soon, and an election may still end in
// time.
const leaderless = 700 * time.Millisecond

// write asks for an operation that changes the memory.
func write[Q, A any](c *call, of api.Of[Q, A], request *Q) (*A, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	if at, err := c.place(); err == nil && at.Leader == nil {
		ctx, cancel = context.WithTimeout(c.ctx, leaderless)
	}
	defer cancel()
	return of.Ask(ctx, c.Settings.Memory, request)
}

// place is the node's role in its cluster, and how far its log is applied.
func (c *call) place() (*api.PlaceAnswer, error) {
	return api.Place.Ask(c.ctx, c.Settings.Memory, &api.Nothing{})
}

// shellOff refuses a client that may not run programs.
var shellOff = lang.Failf(lang.Unsupported, "The shell is off on this node.")
