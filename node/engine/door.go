package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
)

// A visit is one operation on its way through the door.
type visit struct {
	c       api.Caller
	op      *api.Op
	request any
}

// A step looks at a visit and passes it on, or refuses it.
type step func(*Service, run) run

// A run calls the steps that are left, and then the operation.
type run func(context.Context, *visit) (any, error)

// steps is the door: each visit goes through them in this order, and nothing behind them asks who is calling.
var steps = []step{timed, sure, scoped, led, paced, housed, awaited}

// throughDoor puts the steps around what runs an operation.
func throughDoor(s *Service) run {
	next := run(func(ctx context.Context, v *visit) (any, error) { return operations[v.op].run(s, ctx, v.c, v.request) })
	for i := len(steps) - 1; i >= 0; i-- {
		next = steps[i](s, next)
	}
	return next
}

// Do implements api.Door.
func (s *Service) Do(ctx context.Context, c api.Caller, op *api.Op, request any) (any, error) {
	return s.door(ctx, &visit{c, op, request})
}

// May implements api.Door.
func (s *Service) May(c api.Caller, op *api.Op) error {
	if op.Scope != "" && !c.May(op.Scope) {
		return noScope(op.Scope)
	}
	if op.Reads && !c.May(api.Read) {
		return noScope(api.Read)
	}
	return nil
}

// Admit implements wireport.Door.
func (s *Service) Admit(c api.Caller, op *api.Op) (api.Caller, error) {
	if err := cmp.Or(s.May(c, op), s.checkLead(c, op)); err != nil {
		return c, err
	}
	return s.count(c, op, 1)
}

// timed notes operations that take long.
func timed(s *Service, next run) run {
	return func(ctx context.Context, v *visit) (any, error) {
		start := time.Now()
		answer, err := next(ctx, v)
		if err != nil {
			s.recent.refused.Add(1)
		}
		if !v.op.Stream {
			s.recent.requests.Took(time.Since(start))
		}
		if err == nil && !v.op.Stream {
			s.slowly(v.c.Surface, v.op.Name, v.c, start)
		}
		return answer, err
	}
}

// sure takes back that something is not there, while this node lacks what its log has.
func sure(s *Service, next run) run {
	return func(ctx context.Context, v *visit) (any, error) {
		whole := s.commit.Whole() // before: what was not there may be a moment later
		answer, err := next(ctx, v)
		if !whole && errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
			return nil, access.ErrStarting
		}
		return answer, err
	}
}

// scoped refuses a caller that has not the right.
func scoped(s *Service, next run) run {
	return func(ctx context.Context, v *visit) (any, error) {
		if err := s.May(v.c, v.op); err != nil {
			return nil, err
		}
		return next(ctx, v)
	}
}

// led refuses a write on a node that does not lead, for a caller whose writes it does not pass on.
func led(s *Service, next run) run {
	return func(ctx context.Context, v *visit) (any, error) {
		if err := s.checkLead(v.c, v.op); err != nil {
			return nil, err
		}
		return next(ctx, v)
	}
}

func (s *Service) checkLead(c api.Caller, op *api.Op) error {
	if op.Writes && !c.Forward && !s.commit.Leads() {
		return s.commit.NotLeader()
	}
	return nil
}

// paced counts the visit as so many operations of its token and its database, and refuses it while they are used up.
func paced(s *Service, next run) run {
	return func(ctx context.Context, v *visit) (any, error) {
		cost := 1
		switch {
		case v.op.Cost != nil:
			cost = v.op.Cost(v.request)
		case v.op.Adds != nil:
			cost = max(cost, v.op.Adds(v.request))
		}
		var err error
		if v.c, err = s.count(v.c, v.op, cost); err != nil {
			return nil, err
		}
		return next(ctx, v)
	}
}

// count is the caller with n operations of its request counted.
func (s *Service) count(c api.Caller, op *api.Op, n int) (api.Caller, error) {
	bound := c
	if op.Scope == api.Admin || op.Scope == api.Owner {
		bound.DB = 0 // the database's bound does not apply to the request that raises it
	}
	bound, err := s.access.Count(bound, n)
	c.Counted = bound.Counted
	return c, quota(err)
}

