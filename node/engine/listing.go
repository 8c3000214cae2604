package engine

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Bounds of a listing: one whose filters match next to nothing must not read a whole database.
const (
	maxScan   = 100_000
	maxSorted = 20_000 // of the newest, when another order than that of creation is wanted
	maxPage   = 200    // rows of a page

	maxNamespaces = 1000 // of a page
)

// admits says whether a listing has a memory.
func admits(l *api.Listing, m *oplog.Memory) bool {
	return m.Status == oplog.Active && (l.Namespace == "" || m.Namespace == l.Namespace) &&
		(l.Domain == "" || m.Domain == l.Domain) && (l.Type == "" || m.Type == l.Type) && (l.Source == "" || m.Source == l.Source) &&
		(l.After.IsZero() || m.Created >= oplog.At(l.After.Time)) && (l.Before.IsZero() || m.Created < oplog.At(l.Before.Time))
}

// listOrders are the orders a listing may have beside that of creation.
var listOrders = map[string]func(a, b *oplog.Memory) int{
	"importance":  func(a, b *oplog.Memory) int { return cmp.Compare(b.Importance, a.Importance) },
	"last_access": func(a, b *oplog.Memory) int { return cmp.Compare(b.Accessed, a.Accessed) },
}

// memories is a page of a list, or of a walk.
func (s *Service) memories(ctx context.Context, c api.Caller, q *api.MemoriesRequest) (*api.MemoryPage, error) {
	if q.Limit = min(max(q.Limit, 1), maxPage); q.Walks || q.Walk != (api.Walk{}) {
		walked, err := s.walk(ctx, c, &q.Listing, &q.Walk)
		return &api.MemoryPage{Limit: q.Limit, Walked: walked}, err
	}
	list, err := s.list(ctx, c, q)
	if err != nil {
		return nil, err
	}
	page := &api.NewestMemories{Offset: q.Offset, Items: rowsOf(list)}
	err = s.state.Read(func(v *state.View) error {
		if page.Total = v.Stats(c.DB).Active; q.Namespace != "" {
			page.Total = v.NamespaceStats(c.DB, q.Namespace).Active
		}
		return nil
	})
	return &api.MemoryPage{Limit: q.Limit, NewestMemories: page}, err
}

// records is a page of a walk.
func (s *Service) records(ctx context.Context, c api.Caller, q *api.RecordsRequest) (*api.RecordPage, error) {
	q.Limit = min(max(q.Limit, 1), maxPage)
	walked, err := s.walk(ctx, c, &q.Listing, &q.Walk)
	if err != nil {
		return nil, err
	}
	return &api.RecordPage{Walked: *walked, Limit: q.Limit}, nil
}

// namespaces is a page of a database's namespaces.
func (s *Service) namespaces(_ context.Context, c api.Caller, q *api.NamespacesRequest) (*api.NamespacePage, error) {
	page, most := &api.NamespacePage{Namespaces: []api.Namespace{}}, min(max(q.Limit, 1), maxNamespaces)
	return page, s.state.Read(func(v *state.View) error {
		v.Namespaces(c.DB, q.After, func(name string, n state.NamespaceStats) bool {
			if len(page.Namespaces) == most {
				page.Next = &page.Namespaces[most-1].Name
				return false
			}
			page.Namespaces = append(page.Namespaces, api.Namespace{Name: name, Active: n.Active, Merged: n.Consolidated, Forgotten: n.Tombstoned})
			return true
		})
		return nil
	})
}

// newest are the newest active memories of a namespace; a blank one is all of them.
func (s *Service) newest(ctx context.Context, c api.Caller, namespace string, n int) ([]*oplog.Memory, error) {
	return s.list(ctx, c, &api.MemoriesRequest{Listing: api.Listing{Namespace: namespace, Limit: n}})
}

