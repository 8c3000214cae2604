package wireport

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/large"
)

// An exchange describes how an opcode is answered. A new row with an opcode needs a line in exchanges and a vector.
type exchange struct {
	opcode  wire.Op
	row     *api.Op   // nil for what concerns the connection alone
	replies []wire.Op // what it is answered with
	early   bool      // without a row: answered while the node still opens its log, as Early rows are
	answer  func(*session, context.Context, api.Caller, wire.Frame) error
}

// exchanges is the protocol behind AUTH, at a glance.
var exchanges = byOpcode([]exchange{
	{opcode: wire.OpPing, replies: []wire.Op{wire.OpPong}, early: true},
	{opcode: wire.OpSelectDB, replies: []wire.Op{wire.OpDBOK}, early: true, answer: (*session).selectDB},
	{opcode: wire.OpUnsubscribe, replies: []wire.Op{wire.OpEvent}, answer: (*session).unsubscribe},

	on[wire.Name, wire.DBOK](api.CreateDatabase, wire.OpDBOK, nil, nil),
	bare(api.Databases, wire.OpListDBResult, byName[api.DatabaseList, wire.ListDBResult](nil)),
	on[wire.Remember, wire.RememberOK](api.Remember, wire.OpRememberOK, nil, nil),
	on[wire.RememberBatch, wire.RememberBatchOK](api.RememberBatch, wire.OpRememberOK, toRememberBatch, nil),
	{opcode: api.Recall.Wire, row: api.Recall.Op, replies: []wire.Op{wire.OpRecallResult, wire.OpRecallEnd}, answer: (*session).recall},
	on[wire.Forget, wire.ForgetOK](api.Forget, wire.OpForgetOK, nil, nil),
	on[wire.Relate, wire.RelateOK](api.Relate, wire.OpRelateOK, nil, nil),
	on[wire.Entity, wire.EdgesResult](api.Edges, wire.OpEdgesResult, nil, nil),
	on(api.Claim, wire.OpClaimOK, nil, fromClaimed),
	on(api.Claims, wire.OpClaimsResult, toClaims, fromClaims),
	on(api.Alias, wire.OpAliasOK, nil, fromAliased),
	on[wire.SessionStart, wire.SessionStarted](api.StartSession, wire.OpSessionOK, nil, nil),
	on[wire.SessionEnd, wire.SessionEnded](api.EndSession, wire.OpSessionOK,
		byName[wire.SessionEnd, api.EndSessionRequest](names{"session_id": "id"}), nil),
	on[wire.Think, wire.ThinkResult](api.Think, wire.OpThinkResult, nil, nil),
	on[wire.Conflicts, wire.ConflictResult](api.Conflicts, wire.OpConflictResult, nil, nil),
	on(api.Resolve, wire.OpConflictResult, byName[wire.Resolve, api.ResolveRequest](names{"conflict_id": "id"}), fromResolved),
	bare(api.Personality, wire.OpInfoResult, byName[api.TraitList, wire.Personality](nil)),
	bare(api.Stats, wire.OpInfoResult, byName[api.Counters, wire.Stats](nil)),
	bare(api.Cluster, wire.OpClusterStatusResult, fromCluster),
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

// on is a row that one message asks for and one answers. Where to or from is nil, one is made of the other by the names
// of their fields.
func on[M, R, Q, A any, P message[M], S message[R]](row api.Of[Q, A], reply wire.Op, to func(*M) *Q, from func(*M, *A) *R) exchange {
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
				return coded(row.Op, err)
			}
			return ss.reply(in, reply, S(from(m, a)))
		}}
}

// bare is a row whose request says no more than how new the answer must be, if that.
func bare[R, Q, A any, S message[R]](row api.Of[Q, A], reply wire.Op, from func(*A) *R) exchange {
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

// unpack reads a request. Large ones take their turn, so that there are always processors for the small ones.
func (ss *session) unpack(in wire.Frame, m wire.Message) error {
	read := wire.UnpackExact
	if ss.w.cfg.Lenient {
		read = wire.Unpack
	}
	return ss.w.cfg.Turns.Decode(ss.ctx, wire.PlainSize(in, wire.MaxPlainClient), func() error { return read(in, m, wire.MaxPlainClient) })
}

// unpacked takes from the byte budget what a request takes when it is decompressed, beyond the bytes of its frame. It
// waits no longer than for a piece of a frame: what it waits for may be held by requests that wait as well.
func (ss *session) unpacked(f wire.Frame) (release func(), ok bool) {
	more := wire.PlainSize(f, wire.MaxPlainClient)
	if len(f.Payload) >= large.From { // these are counted
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
	if err == nil { // only now is the payload looked at
		release, ok := ss.unpacked(f)
		if !ok {
			return ss.fail(f, overloaded)
		}
		defer release()
		c.Hold = large.NewHold(ss.w.cfg.Budget, c.Principal())
		defer c.Hold.Release()
		err = x.answer(ss, ss.ctx, c, f)
	}
	var gone *lost
	if err == nil || errors.As(err, &gone) {
		return err
	}
	op, e := ss.w.cfg.Errors.Of(err)
	return ss.reply(f, op, e)
}

// admit is the caller of an exchange, with one operation counted.
func (ss *session) admit(x exchange) (api.Caller, error) {
	c := ss.currentCaller()
	ss.w.cfg.Access.Used(c.Token)
	return ss.w.cfg.Door.Admit(c, x.row)
}