// housed refuses memories that would not fit the database, with the texts that clients match. Of two visits that race for the last place,
// Apply refuses the later one.
func housed(s *Service, next run) run {
	return func(ctx context.Context, v *visit) (any, error) {
		if v.op.Adds != nil {
			if err := s.room(v.c, v.op.Adds(v.request)); err != nil {
				return nil, err
			}
		}
		return next(ctx, v)
	}
}

// awaited waits until this node has come as far as the answer must reflect.
func awaited(s *Service, next run) run {
	return func(ctx context.Context, v *visit) (any, error) {
		if f, ok := v.request.(interface{ Wanted() api.Fresh }); ok {
			start := time.Now()
			wanted := commit.Wanted(f.Wanted())
			err := s.commit.Fresh(ctx, wanted)
			if err != nil && wanted.Index > 0 {
				err = &api.Refusal{Code: "replica_behind", Err: oplog.Errorf(oplog.Unavailable, "replica behind: %s", err)}
			}
			if err != nil {
				return nil, err
			}
			s.measured.timings.took("fresh", start)
		}
		return next(ctx, v)
	}
}

// An operation is the function behind a row.
type operation struct {
	op  *api.Op
	run func(s *Service, ctx context.Context, c api.Caller, request any) (any, error)
}

func on[Q, A any](o api.Of[Q, A], f func(*Service, context.Context, api.Caller, *Q) (*A, error)) operation {
	return operation{o.Op, func(s *Service, ctx context.Context, c api.Caller, request any) (any, error) {
		a, err := f(s, ctx, c, request.(*Q))
		if err != nil { // a nil pointer is no nil answer
			return nil, err
		}
		return a, nil
	}}
}

// rowed finds the function of each row. A row without one is a bug of ours, and every build with it panics at its first start.
func rowed(list []operation) map[*api.Op]operation {
	all := map[*api.Op]operation{}
	for _, o := range list {
		all[o.op] = o
	}
	for _, op := range api.Ops {
		if all[op].run == nil {
			panic(fmt.Sprintf("engine: operation %s has no function", op.Name))
		}
	}
	return all
}

