package node

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// A Listing says which memories are wanted. Zero values do not filter.
type Listing struct {
	Namespace, Domain, Type string
	Limit, Offset           int
	Before                  oplog.Time // of creation
	Sort                    string     // created_at when empty; importance, last_access: the greatest first
}

// What a listing looks at: filters that match next to nothing must not read a whole database.
const (
	maxScan   = 100_000
	maxSorted = 20_000 // of the newest, when another order than that of creation is wanted
)

func (l *Listing) admits(m *oplog.Memory) bool {
	return m.Status == oplog.Active && (l.Namespace == "" || m.Namespace == l.Namespace) &&
		(l.Domain == "" || m.Domain == l.Domain) && (l.Type == "" || m.Type == l.Type)
}

// listOrders are the orders a listing may have beside that of creation.
var listOrders = map[string]func(a, b *oplog.Memory) int{
	"importance":  func(a, b *oplog.Memory) int { return cmp.Compare(b.Importance, a.Importance) },
	"last_access": func(a, b *oplog.Memory) int { return cmp.Compare(b.Accessed, a.Accessed) },
}

// List are active memories, newest first or in another order.
func (s *Service) List(ctx context.Context, c Caller, l Listing) (list []*oplog.Memory, err error) {
	order, sorted := listOrders[l.Sort]
	if !sorted && l.Sort != "" && l.Sort != "created_at" {
		return nil, oplog.Errorf(oplog.Invalid, "sort: created_at, importance or last_access")
	}
	if sorted {
		return s.listBy(ctx, c, l, order)
	}
	err = s.read(ctx, c, Stale, func(v *oplog.View) error {
		skip, seen := l.Offset, 0
		v.Recent(c.DB, l.Before, func(m *oplog.Memory) bool {
			seen++
			switch {
			case !l.admits(m):
			case skip > 0:
				skip--
			default:
				list = append(list, m)
			}
			return len(list) < l.Limit && seen < maxScan
		})
		return nil
	})
	return list, err
}

// listBy keeps the first Offset+Limit of an order while it looks.
func (s *Service) listBy(ctx context.Context, c Caller, l Listing, order func(a, b *oplog.Memory) int) ([]*oplog.Memory, error) {
	best := firsts{order: func(a, b *oplog.Memory) int { return cmp.Or(order(a, b), cmp.Compare(b.Seq, a.Seq)) }}
	most := min(l.Offset+l.Limit, maxSorted)
	err := s.read(ctx, c, Stale, func(v *oplog.View) error {
		seen := 0
		v.Recent(c.DB, l.Before, func(m *oplog.Memory) bool {
			if seen++; l.admits(m) {
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
	return best.list[min(l.Offset, len(best.list)):], err
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

// A Walk goes through active memories in the order of their ids, which is that of their making.
type Walk struct {
	Listing
	Kind, Drive string // the metadata's kind and drive_id
	Since       string // the id behind which to begin; none is the beginning
	Up          bool   // from the oldest on
}

func (w *Walk) admits(m *oplog.Memory) bool {
	if !w.Listing.admits(m) {
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

// Records are a page of a walk. next is the id to go on behind, empty at the end; a page may be short of its limit when
// the filters match little.
func (s *Service) Records(ctx context.Context, c Caller, w Walk) (list []*oplog.Memory, next string, err error) {
	err = s.read(ctx, c, Stale, func(v *oplog.View) error {
		looked, last := 0, ""
		v.RIDs(c.DB, w.Since, !w.Up, func(rid string, seq oplog.Seq) bool {
			if len(list) == w.Limit || looked == maxScan {
				next = last
				return false
			}
			looked++
			last = rid
			if m, ok := v.MemoryAt(c.DB, seq); ok && w.admits(m) {
				list = append(list, m)
			}
			return true
		})
		return nil
	})
	return list, next, err
}
