package api

import (
	"context"
	"errors"

	"github.com/cairndb/cairn/oplog"
)

// A Refusal gives an error its own code, where its kind is too coarse for clients, and the details to return with
// it.
type Refusal struct {
	Code string
	Err  error
	More map[string]any
}

func (e *Refusal) Error() string { return e.Err.Error() }
func (e *Refusal) Unwrap() error { return e.Err }

// RefusedAs reports whether an error is a rejection with a code.
func RefusedAs(err error, code string) bool {
	r, ok := errors.AsType[*Refusal](err)
	return ok && r.Code == code
}

// NoScope rejects a caller whose token lacks a scope.
func NoScope(s Scope) error {
	return &Refusal{Code: "insufficient_scope", Err: oplog.Errorf(oplog.Denied, "token has no %s scope", s)}
}

// OutOfBound rejects what a token that is bound to namespaces may not do, and says what it may.
func OutOfBound(c Caller, format string, args ...any) error {
	return &Refusal{Code: "namespace_denied",
		Err:  oplog.Errorf(oplog.Denied, format+"; this token is bound to "+c.Spaces.String(), args...),
		More: map[string]any{"namespaces": c.Spaces}}
}

// TooTrusted rejects a class of trust that the caller cannot give.
func TooTrusted(format string, args ...any) error {
	return &Refusal{Code: "trust_denied", Err: oplog.Errorf(oplog.Denied, format, args...)}
}

var (
	// ErrNoLeader: no leader is known at the moment; retry.
	ErrNoLeader = &oplog.Error{Kind: oplog.Unavailable, Text: "no leader elected (cluster not ready)"}

	// ErrStopping: the node is being closed.
	ErrStopping = &oplog.Error{Kind: oplog.Unavailable, Text: "the node is stopping"}
)

// Classify gives an error its kind; known is false for an internal error, which no client may see. A bare context error
// means that nothing was written, because elsewhere it is wrapped in one of unknown outcome. Contexts end before their
// requests do when the node stops or the client has left.
func Classify(err error) (e *oplog.Error, known bool) {
	switch {
	case errors.As(err, &e):
		return e, true
	case errors.Is(err, context.Canceled):
		return ErrStopping, true
	case errors.Is(err, context.DeadlineExceeded):
		return oplog.Errorf(oplog.Unavailable, "the node did not get to it in time; retry"), true
	}
	return nil, false
}

// A Leader is the node that takes writes, as far as another node knows.
type Leader struct {
	ID   *uint32 // nil while none is known
	Wire string  // the address of its wire port; blank while it is not known
	HTTP string  // the URL of its gateway; blank while it is not known
	Term uint64
	Lost bool // no majority of the voters answers, so there will be no leader soon
}
