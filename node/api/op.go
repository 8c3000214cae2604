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
	Admin Scope = "admin" // administers the cluster and has access to every database
)

// The scopes of acts on this host. No token has them: the configuration grants them to a dialect.
const (
	Programs Scope = "programs" // runs programs
	Files    Scope = "files"    // reads and writes files
	Git      Scope = "git"      // runs git on repositories
	Network  Scope = "network"  // sends requests to other hosts
	Stop     Scope = "stop"     // stops the node
)

// A Bound says what an operation does for a token that is bound to namespaces. For every operation, the values of
// fields with the tag names must belong to these namespaces.
type Bound uint8

// The kinds of operations for a bound token. A row without a kind is rejected for it.
const (
	Refused  Bound = iota // rejected: it affects more than the caller's namespaces
	Free                  // permitted: it reads and writes nothing that belongs to a namespace
	Narrowed              // restricted to the caller's namespaces, or to the one of them that the request names
	Single                // restricted to one namespace, by default the caller's first
)

// An Op is a row of the table: one operation with everything that the door and the surfaces must know about it.
type Op struct {
	Name   string // in metrics, the slow log and OpenAPI
	Does   string // what it does, in a sentence, for people
	Scope  Scope  // the scope that the caller needs; empty: no token is needed
	Writes bool   // needs the leader
	Waits  bool   // its writes can wait in quarantine; a token with quarantine for all its texts may write nothing else
	Bound  Bound  // its effect for a token that is bound to namespaces
	Reads  bool   // its answer shows stored data although its scope is another, so the caller also needs read
	Asked  bool   // members request it from each other in the name of a caller
	Node   bool   // is about nodes and their hosts: a node without a state answers it too
	Early  bool   // needs no log: a node answers it before its log is open

	Cost func(request any) int // number of operations that it counts as; nil: the memories that it stores, at least one
	Adds func(request any) int // number of memories that it stores; nil: none

	HTTP    string   // method and path
	Also    []string // further paths that clients use
	Large   bool     // its body may be as large as a batch
	Stream  bool     // its body or its answer is a stream, which the surfaces read and write themselves
	Body    string   // the media type of its body, if that is not a JSON object
	Media   string   // the media type of its answer, if that is not a JSON object
	Confirm string   // the field that people type again in a form to confirm what they delete or change
	Missing string   // the error code for a missing object, if clients know a special one

	Wire wire.Op
	Tool *Tool

	types struct{ request, answer reflect.Type }
}

// A Tool is an operation that models may call. Its text tells them when to use it, and what it returns.
type Tool struct {
	Name, Title, Text string

	ReadOnly    bool
	Destructive bool // it may delete data
	Idempotent  bool // a repeated call has no further effect
	Full        bool // the profile core leaves it out
}

// The profiles select the tools that a model is offered. ToolsCore is the default.
const (
	ToolsCore   = "core"          // what most models need, within 2,000 tokens
	ToolsFull   = "full"          // all rows with a tool, and all their fields
	ToolsMemory = "server-memory" // the nine tools of @modelcontextprotocol/server-memory
)

// ToolProfiles lists the names of the profiles.
var ToolProfiles = []string{ToolsCore, ToolsFull, ToolsMemory}

// Of is a row with the types of its request and its answer.
type Of[Q, A any] struct{ *Op }

func row[Q, A any](o Op) Of[Q, A] {
	o.types.request, o.types.answer = reflect.TypeFor[Q](), reflect.TypeFor[A]()
	return Of[Q, A]{&o}
}

// Nothing is the empty request or answer.
type Nothing struct{}

// Do runs the operation through a door.
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

	// May returns the error that Do would return for every request of the caller, so that a surface need not read the
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

// Method returns the HTTP method; empty if HTTP does not offer the operation.
func (o *Op) Method() string { method, _, _ := strings.Cut(o.HTTP, " "); return method }

// Path returns the HTTP path; empty if HTTP does not offer the operation.
func (o *Op) Path() string { _, path, _ := strings.Cut(o.HTTP, " "); return path }

// InPath returns the request's fields in the path.
func (o *Op) InPath() field.Object { return o.Takes().At("path", o.usual()) }

// InQuery returns the request's fields in the URL's parameters.
func (o *Op) InQuery() field.Object { return o.Takes().At("query", o.usual()) }

// InBody returns the request's fields in the JSON body.
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
