package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

type handler func(*session, context.Context, wire.Frame) error

// handlers is the clients' protocol at a glance. A new opcode is a line here, a method, a vector, a script.
var handlers = map[wire.Op]handler{
	wire.OpPing:          func(ss *session, _ context.Context, f wire.Frame) error { return ss.empty(f, wire.OpPong) },
	wire.OpSelectDB:      call(wire.OpDBOK, (*session).selectDB),
	wire.OpCreateDB:      call(wire.OpDBOK, (*session).createDB),
	wire.OpListDB:        ask(wire.OpListDBResult, (*session).listDB),
	wire.OpRemember:      call(wire.OpRememberOK, (*session).remember),
	wire.OpRememberBatch: call(wire.OpRememberOK, (*session).rememberBatch),
	wire.OpRecall:        (*session).recall,
	wire.OpForget:        call(wire.OpForgetOK, (*session).forget),
	wire.OpRelate:        call(wire.OpRelateOK, (*session).relate),
	wire.OpEdges:         call(wire.OpEdgesResult, (*session).edges),
	wire.OpClaim:         call(wire.OpClaimOK, (*session).claim),
	wire.OpClaims:        call(wire.OpClaimsResult, (*session).claims),
	wire.OpAlias:         call(wire.OpAliasOK, (*session).alias),
	wire.OpSessionStart:  call(wire.OpSessionOK, (*session).sessionStart),
	wire.OpSessionEnd:    call(wire.OpSessionOK, (*session).sessionEnd),
	wire.OpThink:         call(wire.OpThinkResult, (*session).think),
	wire.OpConflicts:     call(wire.OpConflictResult, (*session).conflicts),
	wire.OpResolve:       call(wire.OpConflictResult, (*session).resolve),
	wire.OpPersonality:   ask(wire.OpInfoResult, (*session).personality),
	wire.OpStats:         ask(wire.OpInfoResult, (*session).stats),
	wire.OpClusterStatus: ask(wire.OpClusterStatusResult, (*session).clusterStatus),
	wire.OpSubscribe:     (*session).subscribe,
	wire.OpUnsubscribe:   (*session).unsubscribe,
}

// message is a pointer to a message struct.
type message[T any] interface {
	*T
	wire.Message
}

// call adapts a typed method: decode, run, reply or fail. Nothing else does.
func call[Req any, P message[Req], Resp wire.Message](op wire.Op, f func(*session, context.Context, P) (Resp, error)) handler {
	return func(ss *session, ctx context.Context, in wire.Frame) error {
		req := P(new(Req))
		if err := ss.unpack(in, req); err != nil {
			return ss.failed(in, err)
		}
		resp, err := f(ss, ctx, req)
		if err != nil {
			return ss.failed(in, err)
		}
		return ss.reply(in, op, resp)
	}
}

// unpack reads a request. Large ones take their turn, so that there are always processors for the small ones.
func (ss *session) unpack(in wire.Frame, m wire.Message) error {
	read := wire.UnpackExact
	if ss.w.s.cfg.Surfaces.Lenient {
		read = wire.Unpack
	}
	return ss.w.s.heavy.Decode(ss.ctx, len(in.Payload), func() error { return read(in, m, wire.MaxPlainClient) })
}

// ask adapts a method whose request has no content worth reading.
func ask[Resp wire.Message](op wire.Op, f func(*session, context.Context) (Resp, error)) handler {
	return func(ss *session, ctx context.Context, in wire.Frame) error {
		resp, err := f(ss, ctx)
		if err != nil {
			return ss.failed(in, err)
		}
		return ss.reply(in, op, resp)
	}
}

func (ss *session) failed(in wire.Frame, err error) error {
	op, e := ss.w.s.errorOf(err)
	return ss.reply(in, op, e)
}

// serve answers one frame. An error ends the connection.
func (ss *session) serve(f wire.Frame) error {
	if !f.Op.Known() {
		return ss.fail(f, &wire.Error{Code: wire.CodeInvalidPayload, Message: fmt.Sprintf("unknown opcode: 0x%02X", uint8(f.Op))})
	}
	h, ok := handlers[f.Op]
	if !ok {
		return ss.fail(f, &wire.Error{Code: wire.CodeInvalidPayload, Message: "unsupported opcode: " + f.Op.Name()})
	}
	switch f.Op {
	case wire.OpPing, wire.OpSelectDB, wire.OpRecall: // need no log
	default:
		if err := ss.w.s.commit.WaitOpen(ss.ctx); err != nil {
			return err
		}
	}
	if f.Op.IsWrite() && !ss.who().Forward && !ss.w.s.commit.Leads() {
		return ss.failed(f, ss.w.s.commit.NotLeader()) // before the payload is looked at
	}
	if c := ss.who(); f.Op != wire.OpPing {
		ss.w.s.access.Used(c.Token)
		c.Counted = 0
		if _, err := ss.w.s.access.Count(c, 1); err != nil {
			return ss.failed(f, err)
		}
	}
	if f.Op != wire.OpSubscribe {
		defer ss.w.s.slowly("wire", f.Op.String(), ss.who(), time.Now())
	}
	return h(ss, ss.ctx, f)
}