// operations are the functions behind the table's rows.
var operations = rowed([]operation{
	on(api.Remember, (*Service).rememberOne),
	on(api.RememberBatch, (*Service).rememberBatch),
	on(api.Recall, (*Service).recall),
	on(api.RecallAsOf, (*Service).recallAsOf),
	on(api.Forget, (*Service).forget),
	on(api.Correct, (*Service).correct),
	on(api.Undo, (*Service).undo),
	on(api.Get, (*Service).get),
	on(api.Revisions, (*Service).revisions),
	on(api.Current, (*Service).current),

	on(api.Memories, (*Service).memories),
	on(api.Records, (*Service).records),
	on(api.Namespaces, (*Service).namespaces),
	on(api.Stats, (*Service).stats),

	on(api.Stale, (*Service).staleMemories),
	on(api.Upcoming, (*Service).upcoming),
	on(api.Chronology, (*Service).chronology),
	on(api.Profile, (*Service).profile),
	on(api.Timeline, (*Service).timeline),
	on(api.Entities, (*Service).entities),
	on(api.Compare, (*Service).compareRecalls),
	on(api.Around, (*Service).around),
	on(api.Status, (*Service).tellStatus),
	on(api.Message, func(*Service, context.Context, api.Caller, *api.MessageRequest) (*api.MessageAnswer, error) {
		return &api.MessageAnswer{}, nil
	}),

	on(api.Think, (*Service).think),
	on(api.Reflect, (*Service).reflect),
	on(api.Conflicts, (*Service).conflicts),
	on(api.Resolve, (*Service).resolve),
	on(api.Triggers, (*Service).triggers),
	on(api.TriggerHistory, (*Service).triggerHistory),
	on(api.DeliverTriggers, (*Service).deliverTriggers),
	on(api.MoveTrigger, (*Service).moveTrigger),
	on(api.Personality, (*Service).personality),
	on(api.Patterns, (*Service).patterns),
	on(api.Feedback, (*Service).feedback),

	on(api.StartSession, (*Service).startSession),
	on(api.EndSession, (*Service).endSession),
	on(api.SessionHistory, (*Service).sessionHistory),
	on(api.Sessions, (*Service).sessions),
	on(api.DraftSummary, (*Service).draftSummary),

	on(api.CreateDatabase, (*Service).createDatabase),
	on(api.Databases, (*Service).listDatabases),
	on(api.DropDatabase, (*Service).dropDatabase),
	on(api.Quota, (*Service).quota),
	on(api.SetQuota, (*Service).setQuota),
	on(api.Settings, (*Service).settings),
	on(api.SetSettings, (*Service).setSettings),
	on(api.Purge, (*Service).purge),

	on(api.Me, (*Service).whoAmI),
	on(api.CreateToken, (*Service).createToken),
	on(api.Tokens, (*Service).tokens),
	on(api.RevokeToken, (*Service).revokeToken),
	on(api.LimitToken, (*Service).limitToken),
	on(api.Audits, (*Service).audits),
	on(api.Log, (*Service).logLines),

	on(api.Cluster, (*Service).cluster),
	on(api.Topology, (*Service).topology),
	on(api.Raft, (*Service).raftState),
	on(api.Past, (*Service).clusterPast),
	on(api.Keys, (*Service).clusterKeys),
	on(api.ChangeMembers, (*Service).changeMembers),
	on(api.ControlSnapshot, (*Service).controlSnapshot),

	on(api.MakeBackup, (*Service).makeBackup),
	on(api.FetchBackup, (*Service).fetchBackup),
	on(api.DropBackup, (*Service).dropBackup),
	on(api.Export, (*Service).export),
	on(api.Import, (*Service).importLines),

	on(api.Events, (*Service).events),
	on(api.Gaps, (*Service).gaps),
	on(api.Digest, (*Service).digest),
	on(api.RunMaintenance, (*Service).runMaintenance),
	on(api.MaintenanceStatus, (*Service).maintenanceStatus),

	on(api.Alive, (*Service).alive),
	on(api.DeepHealth, (*Service).deepHealth),
	on(api.Ready, (*Service).tellReady),
	on(api.PackContext, (*Service).packContext),
	on(api.Embedding, (*Service).embedding),
	on(api.Reembed, (*Service).reembed),

	on(api.Relate, (*Service).relate),
	on(api.Edges, (*Service).edges),
	on(api.Graph, (*Service).graph),
	on(api.Unrelate, (*Service).unrelate),
	on(api.Claim, (*Service).claim),
	on(api.Claims, (*Service).claims),
	on(api.Alias, (*Service).alias),

	on(api.View, (*Service).view),
	on(api.Search, (*Service).hostSearch),
	on(api.Place, (*Service).place),
	on(api.Capture, (*Service).capture),
	on(api.ForgetMany, (*Service).forgetMany),
	on(api.PurgeStep, (*Service).purgeStep),
	on(api.KeepIntent, (*Service).keepIntent),
	on(api.KeepIdentity, (*Service).keepIdentity),
	on(api.Grant, (*Service).grant),
	on(api.Revoke, (*Service).revoke),
	on(api.PurgeGrants, (*Service).purgeGrants),
	on(api.RunProgram, (*Service).onHost),
	on(api.UseFiles, (*Service).onHost),
	on(api.AskHosts, (*Service).onHost),
	on(api.StopNode, (*Service).onHost),
	on(api.LoseStream, (*Service).loseStream),
})

// noScope refuses a caller whose token lacks the scope.
func noScope(s api.Scope) error {
	return &api.Refusal{Code: "insufficient_scope", Err: oplog.Errorf(oplog.Denied, "token has no %s scope", s)}
}