// list are active memories, newest first or in another order. Its limit is the caller's.
func (s *Service) list(ctx context.Context, c api.Caller, q *api.MemoriesRequest) (list []*oplog.Memory, err error) {
	order, sorted := listOrders[q.Sort]
	if !sorted && q.Sort != "" && q.Sort != "created_at" {
		return nil, oplog.Errorf(oplog.Invalid, "sort: want created_at, importance or last_access")
	}
	if sorted {
		return s.listBy(ctx, c, q, order)
	}
	err = s.state.Read(func(v *state.View) error {
		skip, seen := q.Offset, 0
		v.Recent(c.DB, atOrNone(q.Before.Time), func(m *oplog.Memory) bool {
			seen++
			switch {
			case !admits(&q.Listing, m):
			case skip > 0:
				skip--
			default:
				list = append(list, m)
			}
			return len(list) < q.Limit && seen < maxScan
		})
		return nil
	})
	return list, err
}

// listBy keeps the first Offset+Limit of an order while it looks.
func (s *Service) listBy(ctx context.Context, c api.Caller, q *api.MemoriesRequest, order func(a, b *oplog.Memory) int) ([]*oplog.Memory, error) {
	best := firsts{order: func(a, b *oplog.Memory) int { return cmp.Or(order(a, b), cmp.Compare(b.Seq, a.Seq)) }}
	most := min(q.Offset+q.Limit, maxSorted)
	err := s.state.Read(func(v *state.View) error {
		seen := 0
		v.Recent(c.DB, atOrNone(q.Before.Time), func(m *oplog.Memory) bool {
			if seen++; admits(&q.Listing, m) {
				heap.Push(&best, m)
				if best.Len() > most {
					heap.Pop(&best)
				}
			}
			return seen < maxSorted
		})
		return nil
	})
	slices.SortFunc(best.list, best.order)
	return best.list[min(q.Offset, len(best.list)):], err
}

// firsts is a heap whose top is the last of an order.
type firsts struct {
	list  []*oplog.Memory
	order func(a, b *oplog.Memory) int
}

func (f *firsts) Len() int           { return len(f.list) }
func (f *firsts) Less(i, j int) bool { return f.order(f.list[i], f.list[j]) > 0 }
func (f *firsts) Swap(i, j int)      { f.list[i], f.list[j] = f.list[j], f.list[i] }
func (f *firsts) Push(x any)         { f.list = append(f.list, x.(*oplog.Memory)) }
func (f *firsts) Pop() any {
	last := f.list[len(f.list)-1]
	f.list = f.list[:len(f.list)-1]
	return last
}

// onWalk says whether a walk has a memory.
func onWalk(l *api.Listing, w *api.Walk, m *oplog.Memory) bool {
	if !admits(l, m) {
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

// walk is a page in the order of ids. It may be short of its limit when the filters match little.
func (s *Service) walk(ctx context.Context, c api.Caller, l *api.Listing, w *api.Walk) (*api.Walked, error) {
	page, next := &api.Walked{Records: []api.Record{}}, ""
	err := s.state.Read(func(v *state.View) error {
		looked, last := 0, ""
		v.RIDs(c.DB, w.Since, w.Order != "asc", func(rid string, seq oplog.Seq) bool {
			if len(page.Records) == l.Limit || looked == maxScan {
				next = last
				return false
			}
			looked++
			last = rid
			if m, ok := v.MemoryAt(c.DB, seq); ok && onWalk(l, w, m) {
				page.Records = append(page.Records, recordOf(m))
			}
			return true
		})
		return nil
	})
	page.Next = orNil(next)
	return page, err
}

func recordOf(m *oplog.Memory) api.Record {
	return api.Record{RID: m.RID, Text: m.Text, Type: m.Type, Importance: m.Importance, Metadata: metadata(m), Namespace: m.Namespace, Created: m.Created.Seconds(),
		CreatedAt: iso(m.Created), Certainty: m.Certainty, Domain: m.Domain, Source: m.Source, Accesses: m.Accesses, Accessed: m.Accessed.Seconds(), Tier: cmp.Or(m.Tier, "hot")}
}
