package peerport

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire"
)

// Bounds of a page of OPLOG_PULL. Pull shows the committed log to readers that are no members, and push lets them add
// to it.
const (
	maxPull      = wire.MaxOps
	maxPullBytes = 4 << 20 // a page leaves room in a frame whatever its last entry is
)

// opID names an applied operation for ever: a UUID whose order is the log's, made of its time and place.
func opID(h oplog.HLC, n int) string {
	var b uuid.UUID
	binary.BigEndian.PutUint64(b[:8], h.Millis()<<16)
	b[6] = 0x70
	binary.BigEndian.PutUint32(b[8:12], h.Logical())
	b[8] = b[8]&0x3F | 0x80
	binary.BigEndian.PutUint32(b[12:], uint32(n))
	return b.String()
}

// pull answers with the operations behind a cursor, a page at a time.
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
		if gone, ok := v.TrimmedIn(d.ID); ok && since.Less(gone) {
			return errSnapshotRequired
		}
		size := 0
		return v.Log(v.SeekHLC(since), func(o oplog.Outcome) bool {
			if o.Entry.DB != d.ID || o.HLC.Less(since) {
				return true
			}
			last := stopped(o, since, m.SinceOpID)
			for i, op := range o.Entry.Ops {
				e, ok := pulled(o, i, op)
				if !ok || i <= last || (last < 0 && len(m.SinceHLC) != 0 && !behind(since, m.SinceOpID, o.HLC, e.OpID)) ||
					(m.ExcludeActor != nil && e.OriginActor == *m.ExcludeActor) {
					continue
				}
				if len(r.Ops) == limit || size > maxPullBytes {
					r.HasMore = true
					return false
				}
				size += len(e.Payload) + len(e.Embedding) + 256
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

// behind says whether an operation comes after a cursor.
func behind(since oplog.HLC, sinceID *string, h oplog.HLC, id string) bool {
	if h != since {
		return since.Less(h)
	}
	return sinceID != nil && *sinceID != "" && id > *sinceID
}

// stopped returns the place of the operation in an entry with which a peer's last page ended, -1 for none. What other
// products' nodes pushed has ids in any order, so the order of ids does not say what follows it.
func stopped(o oplog.Outcome, since oplog.HLC, sinceID *string) int {
	if o.HLC != since || sinceID == nil {
		return -1
	}
	for i := len(o.Entry.Ops) - 1; i >= 0; i-- {
		id := opID(o.HLC, i)
		if f, ok := o.Entry.Ops[i].(*oplog.Foreign); ok {
			id = f.OpID
		}
		if id == *sinceID {
			return i
		}
	}
	return -1
}

var pullMemory = api.Carry[oplog.Content, api.PeerMemory]()

// pulled is an operation in the form that peers exchange; ok is false for those that are no peer's business.
func pulled(o oplog.Outcome, i int, op oplog.Op) (e wire.OplogEntry, ok bool) {
	actor := "cairn-node"
	e = wire.OplogEntry{OpID: opID(o.HLC, i), Timestamp: o.HLC.Time().Seconds(), ActorID: actor, OriginActor: actor,
		HLC: append([]byte{}, o.HLC[:]...), FormatVersion: 1}
	var payload any
	switch op := op.(type) {
	case *oplog.Remember:
		if op.Held { // no peer's, while it waits
			return e, false
		}
		e.OpType, e.TargetRID, e.Embedding = "record", &op.RID, op.Vector
		var m api.PeerMemory
		pullMemory(&op.Content, &m)
		payload = m
	case *oplog.Forget:
		e.OpType, e.TargetRID = "forget", &op.RID
		payload = map[string]any{"rid": op.RID, "updated_at": op.At.Seconds()}
	case *oplog.Relate:
		e.OpType, e.TargetRID = "relate", &op.ID
		payload = map[string]any{"edge_id": op.ID, "src": op.Src, "dst": op.Dst, "rel_type": op.Type, "weight": op.Weight,
			"created_at": op.At.Seconds()}
	case *oplog.Foreign:
		e.OpID, e.OpType, e.Payload, e.ActorID, e.OriginActor = op.OpID, op.Type, op.Payload, op.Actor, op.Origin
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
