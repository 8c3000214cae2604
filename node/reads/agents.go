package reads

import (
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

const (
	pageRows   = 256
	maxScanned = 64 * pageRows
	pageBytes  = 4 << 20
	maxCensus  = 1_000_000 // memories that a census scans, including those of other protocols
)

// owned returns the memories of an owner, newest first. A page ends only between two milliseconds, because agents
// know no finer time and order records of one millisecond by id.
func owned(v dbView, q *api.OwnedRequest) *api.OwnedPage {
	operator, _ := v.Operator(v.db)
	a := &api.OwnedPage{}
	looked, size, last := 0, 0, q.Before
	v.eachOwned(q, operator.Key, func(m *oplog.Memory) bool {
		at := max(m.Created, 0) / 1000 * 1000
		full := uint64(len(a.Memories)) >= min(q.Limit, pageRows) || size >= pageBytes || looked >= maxScanned
		if full && at != last {
			a.Next = last
			return false
		}
		looked, last = looked+1, at
		owner := operator.Key
		if m.Namespace == oplog.CovenantNamespace && m.Owner != "" {
			owner = m.Owner
		}
		if owner == q.Owner && !m.Unlisted() && (q.Tier == "" || oplog.TierOf(m.Tier) == q.Tier) {
			k := api.Kept{Memory: m, Vector: v.Vector(v.db, m.Seq).Floats()}
			size += len(m.Text) + len(m.Metadata) + 2*len(k.Vector)
			a.Memories = append(a.Memories, k)
		}
		return true
	})
	return a
}

// eachOwned walks memories back in time. A peer has a receipt for each memory that it owns, so receipts lead to its
// memories. The operator owns all others.
func (v dbView) eachOwned(q *api.OwnedRequest, operator string, f func(*oplog.Memory) bool) {
	if q.Owner == operator {
		v.Recent(v.db, state.TimePosition{At: q.Before}, f)
		return
	}
	v.ReceiptsBefore(v.db, q.Owner, q.Before, func(r oplog.Receipt) bool {
		m, ok := v.Memory(v.db, r.Memory)
		return !ok || f(m)
	})
}

func receipts(v dbView, q *api.ReceiptsRequest) *api.ReceiptList {
	a := &api.ReceiptList{}
	v.Receipts(v.db, q.Payer, func(r oplog.Receipt) bool {
		if uint64(len(a.Receipts)) >= q.Limit || r.At < q.Since {
			return false
		}
		a.Receipts = append(a.Receipts, r)
		return true
	})
	return a
}

func grants(v dbView, q *api.GrantsRequest) *api.GrantList {
	a := &api.GrantList{Names: map[string]string{}}
	take := func(g oplog.StoredGrant) bool {
		if uint64(len(a.Grants)) >= q.Limit {
			return false
		}
		other := q.By != "" && g.GrantedBy != q.By || g.Limited && q.At > g.Expires
		if other || q.First && !g.First || !q.First && g.Revoked != 0 {
			return true
		}
		a.Grants = append(a.Grants, g)
		for _, key := range []string{g.Subject, g.GrantedBy} {
			if id, ok := v.Identity(v.db, key); ok {
				a.Names[key] = id.Display
			}
		}
		return true
	}
	if len(q.Actions) == 0 {
		v.Grants(v.db, q.Subject, take)
	}
	for _, action := range q.Actions {
		v.GrantsFor(v.db, q.Subject, action, take)
	}
	return a
}

func identified(v dbView, q *api.IdentifiedRequest) *api.IdentifiedAgent {
	a := &api.IdentifiedAgent{}
	v.Identities(v.db, func(id oplog.Identity) bool {
		if id.Display == q.Display || q.Display == "" && id.Operator {
			a.Identity = &id
		}
		return a.Identity == nil
	})
	return a
}

// census reads the newest receipts, and the newest memories with theirs. Every memory of the agents' protocol should
// have a receipt, except those that were merged or split from others.
func census(v dbView, q *api.CensusRequest) *api.CensusRows {
	a := &api.CensusRows{}
	for _, rid := range q.RIDs {
		if _, ok := v.Seq(v.db, rid); !ok {
			a.Missing = append(a.Missing, rid)
		}
	}
	if q.Window == 0 {
		return a
	}
	looked := uint64(0)
	v.Receipts(v.db, "", func(r oplog.Receipt) bool {
		looked++
		if _, ok := v.Seq(v.db, r.Memory); !ok && r.Resource == "memory" {
			a.Unpaid = append(a.Unpaid, r)
		}
		return looked < q.Window
	})
	looked = 0
	v.Recent(v.db, state.TimePosition{}, func(m *oplog.Memory) bool {
		looked++
		if m.Namespace == oplog.CovenantNamespace && !m.Unlisted() && len(v.MadeFrom(v.db, m)) == 0 {
			a.Memories = append(a.Memories, api.Paid{Memory: m, Receipts: v.ReceiptsOf(v.db, m.RID)})
		}
		return uint64(len(a.Memories)) < q.Window && looked < maxCensus
	})
	a.Grants = grants(v, &api.GrantsRequest{Limit: q.Window}).Grants
	return a
}
