package reads

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

const (
	captureRows    = 512     // rows of a page
	maxCaptureScan = 8192    // memories that are scanned for a page
	maxAlike       = 100_000 // hashes of a workspace that alike compares
)

// captures returns summaries with their events. It skips forgotten summaries and their events.
func captures(v dbView, q *api.CapturesRequest) *api.CapturesPage {
	a, budget := &api.CapturesPage{}, q.Payloads
	take := func(m *oplog.Memory, e oplog.StoredEvent) {
		if len(e.Payload) > budget {
			e.Payload = nil
		}
		budget -= len(e.Payload)
		a.Captures = append(a.Captures, api.CapturedMemory{Memory: m, Event: &e})
	}
	for _, id := range q.Events {
		e, ok := v.Event(v.db, id)
		if m, there := v.Memory(v.db, e.Summary); ok && there && e.Workspace == q.Workspace && !m.Unlisted() {
			take(m, e)
		}
	}
	if len(q.Events) > 0 {
		return a
	}
	looked := 0
	v.NamespaceFrom(v.db, q.Workspace, q.From, func(seq oplog.Seq) bool {
		if looked++; looked > maxCaptureScan || len(a.Captures) == captureRows || v.ctx.Err() != nil {
			a.Next = seq
			return false
		}
		m, ok := v.MemoryAt(v.db, seq)
		if !ok || m.Unlisted() || q.Merged && m.Status != oplog.Consolidated {
			return true
		}
		if e, ok := v.Event(v.db, v.EventOf(v.db, m.RID)); ok {
			if len(e.Payload) > budget && budget < q.Payloads {
				a.Next = seq // this event begins the next page
				return false
			}
			take(m, e)
		}
		return true
	})
	return a
}

// alike finds sessions of a workspace that share event hashes with a session.
func alike(v dbView, q *api.AlikeRequest) *api.AlikeSessions {
	own := map[string]bool{}
	v.SessionHashes(v.db, q.Workspace, q.Session, func(session string, hash []byte, _ oplog.EventID) bool {
		if session != q.Session {
			return false
		}
		own[string(hash)] = true
		return len(own) < maxAlike
	})
	shared, last, looked := map[string]int{}, map[string]oplog.EventID{}, 0
	v.SessionHashes(v.db, q.Workspace, "", func(session string, hash []byte, id oplog.EventID) bool {
		if session != q.Session && own[string(hash)] {
			shared[session]++
			last[session] = max(last[session], id)
		}
		looked++
		return looked < maxAlike && v.ctx.Err() == nil
	})
	a := &api.AlikeSessions{}
	for session, n := range shared {
		e, _ := v.Event(v.db, last[session])
		a.Sessions = append(a.Sessions, api.AlikeSession{Session: session, Shared: n, Last: e.At})
	}
	slices.SortFunc(a.Sessions, func(x, y api.AlikeSession) int {
		return cmp.Or(cmp.Compare(y.Shared, x.Shared), cmp.Compare(y.Last, x.Last), cmp.Compare(x.Session, y.Session))
	})
	return a
}
