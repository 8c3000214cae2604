package node

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// OPLOG_PULL and OPLOG_PUSH are a view of and a way into the committed log, for readers that are no members.
const (
	maxPull      = wire.MaxOps
	maxPullBytes = 4 << 20 // a page leaves room in a frame whatever its last entry is
)

// opID names an applied operation for ever: a UUID whose order is the log's, made of its time and place.
func opID(h oplog.HLC, n int) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], h.Millis()<<16)
	b[6] = 0x70
	binary.BigEndian.PutUint32(b[8:12], h.Logical())
	b[8] = b[8]&0x3F | 0x80
	binary.BigEndian.PutUint32(b[12:], uint32(n))
	const hex = "0123456789abcdef"
	out := make([]byte, 0, 36)
	for i, x := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			out = append(out, '-')
		}
		out = append(out, hex[x>>4], hex[x&15])
	}
	return string(out)
}

// A refusal is told to a peer as it stands.
type refusal struct{ told wire.Error }

func (r *refusal) Error() string { return r.told.Message }

// errSnapshotRequired tells a reader that what it asks for has left the log.
var errSnapshotRequired = &refusal{wire.Error{Code: wire.CodeInternal, Message: "the cursor is older than the retained log", Details: wire.JSON(`{"snapshot_required":true}`)}}

// noDatabase refuses a peer that asks for a database which is not there.
func noDatabase(name string) error {
	return &refusal{wire.Error{Code: wire.CodeInternal, Message: fmt.Sprintf("database '%s' not found", name)}}
}

func (s *Service) oplogPull(_ context.Context, f wire.Frame) (wire.Op, wire.Message, error) {
	var m wire.OplogPull
	if err := wire.Unpack(f, &m, wire.MaxPlainPeer); err != nil {
		return 0, nil, err
	}
	var since oplog.HLC
	if len(m.SinceHLC) != 0 && len(m.SinceHLC) != len(since) {
		return 0, nil, oplog.Errorf(oplog.Invalid, "since_hlc has %d bytes, an HLC has %d", len(m.SinceHLC), len(since))
	}
	copy(since[:], m.SinceHLC)
	sinceID := ""
	if m.SinceOpID != nil {
		sinceID = *m.SinceOpID
	}
	r := &wire.OplogPullResult{Ops: []wire.OplogEntry{}}
	limit := min(max(m.Limit, 1), maxPull)
	err := s.state.Read(func(v *oplog.View) error {
		d, ok := v.DatabaseNamed(m.Database)
		if !ok {
			return noDatabase(m.Database)
		}
		if gone, ok := v.Trimmed(); ok && since.Less(gone) {
			return errSnapshotRequired
		}
		size := 0
		return v.Log(v.SeekHLC(since), func(o oplog.Outcome) bool {
			if o.Entry.DB != d.ID || o.HLC.Less(since) {
				return true
			}
			for i, op := range o.Entry.Ops {
				e, ok := pulled(o, i, op)
				if !ok || (len(m.SinceHLC) != 0 && !behind(since, sinceID, o.HLC, e.OpID)) ||
					(m.ExcludeActor != nil && e.OriginActor == *m.ExcludeActor) {
					continue
				}
				if len(r.Ops) == limit || size > maxPullBytes {
					r.HasMore = true
					return false
				}
				size += len(e.Payload) + 256
				r.Ops = append(r.Ops, e)
			}
			return true
		})
	})
	return wire.OpOplogPullResult, r, err
}

// behind says whether an operation comes after a cursor.
func behind(since oplog.HLC, sinceID string, h oplog.HLC, id string) bool {
	if h != since {
		return since.Less(h)
	}
	return sinceID != "" && id > sinceID
}

