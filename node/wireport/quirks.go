package wireport

import (
	"strconv"
	"sync"

	"context"
	"math"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// The functions of this file convert between messages and rows that differ in more than the names of their fields.

var toDraft = byName[wire.Remember, api.Draft](fieldNames{"idempotency_key": ""})

// toRememberBatch sets the key of the batch, because single memories of a batch have none.
func toRememberBatch(m *wire.RememberBatch) *api.RememberBatchRequest {
	q := &api.RememberBatchRequest{Memories: make([]api.Draft, len(m.Memories)), Whole: m.IdempotencyKey}
	for i := range m.Memories {
		q.Memories[i] = *toDraft(&m.Memories[i])
	}
	return q
}

func fromClaimed(m *wire.Claim, a *api.Claimed) *wire.ClaimOK {
	return &wire.ClaimOK{ClaimID: a.ID, Namespace: m.Namespace, Index: field.Token(a.Index)}
}

func toClaims(m *wire.Claims) *api.ClaimsRequest {
	q := &api.ClaimsRequest{Entity: m.Entity, Namespace: m.Namespace, Fresh: api.Fresh(m.Fresh)}
	if q.Namespace == "default" { // what clients send that say nothing: all
		q.Namespace = ""
	}
	return q
}

var fromClaimRows = byName[api.ClaimList, wire.ClaimsResult](nil)

// fromClaims orders the claims oldest first.
func fromClaims(_ *wire.Claims, a *api.ClaimList) *wire.ClaimsResult {
	r := fromClaimRows(a)
	slices.Reverse(r.Claims)
	return r
}

func fromAliased(m *wire.Alias, a *api.Aliased) *wire.AliasOK {
	return &wire.AliasOK{Added: a.Added, Alias: m.Alias, CanonicalName: m.CanonicalName, Namespace: m.Namespace,
		Index: field.Token(a.Index)}
}

func fromResolved(m *wire.Resolve, _ *api.Resolved) *wire.Resolved {
	return &wire.Resolved{ConflictID: m.ConflictID, Strategy: m.Strategy}
}

func fromCluster(a *api.ClusterStatus) *wire.ClusterStatusResult {
	r := &wire.ClusterStatusResult{CurrentTerm: a.CurrentTerm, SelfID: a.NodeID, SelfRole: a.ConfiguredRole, LeaderID: a.LeaderID,
		QuorumSize: uint32(a.QuorumSize), Healthy: a.Healthy, Peers: []wire.PeerStatus{}}
	for _, p := range a.Peers {
		role, seen := "voter", math.Inf(1)
		if !p.Voter {
			role = "read_replica"
		}
		if p.LastSeenSecsAgo != nil {
			seen = *p.LastSeenSecsAgo
		}
		r.Peers = append(r.Peers,
			wire.PeerStatus{NodeID: p.NodeID, Addr: p.Addr, Role: role, CurrentTerm: p.CurrentTerm, LastSeenSecsAgo: seen,
				Reachable: p.Reachable})
	}
	return r
}

// recall answers with a frame for each memory, and a final one.
func (ss *session) recall(ctx context.Context, c api.Caller, f wire.Frame) error {
	var m wire.Recall
	if err := ss.unpack(f, &m); err != nil {
		return err
	}
	q, err := toRecall(&m)
	if err != nil {
		return err
	}
	a, err := api.Recall.Do(ctx, ss.w.cfg.Door, c, q)
	if err != nil {
		return err
	}
	return ss.replyAll(f, len(a.Results)+1, func(i int) (wire.Op, wire.Message) {
		if i < len(a.Results) {
			return wire.OpRecallResult, fromResult(&a.Results[i])
		}
		return wire.OpRecallEnd, fromRecalled(a)
	})
}

var (
	toQuestion   = byName[wire.Recall, api.RecallRequest](fieldNames{"explain": "", "since": "", "until": ""})
	fromResult   = byName[api.Result, wire.RecallResult](nil)
	fromRecalled = byName[api.Recalled, wire.RecallEnd](nil)
)

// defaultMinScore is the min_score of a request without one, as the row declares it.
var defaultMinScore = sync.OnceValue(func() float64 {
	least, err := strconv.ParseFloat(api.Recall.Op.Takes().Named("min_score").Default, 64)
	if err != nil {
		panic(err)
	}
	return least
})

func toRecall(m *wire.Recall) (*api.RecallRequest, error) {
	q := toQuestion(m)
	if m.MinScore == nil {
		q.MinScore = defaultMinScore()
	}
	q.Window = field.Window{From: field.UnixOrNone(m.Since), To: field.UnixOrNone(m.Until)}
	if err := field.Ordered("since", q.Window.From, "until", q.Window.To); err != nil {
		return nil, oplog.Errorf(oplog.Invalid, "%s", err)
	}
	switch m.Consistency {
	case "", "stale", "linearizable":
		return q, nil
	}
	return nil, oplog.Errorf(oplog.Invalid, "consistency %q: stale, linearizable, or a min_index", m.Consistency)
}
