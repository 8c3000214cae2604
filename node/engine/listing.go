package engine

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Bounds of a listing: filters that match next to nothing must not read a whole database.
const (
	maxScan   = 100_000
	maxSorted = 20_000 // of the newest, when another order than that of creation is wanted
	maxPage   = 200    // rows of a page

	maxNamespaces = 1000 // of a page
)

// admits applies a listing's filters to a memory.
func admits(c api.Caller, l *api.Listing, m *oplog.Memory) bool {
	return (m.Status == oplog.Active || l.Gone && m.Status == oplog.Tombstoned) && c.Reach(l.Namespace).Has(m.Namespace) &&
		(l.Domain == "" || m.Domain == l.Domain) && (l.Type == "" || m.Type == l.Type) && (l.Source == "" || m.Source == l.Source) &&
		m.Passes(l.Match) && (l.After.IsZero() || m.Created >= oplog.At(l.After.Time)) &&
		(l.Before.IsZero() || m.Created < oplog.At(l.Before.Time))
}

// listOrders holds the orders of a listing other than that of creation.
var listOrders = map[string]func(a, b *oplog.Memory) int{
	"importance":  func(a, b *oplog.Memory) int { return cmp.Compare(b.Importance, a.Importance) },
	"last_access": func(a, b *oplog.Memory) int { return cmp.Compare(b.Accessed, a.Accessed) },
}

// memories is a page of a list, or of a walk.
func (s *Service) memories(v *state.View, c api.Caller, q *api.MemoriesRequest) (*api.MemoryPage, error) {
	page := &api.MemoryPage{Limit: min(max(q.Limit, 1), maxPage)}
	var err error
	if q.Match, err = parseFilter(q.Filter); err != nil {
		return nil, err
	}
	if q.Limit = page.Limit; q.Walks || q.Walk != (api.Walk{}) {
		page.Walked = new(walk(v, c, &q.Listing, &q.Walk))
		return page, nil
	}
	q.Limit++ // one more than the page has: then there is another page
	list, more, err := listed(v, c, q)
	if len(list) > page.Limit {
		list, more = list[:page.Limit], true
	}
	page.NewestMemories = &api.NewestMemories{Total: v.ReachStats(c.DB, c.Reach(q.Namespace)).Active, Offset: q.Offset,
		Items: api.Each(list, memoryOf)}
	if more {
		page.NewestMemories.Next = new(q.Offset + len(list))
	}
	return page, err
}

// records is a page of a walk.
func (s *Service) records(v *state.View, c api.Caller, q *api.RecordsRequest) (*api.RecordPage, error) {
	var err error
	if q.Match, err = parseFilter(q.Filter); err != nil {
		return nil, err
	}
	q.Limit = min(max(q.Limit, 1), maxPage)
	return &api.RecordPage{Walked: walk(v, c, &q.Listing, &q.Walk), Limit: q.Limit}, nil
}

// namespaces returns a page of a database's namespaces.
func (s *Service) namespaces(v *state.View, c api.Caller, q *api.NamespacesRequest) (*api.NamespacePage, error) {
	page, most := &api.NamespacePage{Namespaces: []api.Namespace{}}, min(max(q.Limit, 1), maxNamespaces)
	v.Namespaces(c.DB, c.Spaces, q.After, func(name string, n oplog.Counts) bool {
		if len(page.Namespaces) == most {
			page.Next = &page.Namespaces[most-1].Name
			return false
		}
		page.Namespaces = append(page.Namespaces,
			api.Namespace{Name: name, Active: n.Active, Merged: n.Consolidated, Forgotten: n.Tombstoned})
		return true
	})
	return page, nil
}

// newest returns the newest active memories of a namespace as far as there is room; a blank namespace means all.
func newest(v *state.View, c api.Caller, namespace string, n int) (list []*oplog.Memory, more bool) {
	// only an unknown order is refused
	list, more, _ = listed(v, c, &api.MemoriesRequest{Listing: api.Listing{Namespace: namespace, Limit: n}})
	return list, more
}