// pulled is an operation in the form that peers exchange; ok is false for those that are no peer's business.
func pulled(o oplog.Outcome, i int, op oplog.Op) (e wire.OplogEntry, ok bool) {
	actor := "cairn-node"
	e = wire.OplogEntry{OpID: opID(o.HLC, i), Timestamp: o.HLC.Time().Seconds(), ActorID: actor, OriginActor: actor,
		HLC: append([]byte{}, o.HLC[:]...), FormatVersion: 1}
	var payload map[string]any
	switch op := op.(type) {
	case *oplog.Remember:
		e.OpType, e.TargetRID, e.Embedding = "record", &op.RID, op.Vector
		payload = map[string]any{"rid": op.RID, "type": op.Type, "text": op.Text, "importance": op.Importance, "valence": op.Valence,
			"half_life": op.HalfLife, "metadata": json.RawMessage(orNull(op.Metadata)), "created_at": op.Created.Seconds(),
			"updated_at": op.Updated.Seconds(), "namespace": op.Namespace, "certainty": op.Certainty, "domain": op.Domain,
			"source": op.Source, "emotional_state": orNil(op.Emotion)}
	case *oplog.Forget:
		e.OpType, e.TargetRID = "forget", &op.RID
		payload = map[string]any{"rid": op.RID, "updated_at": op.At.Seconds()}
	case *oplog.Relate:
		e.OpType, e.TargetRID = "relate", &op.ID
		payload = map[string]any{"edge_id": op.ID, "src": op.Src, "dst": op.Dst, "rel_type": op.Type, "weight": op.Weight, "created_at": op.At.Seconds()}
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

func orNull(b []byte) []byte {
	if len(b) == 0 {
		return []byte("null")
	}
	return b
}

// oplogPush takes operations of a foreign peer through the log, each once. Only the leader may.
func (s *Service) oplogPush(ctx context.Context, f wire.Frame) (wire.Op, wire.Message, error) {
	var m wire.OplogPush
	decode := func() error { return wire.Unpack(f, &m, wire.MaxPlainPeer) }
	if err := s.heavy.Decode(ctx, wire.PlainSize(f, wire.MaxPlainPeer), decode); err != nil {
		return 0, nil, err
	}
	if !s.commit.Leads() {
		return 0, nil, s.commit.NotLeader()
	}
	r := &wire.OplogPushOK{LastHLC: []byte{}}
	if len(m.Ops) == 0 {
		return wire.OpOplogPushOK, r, nil
	}
	c, err := s.access.Local(m.Database)
	if errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
		err = noDatabase(m.Database)
	}
	if err != nil {
		return 0, nil, err
	}
	c.Counted = len(m.Ops) // a peer is held by no client's limit
	w := write{scope: api.Write}
	for i := range m.Ops {
		op, err := s.foreign(&m.Ops[i])
		if err != nil {
			return 0, nil, err
		}
		w.ops = append(w.ops, op)
	}
	done, err := s.write(ctx, c, w)
	if err != nil {
		return 0, nil, err
	}
	for _, res := range done.Results {
		if res.Changed {
			r.Applied++
		}
	}
	last := m.Ops[len(m.Ops)-1]
	r.LastHLC, r.LastOpID = last.HLC, last.OpID
	return wire.OpOplogPushOK, r, nil
}

// boundForeign refuses before the log what is over the bounds of a client of ours: what is in the log every node applies, for ever.
func boundForeign(e *wire.OplogEntry) error {
	if e.OpID == "" {
		return oplog.Errorf(oplog.Invalid, "a pushed operation needs an op_id")
	}
	if err := names(e.OpID, e.OpType, e.ActorID, e.OriginActor); err != nil {
		return err
	}
	if len(e.HLC) != 0 && len(e.HLC) != len(oplog.HLC{}) {
		return oplog.Errorf(oplog.Invalid, "hlc has %d bytes, an HLC has %d", len(e.HLC), len(oplog.HLC{}))
	}
	if most := MaxText + MaxMetadata; len(e.Payload) > most {
		return oplog.Errorf(oplog.TooLarge, "payload of %d bytes is over %d", len(e.Payload), most)
	}
	return nil
}

// foreign reads what this version can make of a pushed operation.
func (s *Service) foreign(e *wire.OplogEntry) (*oplog.Foreign, error) {
	if err := boundForeign(e); err != nil {
		return nil, err
	}
	op := &oplog.Foreign{OpID: e.OpID, Type: e.OpType, Payload: e.Payload, HLC: e.HLC, Actor: e.ActorID, Origin: e.OriginActor}
	var p struct {
		RID        string          `json:"rid"`
		Type       string          `json:"type"`
		Text       string          `json:"text"`
		Importance float64         `json:"importance"`
		Valence    float64         `json:"valence"`
		HalfLife   float64         `json:"half_life"` // seconds here
		Metadata   json.RawMessage `json:"metadata"`
		Created    float64         `json:"created_at"`
		Updated    float64         `json:"updated_at"`
		Namespace  string          `json:"namespace"`
		Certainty  float64         `json:"certainty"`
		Domain     string          `json:"domain"`
		Source     string          `json:"source"`
		Emotion    string          `json:"emotional_state"`
		Edge       string          `json:"edge_id"`
		Src        string          `json:"src"`
		Dst        string          `json:"dst"`
		RelType    string          `json:"rel_type"`
		Weight     float64         `json:"weight"`
	}
	if len(e.Payload) > 0 && json.Unmarshal(e.Payload, &p) != nil {
		return op, nil // kept in the log, without effect
	}
	if err := names(p.RID, p.Edge, p.Src, p.Dst, p.RelType); err != nil {
		return nil, err
	}
	switch e.OpType {
	case "record":
		d := Draft{RID: p.RID, Text: p.Text, Type: p.Type, Importance: p.Importance, HalfLife: p.HalfLife / 3600, Valence: p.Valence,
			Certainty: p.Certainty, Namespace: p.Namespace, Domain: p.Domain, Source: p.Source, Emotion: p.Emotion, Created: field.Date{Time: field.UnixOrNone(p.Created)}}
		if string(p.Metadata) != "null" {
			d.Metadata = p.Metadata
		}
		stored, err := ready(&d, time.Now(), 0)
		if err != nil {
			return nil, err
		}
		op.Stored = stored
	case "forget":
		op.Forgot = &oplog.Forget{RID: p.RID, At: oplog.At(time.Now())}
	case "relate":
		if p.Src != "" && p.Dst != "" && p.RelType != "" {
			op.Related = &oplog.Relate{ID: cmp.Or(p.Edge, oplog.NewID()), Src: p.Src, Dst: p.Dst, Type: p.RelType, Weight: p.Weight, At: oplog.At(time.Now())}
		}
	}
	return op, nil
}
