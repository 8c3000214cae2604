package node

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// codes maps what went wrong to the wire's numbers.
var codes = map[oplog.Kind]wire.Code{
	oplog.Internal:       wire.CodeInternal,
	oplog.Invalid:        wire.CodeInvalidPayload,
	oplog.NotFound:       wire.CodeMemoryNotFound,
	oplog.Denied:         wire.CodeAuthInvalid,
	oplog.Conflict:       wire.CodeInternal,
	oplog.TooLarge:       wire.CodeInvalidPayload,
	oplog.Unavailable:    wire.CodeNoQuorum,
	oplog.NotLeader:      wire.CodeReadonlyNode,
	oplog.UnknownOutcome: wire.CodeInternal,
	oplog.Corrupt:        wire.CodeInternal,
	oplog.TooOld:         wire.CodeInternal,
}

// errorOf is what a client is told of an error.
func (s *Service) errorOf(err error) (wire.Op, *wire.Error) {
	if wire.IsPayload(err) {
		return wire.OpError, &wire.Error{Code: wire.CodeInvalidPayload, Message: err.Error()}
	}
	var slow *access.Limited
	if errors.As(err, &slow) {
		return wire.OpError, &wire.Error{Code: wire.CodeInternal, Message: slow.Error(),
			Details: wire.JSON(fmt.Sprintf(`{"retry_after_ms":%d}`, slow.Wait.Milliseconds()+1))}
	}
	e, known := api.Classify(err)
	if !known {
		s.log.Error("request failed", "surface", "wire", "err", err)
		return wire.OpError, &wire.Error{Code: wire.CodeInternal, Message: "internal error"}
	}
	w := &wire.Error{Code: codes[e.Kind], Message: e.Text}
	var c *coded
	if errors.As(err, &c) {
		w.Code, w.Details = c.code, c.details
	}
	switch e.Kind {
	case oplog.NotLeader:
		w.Details = s.leaderDetails()
		return wire.OpReadonlyError, w
	case oplog.Unavailable:
		if errors.Is(e, api.ErrNoLeader) {
			w.Details = s.leaderDetails()
			return wire.OpReadonlyError, w
		}
	case oplog.UnknownOutcome:
		w.Details = wire.JSON(`{"unknown_outcome":true}`)
	}
	return wire.OpError, w
}

func (s *Service) leaderDetails() wire.JSON {
	l := s.knownLeader()
	d := wire.Leader{Term: l.Term, ID: l.ID, Lost: l.Lost}
	if l.Wire != "" {
		d.Addr, d.HTTP = &l.Wire, &l.HTTP
	}
	b, err := json.Marshal(d)
	if err != nil {
		return nil
	}
	return b
}

// coded gives an error a number of its own where the table's is too coarse.
type coded struct {
	code    wire.Code
	details wire.JSON
	err     error
}

func (c *coded) Error() string { return c.err.Error() }
func (c *coded) Unwrap() error { return c.err }
