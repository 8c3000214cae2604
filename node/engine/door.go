package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/reads"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
	"github.com/cairndb/cairn/wire/large"
)

// Do implements api.Door.
func (s *Service) Do(ctx context.Context, c api.Caller, op *api.Op, request any) (any, error) {
	start := time.Now()
	hold := c.Hold
	switch {
	case hold != nil: // the surface releases it when the answer is sent
	case op.Stream: // the answer is read behind the door, by this process itself
		hold = large.NewHold(nil, "")
	default:
		hold = large.NewHold(s.cfg.Budget, c.Principal())
		defer hold.Release()
	}
	c.Hold = hold.Part()
	whole := s.commit.Recovered() // before the operation: a row that it does not find may be applied a moment later
	answer, err := s.checkAndRun(ctx, c, op, request)
	if err == nil && c.Hold.Starved() {
		answer, err = nil, errManyAnswers
	}
	if !whole && errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
		answer, err = nil, s.access.Starting()
	}
	if err != nil {
		s.cluster.Recent.Refused.Add(1)
	}
	if took := time.Since(start); !op.Stream { // clients decide how long streams last
		s.cluster.Recent.Requests.Took(took)
		if err == nil && s.cfg.Slow >= 0 && took >= s.cfg.Slow { // the log has the operation, the database and the surface, never the text
			s.measured.slow.Add(1)
			s.log.Warn("slow operation", "surface", c.Surface, "operation", op.Name, "database", c.Database,
				"took", took.Round(time.Millisecond), "index", s.commit.Applied())
		}
	}
	return answer, err
}

// checkAndRun takes a request through the door, in this order: right, state, leadership, rate × cost, quota,
// freshness, namespaces. Nothing behind it asks who is calling.
func (s *Service) checkAndRun(ctx context.Context, c api.Caller, op *api.Op, request any) (any, error) {
	err := s.checkAllowed(c, op)
	if err == nil {
		c, err = s.count(c, op, cost(op, request))
	}
	if err == nil && op.Adds != nil { // of two requests that race for the last place, Apply rejects the later one
		adds := op.Adds(request)
		var keys func() []string
		if q, ok := request.(interface{ Keys() []string }); ok {
			keys = q.Keys
		}
		if err = s.checkQuota(c, adds, keys); err == nil {
			err = s.access.CheckBatch(c, adds)
		}
	}
	if err == nil {
		err = s.await(ctx, c, request)
	}
	if err == nil {
		err = s.checkNamespaces(ctx, c, op, request)
	}
	if err != nil {
		return nil, err
	}
	return operations[op](s, ctx, c, request)
}

// May implements api.Door.
func (s *Service) May(c api.Caller, op *api.Op) error {
	if op.Scope != "" && !c.May(op.Scope) {
		return api.NoScope(op.Scope)
	}
	if op.Reads && !c.May(api.Read) {
		return api.NoScope(api.Read)
	}
	if c.Spaces.Bind() && op.Bound == api.Refused {
		return api.OutOfBound(c, "%s is about more than namespaces: use a token without a bound", op.Name)
	}
	return requireQuarantinable(c, op)
}

// checkAllowed rejects a caller without the required right, any access to stored rows while this node has no state or
// after their database was dropped, and a write on a follower if the caller's writes are not forwarded.
func (s *Service) checkAllowed(c api.Caller, op *api.Op) error {
	err := s.May(c, op)
	if err == nil && !op.Node && s.commit.LacksState() {
		err = s.access.Starting()
	}
	if err == nil && !op.Node && c.DB != 0 { // it may have been dropped since the caller was let in, and its rows are still being erased
		_, err = s.state.Current(c.DB)
	}
	if err == nil {
		_, err = s.Lead(c, op)
	}
	return err
}

// Lead implements gateway.Door.
func (s *Service) Lead(c api.Caller, op *api.Op) (here bool, err error) {
	here = !op.Writes || s.commit.Leads()
	if !here && !c.Forward {
		err = s.commit.NotLeader()
	}
	return here, err
}

// Admit implements wireport.Door.
func (s *Service) Admit(c api.Caller, op *api.Op) (api.Caller, error) {
	if op == nil {
		return s.access.Count(c, 1)
	}
	if err := s.checkAllowed(c, op); err != nil {
		return c, err
	}
	return s.count(c, op, 1)
}

// cost returns the number of operations that a request counts as, for its token and for its database.
func cost(op *api.Op, request any) int {
	switch {
	case op.Cost != nil:
		return op.Cost(request)
	case op.Adds != nil:
		return max(1, op.Adds(request))
	}
	return 1
}

