package command

import (
	"context"
	"errors"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
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
	return of.Ask(ctx, c.set.Memory, request)
}

// place is the node's role in its cluster, and how far its log is applied.
func (c *call) place() (*api.PlaceAnswer, error) {
	return api.Place.Ask(c.ctx, c.set.Memory, &api.Nothing{})
}

// May says whether a door lets the agents of this node do something to the host.
func May(ctx context.Context, door api.At, what api.Of[api.HostRequest, api.Nothing]) bool {
	_, err := what.Ask(ctx, door, &api.HostRequest{})
	return err == nil
}

// shellOff is the answer to a client that may run no programs.
var shellOff = failf(Unsupported, "The shell is off on this node.")

// program calls run, which runs a program, if the door lets the agents of this node run any.
func (s *Session) program(ctx context.Context, run func(context.Context) error) error {
	_, err := api.RunProgram.Ask(ctx, s.set.Memory, &api.HostRequest{Run: run})
	if errors.Is(err, &oplog.Error{Kind: oplog.Denied}) {
		return shellOff
	}
	return err
}
