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

// callFor is call with a returned answer of type A. After an error the answer may be incomplete.
func callFor[A any](ctx context.Context, c *Client, kind retryRule, op wire.Op, m wire.Message, want wire.Op) (answer A, err error) {
	err = c.call(ctx, kind, op, m, want, &answer)
	return answer, err
}

// call sends a request and reads its answer of one frame. m is nil for a request without content; answer is nil to
// ignore the content.
func (c *Client) call(ctx context.Context, kind retryRule, op wire.Op, m wire.Message, want wire.Op, answer wire.Message) error {
	return c.do(ctx, kind, func(ctx context.Context, cn *conn) error { return cn.ask(ctx, op, m, want, answer) })
}

// Ping checks that the node answers.
func (c *Client) Ping(ctx context.Context) error {
	return c.call(ctx, retryRead, wire.OpPing, nil, wire.OpPong, nil)
}

// Remember stores a memory and returns its id. If the caller sets no idempotency key, Remember generates one, so that
// retries across a change of leaders store the memory once.
func (c *Client) Remember(ctx context.Context, m wire.Remember) (string, error) {
	if m.IdempotencyKey == "" {
		m.IdempotencyKey = NewKey()
	}
	ok, err := callFor[wire.RememberOK](ctx, c, retryIdempotent, wire.OpRemember, &m, wire.OpRememberOK)
	c.noteWrite(ok.Index)
	return ok.RID, err
}

// RememberBatch stores memories, all or none, and returns their ids in order.
func (c *Client) RememberBatch(ctx context.Context, m wire.RememberBatch) ([]string, error) {
	if m.IdempotencyKey == "" {
		m.IdempotencyKey = NewKey()
	}
	ok, err := callFor[wire.RememberBatchOK](ctx, c, retryIdempotent, wire.OpRememberBatch, &m, wire.OpRememberOK)
	c.noteWrite(ok.Index)
	return ok.RIDs, err
}

// noteWrite records the log index of a write.
func (c *Client) noteWrite(index field.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index = max(c.index, index)
}

// forgetPastEnd reports whether a node rejected a read because the cluster's log ends before its index, as after a
// restore from a backup. It forgets the position of this client's own writes if that is past the end too: later reads
// would wait for it in vain.
func (c *Client) forgetPastEnd(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.details().LogEnd == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.index > *e.details().LogEnd {
		c.index = 0
	}
	return true
}

// Index returns the log position of this client's latest write; 0 if it has written nothing. If another client sends
// it as wire.Recall.MinIndex, the answer reflects that write or is an error.
func (c *Client) Index() field.Token {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index
}

// requireOwnWrites makes a recall reflect this client's writes, if Config.OwnWrites is set and the recall has no
// other consistency requirement.
func (c *Client) requireOwnWrites(q *wire.Recall) {
	if c.cfg.OwnWrites && q.Consistency == "" && q.MinIndex == 0 {
		q.MinIndex = c.Index()
	}
}

// fresh returns the requirement to reflect this client's writes, if Config.OwnWrites is set.
func (c *Client) fresh() wire.Fresh { return wire.Fresh{MinIndex: c.ownIndex()} }

// freshOrNil is fresh for a request without other content; nil for no requirement.
func (c *Client) freshOrNil() wire.Message {
	if m := c.fresh(); m.MinIndex > 0 {
		return &m
	}
	return nil
}

// Recall asks a question and returns all results.
func (c *Client) Recall(ctx context.Context, q wire.Recall) (results []wire.RecallResult, end wire.RecallEnd, err error) {
	c.requireOwnWrites(&q)
	err = c.do(ctx, retryRead, func(ctx context.Context, cn *conn) error {
		results = nil
		end, err = recall(ctx, cn, q, func(r wire.RecallResult) error {
			results = append(results, r)
			return nil
		})
		return err
	})
	return results, end, err
}