// auth reads the first frame.
func (ss *session) auth(f wire.Frame) bool {
	if !f.Op.Known() {
		_ = ss.fail(f, &wire.Error{Code: wire.CodeInvalidPayload, Message: fmt.Sprintf("unknown opcode: 0x%02X", uint8(f.Op))})
		return false
	}
	if f.Op != wire.OpAuth {
		_ = ss.fail(f, &wire.Error{Code: wire.CodeAuthRequired, Message: "expected AUTH frame"})
		return false
	}
	var m wire.Auth
	if err := wire.Unpack(f, &m, wire.MaxPlainEarly); err != nil {
		_ = ss.reply(f, wire.OpAuthFail, &wire.AuthFail{Reason: "invalid AUTH payload"})
		return false
	}
	c, err := ss.w.s.access.Login(ss.nc.RemoteAddr().String(), m.Token)
	if err != nil {
		reason := access.ErrToken.Text
		var slow *access.Limited
		if errors.As(err, &slow) {
			reason = slow.Error()
		}
		_ = ss.reply(f, wire.OpAuthFail, &wire.AuthFail{Reason: reason})
		return false
	}
	ss.mu.Lock()
	c.Forward = ss.w.s.cfg.forwardsWire()
	c.Counted = 1 // of each request: see serve
	ss.caller, ss.authed = c, true
	ss.mu.Unlock()
	return ss.reply(f, wire.OpAuthOK, &wire.AuthOK{Database: c.Database, DatabaseID: uint32(c.DB)}) == nil
}

func (ss *session) selectDB(_ context.Context, m *wire.Name) (*wire.DBOK, error) {
	c, err := ss.w.s.access.Select(ss.who(), m.Name)
	if err != nil {
		return nil, &coded{code: wire.CodeDBNotFound, err: err}
	}
	ss.mu.Lock()
	ss.caller = c
	ss.mu.Unlock()
	return &wire.DBOK{ID: uint32(c.DB), Message: fmt.Sprintf("database '%s' selected", c.Database), Name: c.Database}, nil
}

func (ss *session) createDB(ctx context.Context, m *wire.Name) (*wire.DBOK, error) {
	a, err := api.CreateDatabase.Do(ctx, ss.w.s, ss.who(), &api.CreateDatabaseRequest{Name: m.Name})
	if errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) {
		return nil, &coded{code: wire.CodeDBExists, err: err}
	}
	if err != nil {
		return nil, err
	}
	return &wire.DBOK{ID: uint32(a.ID), Message: a.Message, Name: a.Name}, nil
}

func (ss *session) listDB(ctx context.Context) (*wire.ListDBResult, error) {
	list, err := api.Databases.Do(ctx, ss.w.s, ss.who(), &api.DatabasesRequest{})
	if err != nil {
		return nil, err
	}
	r := &wire.ListDBResult{Databases: []wire.Database{}}
	for _, d := range list.Databases {
		r.Databases = append(r.Databases, wire.Database{CreatedAt: d.Created, ID: uint32(d.ID), Name: d.Name})
	}
	return r, nil
}

// hours turns a half-life of the protocol into a duration; what no duration can hold is held to its bounds.
func hours(h float64) time.Duration {
	ns := h * float64(time.Hour)
	if math.IsNaN(ns) || ns <= 0 {
		return 0
	}
	return time.Duration(min(ns, math.MaxInt64/2))
}

func seconds(s float64) time.Time {
	if s == 0 || math.IsNaN(s) || math.Abs(s) > 1e11 {
		return time.Time{}
	}
	return time.UnixMicro(int64(s * 1e6))
}

func draft(m *wire.Remember) api.Draft {
	d := api.Draft{Text: m.Text, Type: m.MemoryType, Importance: m.Importance, HalfLife: m.HalfLife, Valence: m.Valence,
		Certainty: m.Certainty, Namespace: m.Namespace, Domain: m.Domain, Source: m.Source, Metadata: json.RawMessage(m.Metadata), Tier: m.Tier,
		Session: m.SessionID, Speaker: m.Speaker, Due: dated(m.DueAt), Temporal: m.TemporalKind, Created: dated(m.CreatedAt), Embedding: m.Embedding}
	if m.EmotionalState != nil {
		d.Emotion = *m.EmotionalState
	}
	return d
}

