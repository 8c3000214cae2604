// Package lang implements parts of the command language: topics, results and their codes, flags around a text, and
// quoted words.
package lang

import (
	"errors"
	"fmt"

	"github.com/cairndb/cairn/oplog"
)

// Code is the reason why a command failed. Clients branch on it.
type Code string

// The codes of the protocol, besides EXIT_<n>.
const (
	NotFound       Code = "NOT_FOUND"
	BlockNotFound  Code = "BLOCK_NOT_FOUND"
	InvalidTarget  Code = "INVALID_TARGET"
	InvalidPath    Code = "INVALID_PATH"
	InvalidPayload Code = "INVALID_PAYLOAD"
	NotAllowed     Code = "FILE_NOT_ALLOWED"
	Unsupported    Code = "COMMAND_UNSUPPORTED"
	Conflict       Code = "CONFLICT"
	LoadError      Code = "LOAD_ERROR"
	InternalError  Code = "INTERNAL_ERROR"
	Timeout        Code = "TIMEOUT"
	ReadOnly       Code = "READONLY"
	NoLeader       Code = "NO_LEADER"
	AuthRequired   Code = "AUTH_REQUIRED"
)

// Result is the result of a command. Text is the output, or the error when there is a code.
type Result struct {
	Code Code // empty when the command succeeded
	Text string
}

// OK reports whether the command succeeded.
func (r Result) OK() bool { return r.Code == "" }

// Body returns the text that a client reads.
func (r Result) Body() string {
	if r.OK() {
		return r.Text
	}
	return "ERROR(" + string(r.Code) + "): " + r.Text
}

// Error is an error with a code.
type Error struct {
	Code Code
	text string
}

func (f *Error) Error() string { return f.text }

// Errorf returns an error that the client gets.
func Errorf(c Code, format string, args ...any) error {
	return &Error{c, fmt.Sprintf(format, args...)}
}

// ExitError returns the error of a program that ended with a status.
func ExitError(status int, text string) error {
	return &Error{Code(fmt.Sprintf("EXIT_%d", status)), text}
}

// codes maps the errors of the memory to codes.
var codes = map[oplog.Kind]Code{
	oplog.Invalid: InvalidPayload, oplog.TooLarge: InvalidPayload, oplog.OverQuota: InvalidPayload, oplog.NotFound: NotFound,
	oplog.Denied:   AuthRequired,
	oplog.Conflict: Conflict, oplog.Unavailable: NoLeader, oplog.NotLeader: ReadOnly, oplog.UnknownOutcome: Timeout,
}

// ResultOf makes a result of the output and the error of a command.
func ResultOf(text string, err error) Result {
	if err == nil {
		return Result{Text: text}
	}
	var f *Error
	if errors.As(err, &f) {
		return Result{f.Code, f.text}
	}
	var e *oplog.Error
	if errors.As(err, &e) {
		if c, ok := codes[e.Kind]; ok {
			if c == Timeout {
				return Result{c, e.Text + "; the outcome is unknown, repeat with the same --key"}
			}
			return Result{c, e.Text}
		}
	}
	return Result{InternalError, err.Error()}
}

// Titled joins a system line and the content below it.
func Titled(system, content string) string { return system + "\n---\n" + content }
