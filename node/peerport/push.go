package peerport

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// push writes operations of a peer that is not a member to the log, each once. Only a leader does so: see
// Config.Push.
func (p *Port) push(ctx context.Context, f wire.Frame) (wire.Op, wire.Message, error) {
	r := &wire.OplogPushOK{LastHLC: []byte{}}
	refuse := func(op *oplog.Foreign, err error) {
		_, e := p.cfg.Errors(err)
		r.Refused = append(r.Refused, wire.RefusedOp{OpID: strings.ToValidUTF8(op.OpID[:min(len(op.OpID), oplog.MaxName)], ""),
			Code: e.Code, Message: e.Message})
	}
	var m wire.OplogPush
	decode := func() error { return wire.Unpack(f, &m, wire.MaxPlainPeer) }
	if err := p.cfg.Turns.Decode(ctx, wire.PlainSize(f, wire.MaxPlainPeer), decode); err != nil {
		return 0, nil, err
	}
	if n := len(m.Ops); n > 0 {
		r.LastHLC, r.LastOpID = m.Ops[n-1].HLC, m.Ops[n-1].OpID
	}
	fresh, err := p.fresh(&m)
	if err != nil {
		return 0, nil, err
	}
	var ops []*oplog.Foreign
	for _, e := range fresh {
		if op, err := p.foreign(e); err != nil {
			refuse(op, err)
		} else {
			ops = append(ops, op)
		}
	}
	m.Ops, fresh = nil, nil // they may be many times what is stored of them, which takes a while
	r.Applied, err = p.cfg.Push(ctx, m.Database, ops, refuse)
	return wire.OpOplogPushOK, r, err
}

// fresh returns the operations of a push that the database's log does not have.
func (p *Port) fresh(m *wire.OplogPush) (fresh []*wire.OplogEntry, err error) {
	err = p.cfg.State.Read(func(v *state.View) error {
		d, err := database(v, m.Database)
		if err != nil {
			return err
		}
		to := logOf(v, d.ID)
		for i := range m.Ops {
			known, err := to.knows(m.Ops[i].OpID)
			if err != nil {
				return err
			}
			if !known {
				fresh = append(fresh, &m.Ops[i])
			}
		}
		return nil
	})
	return fresh, err
}

var pushMemory = api.Made[api.PeerMemory, api.Draft]()

// foreign returns the operation that this version makes from a pushed operation. It leaves out a memory's payload
// that is too long to be stored.
func (p *Port) foreign(e *wire.OplogEntry) (*oplog.Foreign, error) {
	op := &oplog.Foreign{OpID: e.OpID, Type: e.OpType, Payload: e.Payload, HLC: e.HLC, Actor: e.ActorID, Origin: e.OriginActor}
	var in struct {
		api.PeerMemory
		Edge    string  `json:"edge_id"`
		Src     string  `json:"src"`
		Dst     string  `json:"dst"`
		RelType string  `json:"rel_type"`
		Weight  float64 `json:"weight"`
	}
	if len(e.Payload) > 0 && json.Unmarshal(e.Payload, &in) != nil {
		return op, nil // kept in the log, without effect
	}
	switch e.OpType {
	case "record":
		d := pushMemory(in.PeerMemory)
		stored, err := p.cfg.Record(&d)
		if err != nil {
			return op, err
		}
		op.Stored = stored
		if len(op.Payload) > oplog.MaxPayload {
			op.Payload = nil // peers get it from what is stored
		}
	case "forget":
		op.Forgot = &oplog.Forget{RID: in.RID, At: oplog.At(time.Now())}
	case "relate":
		if in.Src != "" && in.Dst != "" && in.RelType != "" {
			op.Related = &oplog.Relate{ID: cmp.Or(in.Edge, oplog.NewID()), Src: in.Src, Dst: in.Dst, Type: in.RelType,
				Weight: in.Weight, At: oplog.At(time.Now())}
			if made := field.UnixOrNone(in.Created); !made.IsZero() {
				op.Related.Since = oplog.At(made)
			}
		}
	}
	return op, nil
}