// dated is a date of the protocol, none for 0.
func dated(s float64) field.Date { return field.Date{Time: seconds(s)} }

func (ss *session) remember(ctx context.Context, m *wire.Remember) (*wire.RememberOK, error) {
	d := draft(m)
	d.Key = m.IdempotencyKey
	a, err := api.Remember.Do(ctx, ss.w.s, ss.who(), &api.RememberRequest{Draft: d})
	if err != nil {
		return nil, err
	}
	return &wire.RememberOK{RID: a.RID, Index: uint64(a.Index)}, nil
}

func (ss *session) rememberBatch(ctx context.Context, m *wire.RememberBatch) (*wire.RememberBatchOK, error) {
	q := &api.RememberBatchRequest{Memories: make([]api.Draft, len(m.Memories)), Whole: m.IdempotencyKey}
	for i := range m.Memories {
		q.Memories[i] = draft(&m.Memories[i])
	}
	a, err := api.RememberBatch.Do(ctx, ss.w.s, ss.who(), q)
	if err != nil {
		return nil, err
	}
	return &wire.RememberBatchOK{RIDs: a.RIDs, Index: uint64(a.Index)}, nil
}

// fresh is how new an answer must be.
func fresh(m *wire.Recall) (api.Fresh, error) {
	switch m.Consistency {
	case "", "stale", "linearizable":
		return api.Fresh{Consistency: m.Consistency, MinIndex: m.MinIndex}, nil
	}
	return api.Fresh{}, oplog.Errorf(oplog.Invalid, "consistency %q: stale, linearizable, or a min_index", m.Consistency)
}

func (ss *session) recall(ctx context.Context, f wire.Frame) error {
	var m wire.Recall
	if err := ss.unpack(f, &m); err != nil {
		return ss.failed(f, err)
	}
	if err := field.Ordered("since", seconds(m.Since), "until", seconds(m.Until)); err != nil {
		return ss.failed(f, oplog.Errorf(oplog.Invalid, "%s", err))
	}
	q := &api.RecallRequest{Question: asks(&m), AsOf: dated(m.AsOf)}
	var err error
	if q.Fresh, err = fresh(&m); err != nil {
		return ss.failed(f, err)
	}
	a, err := api.Recall.Do(ctx, ss.w.s, ss.who(), q)
	if err != nil {
		return ss.failed(f, err)
	}
	return ss.replyAll(f, len(a.Results)+1, func(i int) (wire.Op, wire.Message) {
		if i < len(a.Results) {
			return wire.OpRecallResult, result(&a.Results[i])
		}
		return wire.OpRecallEnd, &wire.RecallEnd{Total: a.Total, Confidence: a.Confidence,
			Index: uint64(a.Index), LagSeconds: a.Lag, Considered: uint64(a.Considered), BelowMinScore: uint64(a.Below)}
	})
}

func asks(m *wire.Recall) api.Question {
	return api.Question{Text: m.Query, Embedding: m.QueryEmbedding, K: m.TopK, Types: m.Types, Type: text(m.MemoryType), Namespace: text(m.Namespace), Domain: text(m.Domain), Source: text(m.Source),
		Session: m.Session, Consolidated: m.IncludeConsolidated, Expand: m.ExpandEntities, Quiet: m.SkipReinforce, Without: m.Without, Diverse: m.Diverse, MinScore: m.MinScore,
		Window: field.Window{From: seconds(m.Since), To: seconds(m.Until)}}
}

func result(r *api.Result) *wire.RecallResult {
	return &wire.RecallResult{Certainty: r.Certainty, CreatedAt: r.Created, Domain: r.Domain, Importance: r.Importance,
		MemoryType: r.Type, Metadata: wire.JSON(r.Metadata), Namespace: r.Namespace, RID: r.RID, Score: r.Score, Source: r.Source,
		Text: r.Text, Valence: r.Valence, WhyRetrieved: r.Why}
}

func (ss *session) forget(ctx context.Context, m *wire.Forget) (*wire.ForgetOK, error) {
	a, err := api.Forget.Do(ctx, ss.w.s, ss.who(), &api.ForgetRequest{RID: m.RID})
	if err != nil {
		return nil, err
	}
	return &wire.ForgetOK{Found: a.Found, RID: m.RID, Index: uint64(a.Index)}, nil
}
