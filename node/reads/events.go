package reads

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

func neighbours(v dbView, q *api.NeighboursRequest) *api.NeighbourMemories {
	return &api.NeighbourMemories{Before: v.collectSide(q, q.Before, true), After: v.collectSide(q, q.After, false)}
}

// maxPassed bounds the records that a walk skips. The index of a namespace leads to its own records, but forgotten
// ones are in it too.
const maxPassed = 4000

// collectSide collects up to n visible memories before or after a number, the nearest first.
func (v dbView) collectSide(q *api.NeighboursRequest, n int, back bool) (side []api.Kept) {
	if n <= 0 {
		return nil
	}
	own, all, order := v.NamespaceFrom, v.Memories, 1
	if back {
		own, all, order = v.NamespaceBack, v.MemoriesBack, -1
	}
	var found []*oplog.Memory
	enough, passed := n, 0
	take := func(m *oplog.Memory, wanted bool) bool {
		if wanted && q.Shows(m) {
			found = append(found, m)
		} else {
			passed++
		}
		return len(found) < enough && passed < maxPassed
	}
	own(v.db, q.Namespace, q.At, func(s oplog.Seq) bool { return take(v.MemoryAt(v.db, s)) })
	if !q.Alone {
		enough, passed = len(found)+n, 0
		all(v.db, q.At, func(m *oplog.Memory) bool { return take(m, m.Namespace != q.Namespace) })
	}
	slices.SortFunc(found, func(a, b *oplog.Memory) int { return order * cmp.Compare(a.Seq, b.Seq) })
	for _, m := range found[:min(len(found), n)] {
		side = append(side, v.withEvent(m, false))
	}
	return side
}

func workspace(v dbView, q *api.WorkspaceRequest) *api.WorkspaceCounts {
	a := &api.WorkspaceCounts{Events: v.EventCounts(v.db, q.Namespace), Memories: v.NamespaceStats(v.db, q.Namespace)}
	if d, ok := v.Database(v.db); !ok || d.Embedder == nil {
		return a
	}
	v.NamespaceFrom(v.db, q.Namespace, 0, func(seq oplog.Seq) bool { // some may not have their vector yet
		if len(v.Vector(v.db, seq)) > 0 {
			a.Embedded++
		}
		return v.ctx.Err() == nil
	})
	a.Embedded = min(a.Embedded, a.Memories.Active+a.Memories.Consolidated) // a forgotten memory may still have its vector
	return a
}

func knownEvents(v dbView, q *api.KnownEventsRequest) *api.KnownEventIDs {
	a := &api.KnownEventIDs{Events: make([]api.CapturedIDs, len(q.Marks))}
	for i, mark := range q.Marks {
		id := v.EventWith(v.db, q.Workspace, mark.Session, mark.Hash)
		a.Events[i].Event = id
		if e, ok := v.Event(v.db, id); ok && e.Summary != "" {
			a.Events[i].Summary, _ = v.Seq(v.db, e.Summary)
		}
	}
	return a
}