// listed are active memories, newest first or in another order, as far as there is room. Its limit is the caller's.
// more says that there was room for fewer than that.
func listed(v *state.View, c api.Caller, q *api.MemoriesRequest) (list []*oplog.Memory, more bool, err error) {
	order, sorted := listOrders[q.Sort]
	if !sorted && q.Sort != "" && q.Sort != "created_at" {
		return nil, false, oplog.Errorf(oplog.Invalid, "sort: want created_at, importance or last_access")
	}
	if sorted {
		list, more = whole(v, c.DB, listedBy(v, c, q, order), c.Hold)
		return list, more, nil
	}
	skip, seen := q.Offset, 0
	r := room{hold: c.Hold}
	v.Recent(c.DB, atOrNone(q.Before.Time), func(m *oplog.Memory) bool {
		seen++
		switch {
		case !admits(c, &q.Listing, m):
		case skip > 0:
			skip--
		case r.has(m.Weight()):
			list = append(list, m)
		}
		return len(list) < q.Limit && seen < maxScan && !r.full
	})
	return list, r.full, nil
}

// listedBy sorts by an order, and returns outlines. While it looks at the rows it holds at most twice Offset+Limit of
// them.
func listedBy(v *state.View, c api.Caller, q *api.MemoriesRequest, order func(a, b *oplog.Memory) int) (best []*oplog.Memory) {
	most, seen := min(q.Offset+q.Limit, maxSorted), 0
	first := func() {
		slices.SortFunc(best, func(a, b *oplog.Memory) int { return cmp.Or(order(a, b), cmp.Compare(b.Seq, a.Seq)) })
		best = slices.Delete(best, min(most, len(best)), len(best)) // and lets go of them
	}
	v.Recent(c.DB, atOrNone(q.Before.Time), func(m *oplog.Memory) bool {
		if seen++; admits(c, &q.Listing, m) {
			if best = append(best, outline(m)); len(best) == 2*most {
				first()
			}
		}
		return seen < maxSorted
	})
	first()
	return best[min(q.Offset, len(best)):]
}

// onWalk applies a walk's filters to a memory.
func onWalk(c api.Caller, l *api.Listing, w *api.Walk, m *oplog.Memory) bool {
	if !admits(c, l, m) {
		return false
	}
	if w.Kind == "" && w.Drive == "" {
		return true
	}
	var meta struct {
		Kind  string `json:"kind"`
		Drive string `json:"drive_id"`
	}
	return json.Unmarshal(m.Metadata, &meta) == nil && (w.Kind == "" || meta.Kind == w.Kind) && (w.Drive == "" || meta.Drive == w.Drive)
}

// walk is a page in the order of ids. It may be short of its limit when the filters match little. Rows outside a
// caller's namespaces are passed over and not counted, because the page's cursor may name none of them.
func walk(v *state.View, c api.Caller, l *api.Listing, w *api.Walk) api.Walked {
	page, looked, last := api.Walked{Records: []api.Record{}}, 0, ""
	if c.Spaces.Bind() && v.ReachStats(c.DB, c.Reach("")) == (oplog.Counts{}) {
		return page
	}
	r := room{hold: c.Hold}
	v.RIDs(c.DB, w.Since, w.Order != "asc", func(rid string, seq oplog.Seq) bool {
		m, ok := v.MemoryAt(c.DB, seq)
		if c.Spaces.Bind() && !(ok && c.Spaces.Has(m.Namespace)) {
			return true
		}
		wanted := ok && onWalk(c, l, w, m)
		if len(page.Records) == l.Limit || looked == maxScan || wanted && !r.has(m.Weight()) {
			page.Next = api.OrNil(last)
			return false
		}
		looked++
		last = rid
		if wanted {
			page.Records = append(page.Records, recordOf(m))
		}
		return true
	})
	return page
}

// stats are a database's counters.
func (s *Service) stats(v *state.View, c api.Caller, q *api.StatsRequest) (*api.Counters, error) {
	r := c.Reach(q.Namespace)
	st := statsOf(v, c.DB, r)
	a := &api.Counters{Active: st.Active, Consolidated: st.Consolidated, Tombstoned: st.Tombstoned, Edges: st.Edges,
		Entities: st.Entities, Operations: st.Operations,
		Conflicts: st.OpenConflicts, Triggers: st.PendingTriggers}
	if q.Verbose {
		size := index.Size{}
		if r.All() { // the index does not count namespaces
			size = s.index.Size(c.DB)
		}
		a.MoreCounters = &api.MoreCounters{Claims: st.Claims, Rows: size.Rows, Vectors: size.Vectors,
			Applied: uint64(s.commit.Applied()), Indexed: uint64(s.commit.Indexed())}
		a.Resolved = v.ConflictsWithin(c.DB, r, oplog.ConflictResolved, oplog.ConflictDismissed)
		a.Patterns = state.Counted(func(f func(oplog.Pattern) bool) { v.Patterns(c.DB, f) },
			func(p oplog.Pattern) bool { return v.Within(c.DB, r, p.Sources) })
	}
	return a, nil
}
