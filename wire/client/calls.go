package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// ask is call for an answer of type A; after an error it is not complete.
func ask[A any](ctx context.Context, c *Client, kind retryRule, op wire.Op, m wire.Message, want wire.Op) (answer A, err error) {
	err = c.call(ctx, kind, op, m, want, &answer)
	return answer, err
}

// call sends a request, nil for one without content, and reads its answer of one frame, nil for one that is not
// looked at.
func (c *Client) call(ctx context.Context, kind retryRule, op wire.Op, m wire.Message, want wire.Op, answer wire.Message) error {
	return c.do(ctx, kind, func(ctx context.Context, cn *conn) error { return cn.ask(ctx, op, m, want, answer) })
}

// Ping asks the node whether it is there.
func (c *Client) Ping(ctx context.Context) error {
	return c.call(ctx, read, wire.OpPing, nil, wire.OpPong, nil)
}

// Remember stores a memory and returns its id. Without an idempotency key of the caller's it gets one, and
// retries across a change of leaders store it once.
func (c *Client) Remember(ctx context.Context, m wire.Remember) (string, error) {
	if m.IdempotencyKey == "" {
		m.IdempotencyKey = NewKey()
	}
	ok, err := ask[wire.RememberOK](ctx, c, recognised, wire.OpRemember, &m, wire.OpRememberOK)
	c.wrote(ok.Index)
	return ok.RID, err
}

// RememberBatch stores memories, all or none, and returns their ids in order.
func (c *Client) RememberBatch(ctx context.Context, m wire.RememberBatch) ([]string, error) {
	if m.IdempotencyKey == "" {
		m.IdempotencyKey = NewKey()
	}
	ok, err := ask[wire.RememberBatchOK](ctx, c, recognised, wire.OpRememberBatch, &m, wire.OpRememberOK)
	c.wrote(ok.Index)
	return ok.RIDs, err
}

// wrote remembers where in the log a write is.
func (c *Client) wrote(index field.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index = max(c.index, index)
}

// Index is the place in the log of this client's latest write, 0 when it has written nothing. As another client's
// wire.Recall.MinIndex it makes any node answer with that write, or not at all.
func (c *Client) Index() field.Token {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index
}

// own asks for this client's own writes, where Config.OwnWrites is set and the question has no requirement of its own.
func (c *Client) own(q *wire.Recall) {
	if c.cfg.OwnWrites && q.Consistency == "" && q.MinIndex == 0 {
		q.MinIndex = c.Index()
	}
}

// fresh asks for this client's own writes, where Config.OwnWrites is set.
func (c *Client) fresh() wire.Fresh { return wire.Fresh{MinIndex: c.ownIndex()} }

// ifFresh is fresh for a request that has no payload otherwise.
func (c *Client) ifFresh() wire.Message {
	if m := c.fresh(); m.MinIndex > 0 {
		return &m
	}
	return nil
}

// Recall asks a question and returns all results.
func (c *Client) Recall(ctx context.Context, q wire.Recall) (results []wire.RecallResult, end wire.RecallEnd, err error) {
	c.own(&q)
	err = c.do(ctx, read, func(ctx context.Context, cn *conn) error {
		results = nil
		end, err = recall(ctx, cn, q, func(r wire.RecallResult) error {
			results = append(results, r)
			return nil
		})
		return err
	})
	return results, end, err
}

