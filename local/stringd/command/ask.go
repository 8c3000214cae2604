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

// What a client is told that may not run programs, or not use files.
var (
	shellOff = failf(Unsupported, "The shell is off on this node.")
	filesOff = failf(NotAllowed, "Files are off on this node.")
)

// onHost calls act, which does something to the host, if the door lets the agents of this node; else it returns off.
func (s *Session) onHost(ctx context.Context, what api.Of[api.HostRequest, api.Nothing], off error, act func(context.Context) error) error {
	_, err := what.Ask(ctx, s.set.Memory, &api.HostRequest{Run: act})
	if errors.Is(err, &oplog.Error{Kind: oplog.Denied}) {
		return off
	}
	return err
}

// files calls act, which reads or writes files.
func (s *Session) files(act func() error) error {
	return s.onHost(context.Background(), api.UseFiles, filesOff, func(context.Context) error { return act() }) // the door waits for nothing
}
