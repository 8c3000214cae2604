// Package peerport answers the requests of other nodes outside consensus: a node's status, its databases, operations
// of its log (OPLOG_PULL), and storing operations of a peer that is not a member (OPLOG_PUSH).
//
// It translates frames (wire) to operations (oplog) and back. It opens no connection and knows no member: folder raft
// owns the peer port, has checked the cluster secret, and calls Peer from a goroutine a frame. It writes nothing
// itself.
package peerport

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/large"
)

// Config configures a port. All fields are required.
type Config struct {
	State *state.State

	WaitOpen func(context.Context) error // returns when the node answers peers

	// Status returns what this node knows of the cluster without asking other nodes: they send this request to it.
	Status func() (*wire.ClusterStatusResult, error)
	// Record completes a pushed record, and rejects a record that no client of ours could store.
	Record func(*api.Draft) (*oplog.Remember, error)
	// Push takes operations through the log, each once, and returns how many were new. It calls refused for each that
	// can never be stored here. A node that does not lead returns an error.
	Push func(ctx context.Context, database string, ops []*oplog.Foreign, refused func(*oplog.Foreign, error)) (applied uint64, err error)
	// Errors is the frame that tells a client of an error: clients and peers speak one protocol.
	Errors func(error) (wire.Op, *wire.Error)

	Turns large.Turns // at decoding large requests, shared with other ports
}

// Port answers peers. Its methods may be called from any goroutine.
type Port struct{ cfg Config }

// New returns a port.
func New(cfg Config) *Port { return &Port{cfg} }

// handlers maps each request that other nodes may send to the method that answers it.
var handlers = map[wire.Op]func(*Port, context.Context, wire.Frame) (wire.Op, wire.Message, error){
	wire.OpOplogPull:           (*Port).pull,
	wire.OpOplogPush:           (*Port).push,
	wire.OpClusterDatabaseList: (*Port).databases,
	wire.OpClusterStatus:       (*Port).status,
}

// Peer implements its part of raft.Handler.
func (p *Port) Peer(ctx context.Context, f wire.Frame) (wire.Frame, error) {
	if err := p.cfg.WaitOpen(ctx); err != nil {
		return wire.Frame{}, err
	}
	h, ok := handlers[f.Op]
	if !ok {
		return wire.Pack(wire.OpError, f.Stream,
			&wire.Error{Code: wire.CodeInvalidPayload, Message: "unsupported cluster opcode: " + f.Op.Name()}, f.JSON())
	}
	op, m, err := h(p, ctx, f)
	var told *refusal
	switch {
	case errors.As(err, &told):
		op, m = wire.OpError, &told.frame
	case err != nil:
		op, m = p.cfg.Errors(err)
	}
	return wire.Pack(op, f.Stream, m, f.JSON())
}

// A refusal is an error that is sent to a peer unchanged, without the table of errors.
type refusal struct{ frame wire.Error }

func (r *refusal) Error() string { return r.frame.Message }

// errSnapshotRequired tells a reader that the requested part has left the log.
var errSnapshotRequired = &refusal{wire.Error{Code: wire.CodeInternal, Message: "the cursor is older than the retained log",
	Details: wire.JSON(`{"snapshot_required":true}`)}}

// database returns the database that a peer names.
func database(v *state.View, name string) (oplog.Database, error) {
	d, ok := v.DatabaseNamed(name)
	if !ok {
		return d, &refusal{wire.Error{Code: wire.CodeInternal, Message: fmt.Sprintf("database '%s' not found", name)}}
	}
	return d, nil
}

func (p *Port) databases(_ context.Context, f wire.Frame) (wire.Op, wire.Message, error) {
	if err := wire.Unpack(f, &wire.Nothing{}, wire.MaxPlainPeer); err != nil {
		return 0, nil, err
	}
	all, err := state.Get(p.cfg.State, (*state.View).Databases)
	return wire.OpClusterDatabaseListResult,
		&wire.DatabaseList{Databases: api.Each(all, func(d oplog.Database) string { return d.Name })}, err
}

func (p *Port) status(context.Context, wire.Frame) (wire.Op, wire.Message, error) {
	r, err := p.cfg.Status()
	return wire.OpClusterStatusResult, r, err
}
