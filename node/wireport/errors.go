package wireport

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// codes maps kinds of errors to the numbers of the protocol.
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
	oplog.OverQuota:      wire.CodeInvalidPayload,
}

// codedError is an error with a more specific number than its kind.
type codedError struct {
	code wire.Code
	error
}

func (e *codedError) Unwrap() error { return e.error }

// withCode gives the rejection of a row its own number, if clients know one.
func withCode(row *api.Op, err error) error {
	if row == api.CreateDatabase.Op && errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) {
		return &codedError{wire.CodeDBExists, err}
	}
	return err
}

// Errors converts errors to frames. The peer port uses it too.
type Errors struct {
	Leader func() api.Leader
	Log    *slog.Logger // of errors that are the node's own
}

// Of returns the frame that reports an error to a client.
func (x Errors) Of(err error) (wire.Op, *wire.Error) {
	if wire.IsPayload(err) {
		return wire.OpError, &wire.Error{Code: wire.CodeInvalidPayload, Message: err.Error()}
	}
	if slow, ok := errors.AsType[*access.Limited](err); ok {
		return wire.OpError, &wire.Error{Code: wire.CodeInternal, Message: slow.Error(),
			Details: wire.JSON(fmt.Sprintf(`{"retry_after_ms":%d}`, slow.Wait.Milliseconds()+1))}
	}
	e, known := api.Classify(err)
	if !known {
		x.Log.Error("request failed", "surface", "wire", "err", err)
		return wire.OpError, &wire.Error{Code: wire.CodeInternal, Message: "internal error"}
	}
	w := &wire.Error{Code: codes[e.Kind], Message: e.Text}
	if own, ok := errors.AsType[*codedError](err); ok {
		w.Code = own.code
	}
	switch {
	case e.Kind == oplog.NotLeader, errors.Is(e, api.ErrNoLeader):
		w.Details = x.leader()
		return wire.OpReadonlyError, w
	case e.Kind == oplog.UnknownOutcome:
		w.Details = wire.JSON(`{"unknown_outcome":true}`)
	default:
		w.Details = rejectionDetails(err)
	}
	return wire.OpError, w
}

// rejectionDetails returns the code and details of a rejection as JSON, or nil if it has none.
func rejectionDetails(err error) wire.JSON {
	var refused *api.Refusal
	if !errors.As(err, &refused) || refused.More == nil {
		return nil
	}
	all := map[string]any{"code": refused.Code}
	maps.Copy(all, refused.More)
	b, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return b
}

// leader returns, as JSON, the node that accepts writes.
func (x Errors) leader() wire.JSON {
	l := x.Leader()
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
