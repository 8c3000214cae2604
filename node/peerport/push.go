package peerport

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire"
)

// push takes operations of a peer that is no member through the log, each once. Only a leader does: see Config.Push.
func (p *Port) push(ctx context.Context, f wire.Frame) (wire.Op, wire.Message, error) {
	var m wire.OplogPush
	decode := func() error { return wire.Unpack(f, &m, wire.MaxPlainPeer) }
	if err := p.cfg.Turns.Decode(ctx, wire.PlainSize(f, wire.MaxPlainPeer), decode); err != nil {
		return 0, nil, err
	}
	r := &wire.OplogPushOK{LastHLC: []byte{}}
	if err := p.cfg.State.Read(func(v *state.View) error { _, err := database(v, m.Database); return err }); err != nil {
		return 0, nil, err
	}
	ops := make([]*oplog.Foreign, len(m.Ops))
	for i := range m.Ops {
		var err error
		if ops[i], err = p.foreign(&m.Ops[i]); err != nil {
			return 0, nil, err
		}
	}
	results, err := p.cfg.Push(ctx, m.Database, ops)
	if err != nil {
		return 0, nil, err
	}
	for _, res := range results {
		if res.Changed {
			r.Applied++
		}
	}
	if n := len(m.Ops); n > 0 {
		r.LastHLC, r.LastOpID = m.Ops[n-1].HLC, m.Ops[n-1].OpID
	}
	return wire.OpOplogPushOK, r, nil
}

var pushMemory = api.Carry[api.PeerMemory, api.Draft]()

// foreign reads what this version can make of a pushed operation.
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
		var d api.Draft
		pushMemory(&in.PeerMemory, &d)
		stored, err := p.cfg.Record(&d)
		if err != nil {
			return nil, err
		}
		op.Stored = stored
	case "forget":
		op.Forgot = &oplog.Forget{RID: in.RID, At: oplog.At(time.Now())}
	case "relate":
		if in.Src != "" && in.Dst != "" && in.RelType != "" {
			op.Related = &oplog.Relate{ID: cmp.Or(in.Edge, oplog.NewID()), Src: in.Src, Dst: in.Dst, Type: in.RelType,
				Weight: in.Weight, At: oplog.At(time.Now())}
		}
	}
	return op, nil
}
