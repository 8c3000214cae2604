package peerport

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire"
)

// Bounds of a page of OPLOG_PULL. Pull shows the committed log to readers that are not members, and push lets them
// add to it.
const (
	maxPull      = wire.MaxOps
	maxPullBytes = 4 << 20 // a page leaves room in a frame whatever its last entry is
)

// pull answers with a page of the operations after a cursor.
func (p *Port) pull(_ context.Context, f wire.Frame) (wire.Op, wire.Message, error) {
	var m wire.OplogPull
	if err := wire.Unpack(f, &m, wire.MaxPlainPeer); err != nil {
		return 0, nil, err
	}
	var since oplog.HLC
	if len(m.SinceHLC) != 0 && len(m.SinceHLC) != len(since) {
		return 0, nil, oplog.Errorf(oplog.Invalid, "since_hlc has %d bytes, an HLC has %d", len(m.SinceHLC), len(since))
	}
	copy(since[:], m.SinceHLC)
	r := &wire.OplogPullResult{Ops: []wire.OplogEntry{}}
	limit := min(max(m.Limit, 1), maxPull)
	err := p.cfg.State.Read(func(v *state.View) error {
		d, err := database(v, m.Database)
		if err != nil {
			return err
		}
		from := logOf(v, d.ID)
		if len(m.SinceHLC) == 0 && m.SinceOpID != nil && *m.SinceOpID != "" {
			if since, err = from.timeOf(*m.SinceOpID); err != nil {
				return err
			}
		}
		if gone, ok := v.TrimmedIn(d.ID); ok && since.Less(gone) {
			return errSnapshotRequired
		}
		size := 0
		return v.Log(v.SeekHLC(since), func(o oplog.Outcome) bool {
			if o.Entry.DB != d.ID || o.HLC.Less(since) {
				return true
			}
			last := -1
			if o.HLC == since && m.SinceOpID != nil {
				last = from.place(o, *m.SinceOpID)
			}
			for i, op := range o.Entry.Ops {
				e, ok := from.pulled(o, i, op)
				if !ok || i <= last || (last < 0 && since != (oplog.HLC{}) && !behind(since, m.SinceOpID, o.HLC, e.OpID)) ||
					(m.ExcludeActor != nil && e.OriginActor == *m.ExcludeActor) {
					continue
				}
				if len(r.Ops) == limit || size > maxPullBytes {
					r.HasMore = true
					return false
				}
				size += len(e.Payload) + len(e.Embedding) + len(e.OpID) + len(e.OpType) + len(e.ActorID) + len(e.OriginActor) + 256
				r.Ops = append(r.Ops, e)
			}
			return true
		})
	})
	if errors.Is(err, state.ErrTrimmed) {
		err = errSnapshotRequired
	}
	return wire.OpOplogPullResult, r, err
}

// behind reports whether an operation comes after a cursor.
func behind(since oplog.HLC, sinceID *string, h oplog.HLC, id string) bool {
	if h != since {
		return since.Less(h)
	}
	return sinceID != nil && *sinceID != "" && id > *sinceID
}

var pullMemory = api.Made[oplog.Content, api.PeerMemory]()

// pulled returns an operation in the form that peers exchange; ok is false for operations that peers do not get.
func (l *log) pulled(o oplog.Outcome, i int, op oplog.Op) (e wire.OplogEntry, ok bool) {
	actor := l.actor.String()
	e = wire.OplogEntry{OpID: l.id(o.HLC, i), Timestamp: o.HLC.Time().Seconds(), ActorID: actor, OriginActor: actor,
		HLC: append([]byte{}, o.HLC[:]...), FormatVersion: 1}
	var payload any
	switch op := op.(type) {
	case *oplog.Remember:
		if op.Held || op.Was != nil && op.Was.Status == oplog.Quarantined { // no peer's, while it waits
			return e, false
		}
		e.OpType, e.TargetRID, e.Embedding = "record", &op.RID, op.Vector
		payload = pullMemory(op.Content)
	case *oplog.Forget:
		e.OpType, e.TargetRID = "forget", &op.RID
		payload = map[string]any{"rid": op.RID, "updated_at": op.At.Seconds()}
	case *oplog.Relate:
		e.OpType, e.TargetRID = "relate", &op.ID
		payload = map[string]any{"edge_id": op.ID, "src": op.Src, "dst": op.Dst, "rel_type": op.Type, "weight": op.Weight,
			"created_at": op.At.Seconds()}
	case *oplog.Foreign:
		if does := op.Effect(); does != nil {
			e, _ = l.pulled(o, i, does)
			e.Embedding = nil
		}
		e.OpID, e.OpType, e.ActorID, e.OriginActor = op.OpID, op.Type, op.Actor, op.Origin
		if len(op.Payload) > 0 || op.Stored == nil {
			e.Payload = op.Payload
		}
		return e, true
	default:
		return e, false
	}
	b, err := json.Marshal(payload)
	if err != nil {
		return e, false
	}
	e.Payload = b
	return e, true
}