// count counts n operations of a request and returns the caller with them. It rejects the request if the token or the
// database has used up its limit.
func (s *Service) count(c api.Caller, op *api.Op, n int) (api.Caller, error) {
	bound := c
	if op.Scope == api.Admin || op.Scope == api.Owner {
		bound.DB = 0 // the database's bound does not apply to the request that raises it
	}
	bound, err := s.access.Count(bound, n)
	c.Counted = bound.Counted
	return c, err
}

// await waits until this node has applied and indexed the log as far as the request asks.
func (s *Service) await(ctx context.Context, c api.Caller, request any) error {
	f, ok := request.(interface{ Wanted() api.Fresh })
	if !ok {
		return nil
	}
	start := time.Now()
	wanted := commit.RequestedFreshness(f.Wanted())
	if wanted.Index > 0 && c.Patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Patience)
		defer cancel()
	}
	err := s.commit.Fresh(ctx, wanted)
	if err != nil && wanted.Index > 0 {
		refused := &api.Refusal{Code: "replica_behind", Err: oplog.Errorf(oplog.Unavailable, "replica behind: %s", err)}
		if past, ok := errors.AsType[*commit.PastEndError](err); ok {
			refused.More = map[string]any{"log_end": field.Token(past.End)}
		}
		return refused
	}
	if err == nil {
		s.observeStage("fresh", start)
	}
	return err
}

// An operation is the function of a row.
type operation func(s *Service, ctx context.Context, c api.Caller, request any) (any, error)

// A function is an operation with its row.
type function struct {
	op  *api.Op
	run operation
}

// on returns the function of a row. It drops an answer that comes with an error: functions may return both.
func on[Q, A any](o api.Of[Q, A], f func(*Service, context.Context, api.Caller, *Q) (*A, error)) function {
	return function{o.Op, func(s *Service, ctx context.Context, c api.Caller, request any) (any, error) {
		a, err := f(s, ctx, c, request.(*Q))
		if err != nil { // a nil pointer is not a nil answer
			return nil, err
		}
		return a, nil
	}}
}

// onView returns the function of a row that only reads the state. The function gets a view, so that all its reads are
// of one moment, and must not keep it.
func onView[Q, A any](o api.Of[Q, A], f func(*Service, *state.View, api.Caller, *Q) (*A, error)) function {
	return on(o, func(s *Service, ctx context.Context, c api.Caller, q *Q) (a *A, err error) {
		err = s.readState(ctx, c, func(v *state.View) (err error) {
			a, err = f(s, v, c, q)
			return err
		})
		return a, err
	})
}

// onPart returns the function of a row that calls a method of a part of the service.
func onPart[P, Q, A any](o api.Of[Q, A], part func(*Service) P, f func(P, context.Context, api.Caller, *Q) (*A, error)) function {
	return on(o, func(s *Service, ctx context.Context, c api.Caller, q *Q) (*A, error) { return f(part(s), ctx, c, q) })
}

// onPartView is onView for a method of a part of the service.
func onPartView[P, Q, A any](o api.Of[Q, A], part func(*Service) P, f func(P, *state.View, api.Caller, *Q) (*A, error)) function {
	return onView(o, func(s *Service, v *state.View, c api.Caller, q *Q) (*A, error) { return f(part(s), v, c, q) })
}

// readState calls f with a view of the state. It limits the number of concurrent readers of the node.
func (s *Service) readState(ctx context.Context, c api.Caller, f func(*state.View) error) error {
	done, err := s.acquireReader(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	return s.state.Read(f)
}

// acquireReader waits for the caller's turn to read the state, or to search; done ends the turn.
func (s *Service) acquireReader(ctx context.Context, c api.Caller) (done func(), err error) {
	done, ok := s.load.reads.Acquire(ctx, c.Principal(), 1)
	if !ok {
		return nil, oplog.Errorf(oplog.Unavailable, "too many reads at once; retry")
	}
	return done, nil
}

// operationTable finds the function of each row. A row without one is a bug of ours, and every build with it panics
// at its first start.
func operationTable(list []function) map[*api.Op]operation {
	all := map[*api.Op]operation{}
	for _, f := range list {
		all[f.op] = f.run
	}
	for op, read := range reads.All {
		all[op] = func(s *Service, ctx context.Context, c api.Caller, request any) (any, error) {
			return read(ctx, s.state, c.DB, request)
		}
	}
	for _, op := range api.Ops {
		if all[op] == nil {
			panic(fmt.Sprintf("engine: operation %s has no function", op.Name))
		}
	}
	return all
}
