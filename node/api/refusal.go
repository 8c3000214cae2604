package api

import (
	"context"
	"errors"

	"github.com/cairndb/cairn/oplog"
)

// A Refusal is an error with a code of its own, if its kind is too coarse for clients, and details for the answer.
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

// OutOfBound rejects a request outside the namespaces that a token is bound to, and names them.
func OutOfBound(c Caller, format string, args ...any) error {
	return &Refusal{Code: "namespace_denied",
		Err:  oplog.Errorf(oplog.Denied, format+"; this token is bound to "+c.Spaces.String(), args...),
		More: map[string]any{"namespaces": c.Spaces}}
}

// TooTrusted rejects a class of trust above the caller's.
func TooTrusted(format string, args ...any) error {
	return &Refusal{Code: "trust_denied", Err: oplog.Errorf(oplog.Denied, format, args...)}
}

var (
	// ErrNoLeader means that no leader is known at the moment; retry.
	ErrNoLeader = &oplog.Error{Kind: oplog.Unavailable, Text: "no leader elected (cluster not ready)"}

	// ErrStopping means that the node is closing.
	ErrStopping = &oplog.Error{Kind: oplog.Unavailable, Text: "the node is stopping"}
)

// Classify returns the kind of an error. known is false for an internal error, whose text no client may see. A bare
// context error means that nothing was written: after the proposal of a write it is wrapped in an error of unknown
// outcome. Contexts end before their requests if the node stops or the client is gone.
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

// A Leader is the node that accepts writes, according to another node.
type Leader struct {
	ID   *uint32 // nil if unknown
	Wire string  // address of its wire port; empty if unknown
	HTTP string  // URL of its gateway; empty if unknown
	Term uint64
	Lost bool // no majority of the voters answers, so there will be no leader soon
}
