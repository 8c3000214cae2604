package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// memories returns a page of a list, or of a walk.
func (s *Service) memories(v *state.View, c api.Caller, q *api.MemoriesRequest) (*api.MemoryPage, error) {
	page := &api.MemoryPage{Limit: min(max(q.Limit, 1), maxPage)}
	var err error
	if q.Match, err = parseFilter(q.Filter); err != nil {
		return nil, err
	}
	if q.Limit = page.Limit; q.Walks || q.Walk != (api.Walk{}) {
		walked, err := walkByID(v, c, &q.Listing, &q.Walk)
		page.Walked = &walked
		return page, err
	}
	l, err := listMemories(v, c, q)
	page.NewestMemories = &api.NewestMemories{Total: v.ReachStats(c.DB, c.Reach(q.Namespace)).Active, Offset: q.Offset,
		Items: api.Each(l.rows, memoryOf), Cursor: l.cursor, Bounded: l.Bounded}
	if l.more && q.Cursor == "" {
		page.NewestMemories.Next = new(q.Offset + len(l.rows))
	}
	return page, err
}

// records returns a page of a walk.
func (s *Service) records(v *state.View, c api.Caller, q *api.RecordsRequest) (*api.RecordPage, error) {
	var err error
	if q.Match, err = parseFilter(q.Filter); err != nil {
		return nil, err
	}
	q.Limit = min(max(q.Limit, 1), maxPage)
	walked, err := walkByID(v, c, &q.Listing, &q.Walk)
	return &api.RecordPage{Walked: walked, Limit: q.Limit}, err
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

// A listPage is a page of memories.
type listPage struct {
	rows   []*oplog.Memory
	more   bool   // another row passes
	cursor string // the position of the walk; blank at its end
	api.Bounded
}

// newestMemories returns the newest active memories of a namespace that fit the budget; a blank namespace means all.
func newestMemories(v *state.View, c api.Caller, namespace string, n int) listPage {
	l, _ := listMemories(v, c, &api.MemoriesRequest{Listing: api.Listing{Namespace: namespace, Limit: n}}) // only an unknown order is refused
	return l
}

// listMemories returns active memories that fit the budget, the newest first or in another order.
func listMemories(v *state.View, c api.Caller, q *api.MemoriesRequest) (l listPage, err error) {
	before := state.TimePosition{At: timeOrZero(q.Before.Time)}
	switch order, sorted := listOrders[q.Sort]; {
	case sorted && q.Cursor != "":
		return l, oplog.Errorf(oplog.Invalid, "cursor: only the order of creation has cursors")
	case sorted:
		return listSorted(v, c, q, before, order), nil
	case q.Sort != "" && q.Sort != "created_at":
		return l, oplog.Errorf(oplog.Invalid, "sort: want created_at, importance or last_access")
	case q.Cursor != "":
		if before, err = parseCursor(q.Cursor); err != nil {
			return l, err
		}
	}
	skip, r, walk := q.Offset, byteBudget{hold: c.Hold}, timeScan{}
	v.Recent(c.DB, before, func(m *oplog.Memory) bool {
		switch {
		case walk.atLimit():
			return false
		case !admits(c, &q.Listing, m):
		case skip > 0:
			skip--
		case len(l.rows) == q.Limit, !r.reserve(m.Weight()):
			l.more = true
			return false
		default:
			l.rows = append(l.rows, m)
		}
		walk.advance(c, m, m.Created)
		return true
	})
	if l.more || walk.cut {
		l.cursor = walk.cursor()
	}
	return l, nil
}

// listSorted returns memories in another order. During the scan it holds outlines of at most twice Offset+Limit rows.
func listSorted(v *state.View, c api.Caller, q *api.MemoriesRequest, before state.TimePosition, order func(a, b *oplog.Memory) int) (l listPage) {
	most, seen := min(q.Offset+q.Limit+1, maxSorted), 0 // one more than the page has: then there is another page
	var best []*oplog.Memory
	first := func() {
		slices.SortFunc(best, func(a, b *oplog.Memory) int { return cmp.Or(order(a, b), cmp.Compare(b.Seq, a.Seq)) })
		best = slices.Delete(best, min(most, len(best)), len(best)) // and lets go of them
	}
	v.Recent(c.DB, before, func(m *oplog.Memory) bool {
		if seen == maxSorted {
			l.Bounded = api.Cut(maxSorted, "memories, the newest,", "request those created before the oldest of them, or the order of creation, which cursors continue")
			return false
		}
		if seen++; admits(c, &q.Listing, m) {
			if best = append(best, outline(m)); len(best) == 2*most {
				first()
			}
		}
		return true
	})
	first()
	best = best[min(q.Offset, len(best)):]
	l.rows, l.more = readFull(v, c.DB, best[:min(len(best), q.Limit)], c.Hold)
	l.more = l.more || len(best) > q.Limit
	return l
}

// passesWalk applies a walk's filters to a memory.
func passesWalk(c api.Caller, l *api.Listing, w *api.Walk, m *oplog.Memory) bool {
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

// walkByID returns a page in the order of ids. It may have fewer rows than its limit if the filters match little. Its
// cursor names no memory outside a caller's namespaces: if it ends at one, it has that memory's number.
func walkByID(v *state.View, c api.Caller, l *api.Listing, w *api.Walk) (api.Walked, error) {
	page, looked, last, own := api.Walked{Records: []api.Record{}}, 0, "", ""
	if c.Spaces.Bind() && v.ReachStats(c.DB, c.Reach("")) == (oplog.Counts{}) {
		return page, nil
	}
	since, r := w.Since, byteBudget{hold: c.Hold}
	if number, ok := strings.CutPrefix(since, "#"); ok && c.Spaces.Bind() {
		seq, _ := strconv.ParseUint(number, 10, 64)
		m, ok := v.StoredMemoryAt(c.DB, oplog.Seq(seq))
		if !ok {
			return page, oplog.Errorf(oplog.Invalid, "since_rid: what the walk had reached was purged meanwhile: begin again without it")
		}
		since = m.RID
	}
	v.RIDs(c.DB, since, w.Order != "asc", func(rid string, seq oplog.Seq) bool {
		if looked == maxScan {
			page.Next = &last
			return false
		}
		m, ok := v.MemoryAt(c.DB, seq)
		readable := ok && c.Spaces.Has(m.Namespace) || !c.Spaces.Bind()
		wanted := ok && readable && passesWalk(c, l, w, m)
		if readable && len(page.Records) == l.Limit || wanted && !r.reserve(m.Weight()) {
			page.Next = api.OrNil(own)
			return false
		}
		looked++
		if last = rid; readable {
			own = rid
		} else {
			last = fmt.Sprint("#", seq)
		}
		if wanted {
			page.Records = append(page.Records, recordOf(m))
		}
		return true
	})
	return page, nil
}

// stats returns a database's counters.
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
		a.Patterns = state.CountMatching(func(f func(oplog.Pattern) bool) { v.Patterns(c.DB, f) },
			func(p oplog.Pattern) bool { return v.Within(c.DB, r, p.Sources) })
	}
	return a, nil
}
