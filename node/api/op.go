package api

import (
	"context"
	"reflect"
	"strings"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// A Scope is a set of operations that a token permits.
type Scope string

// The scopes. A token without any has read and write.
const (
	Read  Scope = "read"
	Write Scope = "write"
	Owner Scope = "owner" // administers its own database: tokens, policies, purges
	Admin Scope = "admin" // administers the cluster, and reaches every database
)

// The scopes of what clients on this host do to the host. No token has them: the configuration gives them to a dialect.
const (
	Programs Scope = "programs" // runs programs
	Files    Scope = "files"    // reads and writes files
	Git      Scope = "git"      // runs git on repositories
	Network  Scope = "network"  // asks other hosts
	Stop     Scope = "stop"     // stops the node
)

// A Bound says what an operation does for a token that is bound to namespaces. What a request names by a field with the
// tag names has to be of these, whatever the operation is.
type Bound uint8

// The kinds of operations, for a bound token. A row that says nothing is refused to it.
const (
	Refused  Bound = iota // about more than namespaces can hold apart
	Free                  // about nothing that belongs to a namespace
	Narrowed              // looks at the caller's namespaces alone, or at the one of them that the request names
	Single                // about one namespace: the first of the caller's where the request names none
)

// An Op is a row of the table: one operation, and all that the door and the surfaces must know of it.
type Op struct {
	Name   string // in metrics, the slow log and OpenAPI
	Does   string // what it does, in a sentence, for people
	Scope  Scope  // what the caller must have; blank: no token is asked
	Writes bool   // needs the leader
	Waits  bool   // what it writes can wait in quarantine; a token whose texts all do is refused what writes and cannot
	Bound  Bound  // what becomes of it for a token that is bound to namespaces
	Reads  bool   // tells what is stored though its scope is another: the caller needs read, too
	Asked  bool   // members ask each other for it, in the name of a caller
	Node   bool   // is about nodes and their host: a node answers it though it has no state yet
	Early  bool   // needs no log: a node answers it while it still opens its own

	Cost func(request any) int // how many operations it counts as; nil: as many as the memories it stores, and one at least
	Adds func(request any) int // how many memories it stores; nil: none

	HTTP    string   // method and path
	Also    []string // other paths of it that clients use
	Large   bool     // its body may be as large as a batch
	Stream  bool     // its body or its answer is a stream, which its surfaces read and write themselves
	Body    string   // the media type of its body, if that is not a JSON object
	Media   string   // the media type of its answer, if that is not a JSON object
	Confirm string   // the field whose value people type again before a form runs it: it names the thing to delete, or the change
	Missing string   // the error code for a missing object, if clients know a special one

	Wire wire.Op
	Tool *Tool

	types struct{ request, answer reflect.Type }
}

// A Tool is an operation that models may call. Its text is written for them: when to use it, and what it returns.
type Tool struct {
	Name, Title, Text string

	ReadOnly    bool
	Destructive bool // takes away what was there
	Idempotent  bool // asked twice, it does no more than once
	Full        bool // the profile core has it not
}

// The profiles: which tools a model is offered. ToolsCore is the default.
const (
	ToolsCore   = "core"          // what most models need, within 2,000 tokens
	ToolsFull   = "full"          // all rows that have a tool, with all their fields
	ToolsMemory = "server-memory" // the nine tools of @modelcontextprotocol/server-memory
)

// ToolProfiles are the names of the profiles.
var ToolProfiles = []string{ToolsCore, ToolsFull, ToolsMemory}

// Of is a row with the types of its request and its answer.
type Of[Q, A any] struct{ *Op }

func row[Q, A any](o Op) Of[Q, A] {
	o.types.request, o.types.answer = reflect.TypeFor[Q](), reflect.TypeFor[A]()
	return Of[Q, A]{&o}
}

// Nothing is the empty request or answer.
type Nothing struct{}

// Do asks a door for the operation.
func (o Of[Q, A]) Do(ctx context.Context, d Door, c Caller, request *Q) (*A, error) {
	a, err := d.Do(ctx, c, o.Op, request)
	if err != nil {
		return nil, err
	}
	return a.(*A), nil
}

// A Door is the only way in. node/engine implements it; surfaces and local dialects call it from any goroutine.
type Door interface {
	// Do checks the caller's scope, the request and the limits, runs the operation here or on the leader, and returns
	// when this node has applied it. request is a pointer to the row's request, answer a pointer to its answer.
	Do(ctx context.Context, c Caller, op *Op, request any) (answer any, err error)

	// May returns the error that Do would return whatever the request holds, so that a surface need not read such a
	// request.
	May(c Caller, op *Op) error
}

// New returns a pointer to an empty request.
func (o *Op) New() any { return reflect.New(o.types.request).Interface() }

// Answer returns a pointer to an empty answer.
func (o *Op) Answer() any { return reflect.New(o.types.answer).Interface() }

// Takes describes the request's fields.
func (o *Op) Takes() field.Object { return field.Of(o.types.request) }

// Gives describes the answer's fields.
func (o *Op) Gives() field.Object { return field.Of(o.types.answer).Answered() }

// Method is the HTTP method; blank when HTTP does not offer the operation.
func (o *Op) Method() string { method, _, _ := strings.Cut(o.HTTP, " "); return method }

// Path is the HTTP path; blank when HTTP does not offer the operation.
func (o *Op) Path() string { _, path, _ := strings.Cut(o.HTTP, " "); return path }

// InPath are the request's fields that are part of the path.
func (o *Op) InPath() field.Object { return o.Takes().At("path", o.usual()) }

// InQuery are the request's fields that come as parameters.
func (o *Op) InQuery() field.Object { return o.Takes().At("query", o.usual()) }

// InBody are the request's fields that come in a JSON body.
func (o *Op) InBody() field.Object {
	if o.usual() == "query" {
		return nil
	}
	return o.Takes().At("body", o.usual())
}

func (o *Op) usual() string {
	if o.Method() == "GET" {
		return "query"
	}
	return "body"
}