// RecallEach hands over each result as it arrives. It is not asked again when the connection breaks. each may ask the
// same client: results that arrive meanwhile wait here, and keep back no other answer of their connection.
func (c *Client) RecallEach(ctx context.Context, q wire.Recall, each func(wire.RecallResult) error) (end wire.RecallEnd, err error) {
	c.own(&q)
	cn, err := c.connection(ctx)
	if err != nil {
		return end, err
	}
	ctx, stop := context.WithCancel(patiently(ctx))
	defer stop()
	var mu sync.Mutex
	var waiting []wire.RecallResult
	arrived, over := make(chan struct{}, 1), make(chan struct{})
	go func() { // ends with the answer, or with ctx
		defer close(over)
		end, err = recall(ctx, cn, q, func(r wire.RecallResult) error {
			mu.Lock()
			defer mu.Unlock()
			waiting = append(waiting, r)
			select {
			case arrived <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	for ended := false; !ended; {
		select {
		case <-arrived:
		case <-over:
			ended = true
		}
		mu.Lock()
		results := waiting
		waiting = nil
		mu.Unlock()
		for _, r := range results {
			if failed := each(r); failed != nil {
				stop()
				<-over
				return end, failed
			}
		}
	}
	return end, err
}

func recall(ctx context.Context, cn *conn, q wire.Recall, each func(wire.RecallResult) error) (end wire.RecallEnd, err error) {
	err = cn.stream(ctx, wire.OpRecall, &q, func(f wire.Frame) (bool, error) {
		switch f.Op {
		case wire.OpRecallResult:
			var r wire.RecallResult
			if err := wire.Unpack(f, &r, wire.MaxPlainClient); err != nil {
				return false, err
			}
			return false, each(r)
		case wire.OpRecallEnd:
			return true, wire.Unpack(f, &end, wire.MaxPlainClient)
		default:
			return false, fmt.Errorf("answer %s to RECALL", f.Op)
		}
	})
	return end, err
}

// Forget makes a memory invisible; found reports whether there was one.
func (c *Client) Forget(ctx context.Context, rid string) (found bool, err error) {
	ok, err := ask[wire.ForgetOK](ctx, c, recognised, wire.OpForget, &wire.Forget{RID: rid}, wire.OpForgetOK)
	c.wrote(ok.Index)
	return ok.Found, err
}

// Relate puts two entities into a relation; saying it again updates the weight, so it is safe to repeat.
func (c *Client) Relate(ctx context.Context, m wire.Relate) (edge string, err error) {
	ok, err := ask[wire.RelateOK](ctx, c, recognised, wire.OpRelate, &m, wire.OpRelateOK)
	c.wrote(ok.Index)
	return ok.EdgeID, err
}

// Edges are the relations an entity is in; with ErrIncomplete, the first of them.
func (c *Client) Edges(ctx context.Context, entity string) ([]wire.Edge, error) {
	r, err := ask[wire.EdgesResult](ctx, c, read, wire.OpEdges, &wire.Entity{Entity: entity, Fresh: c.fresh()}, wire.OpEdgesResult)
	return r.Edges, incomplete(err, r.Incomplete)
}

// Claim states a relation with its evidence.
func (c *Client) Claim(ctx context.Context, m wire.Claim) (id string, err error) {
	ok, err := ask[wire.ClaimOK](ctx, c, recognised, wire.OpClaim, &m, wire.OpClaimOK)
	c.wrote(ok.Index)
	return ok.ClaimID, err
}

// Claims are the claims about an entity; with ErrIncomplete, the newest of them.
func (c *Client) Claims(ctx context.Context, entity, namespace string) ([]wire.ClaimRow, error) {
	r, err := ask[wire.ClaimsResult](ctx, c, read, wire.OpClaims,
		&wire.Claims{Entity: entity, Namespace: namespace, Fresh: c.fresh()}, wire.OpClaimsResult)
	return r.Claims, incomplete(err, r.Incomplete)
}

// Alias makes a name another name of an entity.
func (c *Client) Alias(ctx context.Context, m wire.Alias) (added bool, err error) {
	ok, err := ask[wire.AliasOK](ctx, c, recognised, wire.OpAlias, &m, wire.OpAliasOK)
	c.wrote(ok.Index)
	return ok.Added, err
}

// StartSession opens a session.
func (c *Client) StartSession(ctx context.Context, m wire.SessionStart) (id string, err error) {
	ok, err := ask[wire.SessionStarted](ctx, c, once, wire.OpSessionStart, &m, wire.OpSessionOK)
	c.wrote(ok.Index)
	return ok.SessionID, err
}

// EndSession closes it.
func (c *Client) EndSession(ctx context.Context, id string, summary *string) (wire.SessionEnded, error) {
	ok, err := ask[wire.SessionEnded](ctx, c, once, wire.OpSessionEnd, &wire.SessionEnd{SessionID: id, Summary: summary}, wire.OpSessionOK)
	c.wrote(ok.Index)
	return ok, err
}

// Think asks the leader for a round of cognition. The counts say how much was accepted.
func (c *Client) Think(ctx context.Context, m wire.Think) (wire.ThinkResult, error) {
	return ask[wire.ThinkResult](ctx, c, once, wire.OpThink, &m, wire.OpThinkResult)
}

// Conflicts lists contradictions, the most urgent first.
func (c *Client) Conflicts(ctx context.Context, m wire.Conflicts) ([]wire.Conflict, error) {
	if m.Fresh == (wire.Fresh{}) {
		m.Fresh = c.fresh()
	}
	r, err := ask[wire.ConflictResult](ctx, c, read, wire.OpConflicts, &m, wire.OpConflictResult)
	return r.Conflicts, err
}

// Resolve decides a contradiction. The server rejects a second decision about the same one.
func (c *Client) Resolve(ctx context.Context, m wire.Resolve) error {
	return c.call(ctx, once, wire.OpResolve, &m, wire.OpConflictResult, &wire.Resolved{})
}

// Personality is the agent's traits, derived from the database's memories.
func (c *Client) Personality(ctx context.Context) ([]wire.Trait, error) {
	r, err := ask[wire.Personality](ctx, c, read, wire.OpPersonality, c.ifFresh(), wire.OpInfoResult)
	return r.Traits, err
}

// CreateDatabase makes a database.
func (c *Client) CreateDatabase(ctx context.Context, name string) (id uint32, err error) {
	ok, err := ask[wire.DBOK](ctx, c, once, wire.OpCreateDB, &wire.Name{Name: name}, wire.OpDBOK)
	return ok.ID, err
}

// Databases lists them by id.
func (c *Client) Databases(ctx context.Context) ([]wire.Database, error) {
	r, err := ask[wire.ListDBResult](ctx, c, read, wire.OpListDB, c.ifFresh(), wire.OpListDBResult)
	return r.Databases, err
}

// Stats are the database's counters.
func (c *Client) Stats(ctx context.Context) (wire.Stats, error) {
	return ask[wire.Stats](ctx, c, read, wire.OpStats, c.ifFresh(), wire.OpInfoResult)
}

// ClusterStatus is the cluster as the node sees it.
func (c *Client) ClusterStatus(ctx context.Context) (wire.ClusterStatusResult, error) {
	return ask[wire.ClusterStatusResult](ctx, c, read, wire.OpClusterStatus, nil, wire.OpClusterStatusResult)
}

// Subscribe hands over events until ctx ends, each returns an error, or the connection breaks: then subscribe
// again behind the last event's index. It has its own connection, so that a slow taker delays no request.
func (c *Client) Subscribe(ctx context.Context, m wire.Subscribe, each func(wire.Event) error) error {
	first, err := c.connection(ctx)
	if err != nil {
		return err
	}
	cn, err := c.dial(ctx, first.addr, 1, time.Time{})
	if err != nil {
		if ctx.Err() == nil {
			c.leave(first, err)
		}
		return err
	}
	defer cn.end(ErrClosed)
	err = cn.stream(patiently(ctx), wire.OpSubscribe, &m, func(f wire.Frame) (bool, error) {
		var e wire.Event
		if err := wire.Unpack(f, &e, wire.MaxPlainClient); err != nil {
			return false, err
		}
		return false, each(e)
	})
	if errors.Is(err, errSilent) { // first may have no request that would find it out
		c.leave(first, err)
	}
	return err
}