// RecallEach calls each with each result as it arrives. It does not retry when the connection breaks. each may use
// the same client: results that arrive meanwhile are buffered and do not block other answers on the connection.
func (c *Client) RecallEach(ctx context.Context, q wire.Recall, each func(wire.RecallResult) error) (end wire.RecallEnd, err error) {
	c.requireOwnWrites(&q)
	cn, err := c.connection(ctx)
	if err != nil {
		return end, err
	}
	ctx, stop := context.WithCancel(waitingForLate(ctx))
	defer stop()
	var mu sync.Mutex
	var waiting []wire.RecallResult
	arrived, over := make(chan struct{}, 1), make(chan struct{})
	go func() { // ends with the answer or with ctx
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
	c.forgetPastEnd(err)
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

// Forget forgets a memory; found reports whether it existed.
func (c *Client) Forget(ctx context.Context, rid string) (found bool, err error) {
	ok, err := callFor[wire.ForgetOK](ctx, c, retryIdempotent, wire.OpForget, &wire.Forget{RID: rid}, wire.OpForgetOK)
	c.noteWrite(ok.Index)
	return ok.Found, err
}

// Relate relates two entities and returns the edge's id. A repeated call updates the weight, so it is safe to repeat.
func (c *Client) Relate(ctx context.Context, m wire.Relate) (edge string, err error) {
	ok, err := callFor[wire.RelateOK](ctx, c, retryIdempotent, wire.OpRelate, &m, wire.OpRelateOK)
	c.noteWrite(ok.Index)
	return ok.EdgeID, err
}

// Edges returns the relations of an entity; with ErrIncomplete, only the first ones.
func (c *Client) Edges(ctx context.Context, entity string) ([]wire.Edge, error) {
	r, err := callFor[wire.EdgesResult](ctx, c, retryRead, wire.OpEdges, &wire.Entity{Entity: entity, Fresh: c.fresh()}, wire.OpEdgesResult)
	return r.Edges, incomplete(err, r.Incomplete)
}

// Claim stores a claim, a relation with its evidence, and returns its id.
func (c *Client) Claim(ctx context.Context, m wire.Claim) (id string, err error) {
	ok, err := callFor[wire.ClaimOK](ctx, c, retryIdempotent, wire.OpClaim, &m, wire.OpClaimOK)
	c.noteWrite(ok.Index)
	return ok.ClaimID, err
}

// Claims returns the claims about an entity; with ErrIncomplete, only the newest ones.
func (c *Client) Claims(ctx context.Context, entity, namespace string) ([]wire.ClaimRow, error) {
	r, err := callFor[wire.ClaimsResult](ctx, c, retryRead, wire.OpClaims,
		&wire.Claims{Entity: entity, Namespace: namespace, Fresh: c.fresh()}, wire.OpClaimsResult)
	return r.Claims, incomplete(err, r.Incomplete)
}

// Alias adds another name of an entity.
func (c *Client) Alias(ctx context.Context, m wire.Alias) (added bool, err error) {
	ok, err := callFor[wire.AliasOK](ctx, c, retryIdempotent, wire.OpAlias, &m, wire.OpAliasOK)
	c.noteWrite(ok.Index)
	return ok.Added, err
}

// StartSession opens a session.
func (c *Client) StartSession(ctx context.Context, m wire.SessionStart) (id string, err error) {
	ok, err := callFor[wire.SessionStarted](ctx, c, neverRetry, wire.OpSessionStart, &m, wire.OpSessionOK)
	c.noteWrite(ok.Index)
	return ok.SessionID, err
}

// EndSession closes a session.
func (c *Client) EndSession(ctx context.Context, id string, summary *string) (wire.SessionEnded, error) {
	ok, err := callFor[wire.SessionEnded](ctx, c, neverRetry, wire.OpSessionEnd, &wire.SessionEnd{SessionID: id, Summary: summary}, wire.OpSessionOK)
	c.noteWrite(ok.Index)
	return ok, err
}

// Think runs a round of thinking on the leader. The result counts the accepted changes.
func (c *Client) Think(ctx context.Context, m wire.Think) (wire.ThinkResult, error) {
	return callFor[wire.ThinkResult](ctx, c, neverRetry, wire.OpThink, &m, wire.OpThinkResult)
}

// Conflicts lists contradictions, most urgent first.
func (c *Client) Conflicts(ctx context.Context, m wire.Conflicts) ([]wire.Conflict, error) {
	if m.Fresh == (wire.Fresh{}) {
		m.Fresh = c.fresh()
	}
	r, err := callFor[wire.ConflictResult](ctx, c, retryRead, wire.OpConflicts, &m, wire.OpConflictResult)
	return r.Conflicts, err
}

// Resolve resolves a contradiction. The server rejects a second resolution.
func (c *Client) Resolve(ctx context.Context, m wire.Resolve) error {
	return c.call(ctx, neverRetry, wire.OpResolve, &m, wire.OpConflictResult, &wire.Resolved{})
}

// Personality returns the agent's traits, which are derived from the database's memories.
func (c *Client) Personality(ctx context.Context) ([]wire.Trait, error) {
	r, err := callFor[wire.Personality](ctx, c, retryRead, wire.OpPersonality, c.freshOrNil(), wire.OpInfoResult)
	return r.Traits, err
}

// CreateDatabase creates a database and returns its id.
func (c *Client) CreateDatabase(ctx context.Context, name string) (id uint32, err error) {
	ok, err := callFor[wire.DBOK](ctx, c, neverRetry, wire.OpCreateDB, &wire.Name{Name: name}, wire.OpDBOK)
	return ok.ID, err
}

// Databases lists the databases by id.
func (c *Client) Databases(ctx context.Context) ([]wire.Database, error) {
	r, err := callFor[wire.ListDBResult](ctx, c, retryRead, wire.OpListDB, c.freshOrNil(), wire.OpListDBResult)
	return r.Databases, err
}

// Stats returns the database's counters.
func (c *Client) Stats(ctx context.Context) (wire.Stats, error) {
	return callFor[wire.Stats](ctx, c, retryRead, wire.OpStats, c.freshOrNil(), wire.OpInfoResult)
}

// ClusterStatus returns the state of the cluster as the node sees it.
func (c *Client) ClusterStatus(ctx context.Context) (wire.ClusterStatusResult, error) {
	return callFor[wire.ClusterStatusResult](ctx, c, retryRead, wire.OpClusterStatus, nil, wire.OpClusterStatusResult)
}

// Subscribe calls each with events until ctx ends, each returns an error, or the connection breaks. The caller can
// then subscribe again from the last event's index. Subscribe has its own connection, so a slow each delays no
// request.
func (c *Client) Subscribe(ctx context.Context, m wire.Subscribe, each func(wire.Event) error) error {
	first, err := c.connection(ctx)
	if err != nil {
		return err
	}
	cn, err := c.dial(ctx, first.addr, 1, time.Time{})
	if err != nil {
		if ctx.Err() == nil {
			c.abandon(first, err)
		}
		return err
	}
	defer cn.closeWith(ErrClosed)
	err = cn.stream(waitingForLate(ctx), wire.OpSubscribe, &m, func(f wire.Frame) (bool, error) {
		var e wire.Event
		if err := wire.Unpack(f, &e, wire.MaxPlainClient); err != nil {
			return false, err
		}
		return false, each(e)
	})
	if errors.Is(err, errSilent) { // no request on first may notice that its server is silent
		c.abandon(first, err)
	}
	return err
}
