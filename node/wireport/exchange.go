package wireport

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/large"
)

// exchange describes how an opcode is answered. A new row with an opcode needs a line in exchanges and a vector.
type exchange struct {
	opcode  wire.Op
	row     *api.Op   // nil for what concerns the connection alone
	replies []wire.Op // what it is answered with
	early   bool      // without a row: answered while the node still opens its log, as Early rows are
	answer  func(*session, context.Context, api.Caller, wire.Frame) error
}

// exchanges lists all opcodes after AUTH.
var exchanges = byOpcode([]exchange{
	{opcode: wire.OpPing, replies: []wire.Op{wire.OpPong}, early: true},
	{opcode: wire.OpSelectDB, replies: []wire.Op{wire.OpDBOK}, early: true, answer: (*session).selectDB},
	{opcode: wire.OpUnsubscribe, replies: []wire.Op{wire.OpEvent}, answer: (*session).unsubscribe},

	tableExchange[wire.Name, wire.DBOK](api.CreateDatabase, wire.OpDBOK, nil, nil),
	emptyRequest(api.Databases, wire.OpListDBResult, byName[api.DatabaseList, wire.ListDBResult](nil)),
	tableExchange[wire.Remember, wire.RememberOK](api.Remember, wire.OpRememberOK, nil, nil),
	tableExchange[wire.RememberBatch, wire.RememberBatchOK](api.RememberBatch, wire.OpRememberOK, toRememberBatch, nil),
	{opcode: api.Recall.Wire, row: api.Recall.Op, replies: []wire.Op{wire.OpRecallResult, wire.OpRecallEnd}, answer: (*session).recall},
	tableExchange[wire.Forget, wire.ForgetOK](api.Forget, wire.OpForgetOK, nil, nil),
	tableExchange[wire.Relate, wire.RelateOK](api.Relate, wire.OpRelateOK, nil, nil),
	tableExchange[wire.Entity, wire.EdgesResult](api.Edges, wire.OpEdgesResult, nil, nil),
	tableExchange(api.Claim, wire.OpClaimOK, nil, fromClaimed),
	tableExchange(api.Claims, wire.OpClaimsResult, toClaims, fromClaims),
	tableExchange(api.Alias, wire.OpAliasOK, nil, fromAliased),
	tableExchange[wire.SessionStart, wire.SessionStarted](api.StartSession, wire.OpSessionOK, nil, nil),
	tableExchange[wire.SessionEnd, wire.SessionEnded](api.EndSession, wire.OpSessionOK,
		byName[wire.SessionEnd, api.EndSessionRequest](fieldNames{"session_id": "id"}), nil),
	tableExchange[wire.Think, wire.ThinkResult](api.Think, wire.OpThinkResult, nil, nil),
	tableExchange[wire.Conflicts, wire.ConflictResult](api.Conflicts, wire.OpConflictResult, nil, nil),
	tableExchange(api.Resolve, wire.OpConflictResult, byName[wire.Resolve, api.ResolveRequest](fieldNames{"conflict_id": "id"}), fromResolved),
	emptyRequest(api.Personality, wire.OpInfoResult, byName[api.TraitList, wire.Personality](nil)),
	emptyRequest(api.Stats, wire.OpInfoResult, byName[api.Counters, wire.Stats](nil)),
	emptyRequest(api.Cluster, wire.OpClusterStatusResult, fromCluster),
	{opcode: wire.OpOperation, replies: []wire.Op{wire.OpOperationResult}, answer: (*session).operation},
	{opcode: api.Events.Wire, row: api.Events.Op, replies: []wire.Op{wire.OpEvent}, answer: (*session).subscribe},
})

func byOpcode(list []exchange) map[wire.Op]exchange {
	all := map[wire.Op]exchange{}
	for _, x := range list {
		all[x.opcode] = x
	}
	return all
}

// message is a pointer to a message struct.
type message[T any] interface {
	*T
	wire.Message
}

// tableExchange makes the exchange of a row with one request and one answer message. A nil to or from converts by the
// names of the fields.
func tableExchange[M, R, Q, A any, P message[M], S message[R]](row api.Of[Q, A], reply wire.Op, to func(*M) *Q, from func(*M, *A) *R) exchange {
	if to == nil {
		to = byName[M, Q](nil)
	}
	if from == nil {
		made := byName[A, R](nil)
		from = func(_ *M, a *A) *R { return made(a) }
	}
	return exchange{opcode: row.Wire, row: row.Op, replies: []wire.Op{reply},
		answer: func(ss *session, ctx context.Context, c api.Caller, in wire.Frame) error {
			m := new(M)
			if err := ss.unpack(in, P(m)); err != nil {
				return err
			}
			a, err := row.Do(ctx, ss.w.cfg.Door, c, to(m))
			if err != nil {
				return withCode(row.Op, err)
			}
			return ss.reply(in, reply, S(from(m, a)))
		}}
}

// emptyRequest makes the exchange of a row whose request has no fields, except perhaps those for the freshness of the
// answer.
func emptyRequest[R, Q, A any, S message[R]](row api.Of[Q, A], reply wire.Op, from func(*A) *R) exchange {
	return exchange{opcode: row.Wire, row: row.Op, replies: []wire.Op{reply},
		answer: func(ss *session, ctx context.Context, c api.Caller, in wire.Frame) error {
			q := new(Q)
			if wants, ok := any(q).(interface{ Want(api.Fresh) }); ok && len(in.Payload) > 0 {
				var m wire.Fresh
				if wire.Unpack(in, &m, wire.MaxPlainClient) == nil { // old clients send anything here
					wants.Want(api.Fresh(m))
				}
			}
			a, err := row.Do(ctx, ss.w.cfg.Door, c, q)
			if err != nil {
				return err
			}
			return ss.reply(in, reply, S(from(a)))
		}}
}

// unpack decodes a request. Large ones take turns, so that processors remain for small ones.
func (ss *session) unpack(in wire.Frame, m wire.Message) error {
	read := wire.UnpackExact
	if ss.w.cfg.Lenient {
		read = wire.Unpack
	}
	return ss.w.cfg.Turns.Decode(ss.ctx, wire.PlainSize(in, wire.MaxPlainClient), func() error { return read(in, m, wire.MaxPlainClient) })
}

// reserveUnpacked acquires the share of the byte budget that a request takes when decompressed, beyond its frame. It
// waits at most pieceTimeout, because waiting requests may hold the share that it waits for.
func (ss *session) reserveUnpacked(f wire.Frame) (release func(), ok bool) {
	more := wire.PlainSize(f, wire.MaxPlainClient)
	if len(f.Payload) >= large.From { // the frame is counted already
		more -= len(f.Payload)
	}
	if f.Flags&wire.FlagZstd == 0 || more < large.From {
		return func() {}, true
	}
	ctx, cancel := context.WithTimeout(ss.ctx, pieceTimeout)
	defer cancel()
	return ss.w.cfg.Budget.Acquire(ctx, ss.currentCaller().Principal(), more)
}

// serve answers one frame. An error ends the connection.
func (ss *session) serve(f wire.Frame) error {
	x, ok := exchanges[f.Op]
	switch {
	case !f.Op.Known():
		return ss.fail(f, &wire.Error{Code: wire.CodeInvalidPayload, Message: fmt.Sprintf("unknown opcode: 0x%02X", uint8(f.Op))})
	case !ok:
		return ss.fail(f, &wire.Error{Code: wire.CodeInvalidPayload, Message: "unsupported opcode: " + f.Op.Name()})
	case f.Op == wire.OpPing:
		return ss.empty(f, wire.OpPong)
	}
	if !x.early && (x.row == nil || !x.row.Early) {
		if err := ss.w.cfg.WaitOpen(ss.ctx); err != nil {
			return err
		}
	}
	c, err := ss.admit(x)
	if err == nil { // the payload is read only now
		release, ok := ss.reserveUnpacked(f)
		if !ok {
			return ss.fail(f, overloaded)
		}
		defer release()
		c.Hold = large.NewHold(ss.w.cfg.Budget, c.Principal())
		defer c.Hold.Release()
		err = x.answer(ss, ss.ctx, c, f)
	}
	var gone *connLost
	if err == nil || errors.As(err, &gone) {
		return err
	}
	op, e := ss.w.cfg.Errors.Of(err)
	return ss.reply(f, op, e)
}

// admit returns the caller of an exchange and counts one operation.
func (ss *session) admit(x exchange) (api.Caller, error) {
	c := ss.currentCaller()
	ss.w.cfg.Access.Used(c.Token)
	return ss.w.cfg.Door.Admit(c, x.row)
}
