package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/fold"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

const day = 24 * time.Hour

// dayTime is a day in the log's unit.
const dayTime = oplog.Time(day / time.Microsecond)

// staleImportance is the least importance of a memory that counts as stale.
const staleImportance = .3

// inDays rejects an invalid number of days, or one too large for the log's unit.
func inDays(days float64) (oplog.Time, error) {
	if !(days >= 0 && days <= 36_500) { // false for NaN too
		return 0, &api.Refusal{Code: "invalid_query_parameter", Err: oplog.Errorf(oplog.Invalid, "days: want a number from 0 to 36500")}
	}
	return oplog.Time(days * float64(dayTime)), nil
}

// staleMemories are important and were not recalled for so many days, the most important first.
func (s *Service) staleMemories(v *state.View, c api.Caller, q *api.StaleRequest) (*api.MemoryItems, error) {
	silent, err := inDays(q.Days)
	if err != nil {
		return nil, err
	}
	cutoff := oplog.At(s.now()) - silent
	// A memory that was not recalled for that long is at least that old: the scan begins at the oldest, and is bounded.
	rows := state.Pick(state.MaxLook, outlined(func(f func(*oplog.Memory) bool) { v.Between(c.DB, 0, cutoff, f) }),
		func(m *oplog.Memory) bool {
			return m.Status == oplog.Active && m.Accessed < cutoff && m.Importance >= staleImportance && c.Reach(q.Namespace).Has(m.Namespace)
		})
	slices.SortStableFunc(rows, func(a, b *oplog.Memory) int {
		return cmp.Or(cmp.Compare(b.Importance, a.Importance), cmp.Compare(a.Accessed, b.Accessed), cmp.Compare(a.RID, b.RID))
	})
	return items(v, c, rows, api.Limit(q.Limit)), nil
}

// items are the first n memories of a list of outlines, as far as there is room.
func items(v *state.View, c api.Caller, outlines []*oplog.Memory, n int) *api.MemoryItems {
	list, more := whole(v, c.DB, outlines[:min(len(outlines), n)], c.Hold)
	return &api.MemoryItems{Items: api.Each(list, memoryOf), Count: len(list), Left: more}
}

// outlined makes a walk over memories one over their outlines.
func outlined(walk func(func(*oplog.Memory) bool)) func(func(*oplog.Memory) bool) {
	return func(f func(*oplog.Memory) bool) {
		walk(func(m *oplog.Memory) bool { return f(outline(m)) })
	}
}

// upcoming are the memories that are due within so many days, the soonest first.
func (s *Service) upcoming(v *state.View, c api.Caller, q *api.UpcomingRequest) (*api.MemoryItems, error) {
	ahead, err := inDays(q.Days)
	if err != nil {
		return nil, err
	}
	now, n := oplog.At(s.now()), api.Limit(q.Limit)
	return items(v, c, state.Pick(n, outlined(func(f func(*oplog.Memory) bool) { v.Due(c.DB, now, now+ahead, f) }),
		func(m *oplog.Memory) bool {
			return m.Status == oplog.Active && c.Reach(q.Namespace).Has(m.Namespace)
		}), n), nil
}

// chronology returns the memories stored in a period, the oldest first.
func (s *Service) chronology(v *state.View, c api.Caller, q *api.ChronologyRequest) (*api.MemoryItems, error) {
	if err := field.Ordered("from", q.From.Time, "to", q.To.Time); err != nil {
		return nil, &api.Refusal{Code: "invalid_query_parameter", Err: oplog.Errorf(oplog.Invalid, "%s", err)}
	}
	n, from, to := api.Limit(q.Limit), atOrNone(q.From.Time), cmp.Or(atOrNone(q.To.Time), oplog.At(s.now())+1)
	most, walk := n, func(f func(*oplog.Memory) bool) { v.Between(c.DB, from, to, f) }
	if q.Entity != "" { // whose memories come in another order
		names := v.Meant(c.DB, orDefault(q.Namespace), q.Entity)
		most, walk = state.MaxLook, func(f func(*oplog.Memory) bool) { v.MemoriesOfAll(c.DB, names, f) }
	}
	rows := state.Pick(most, outlined(walk), func(m *oplog.Memory) bool {
		return !m.Unlisted() && m.Created >= from && m.Created < to && c.Reach(q.Namespace).Has(m.Namespace) &&
			(q.Type == "" || q.Type == m.Type)
	})
	slices.SortStableFunc(rows, func(a, b *oplog.Memory) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Seq, b.Seq))
	})
	return items(v, c, rows, n), nil
}

// timeline returns the memories stored shortly before and after a memory in its namespace, oldest first.
func (s *Service) timeline(v *state.View, c api.Caller, q *api.TimelineRequest) (*api.MemoryList, error) {
	m, ok := v.Memory(c.DB, q.RID)
	if !ok {
		return nil, oplog.ErrNoMemory
	}
	list, more := whole(v, c.DB, v.Around(c.DB, m, min(max(q.Limit, 1), 100), outline), c.Hold)
	return &api.MemoryList{Memories: api.Each(list, memoryOf), Left: more}, nil
}

// entities lists names. What is searched or sorted is taken from the first maxNamed names, and a whole name from all.
func (s *Service) entities(v *state.View, c api.Caller, q *api.EntitiesRequest) (*api.EntityList, error) {
	list, most, text := []api.Entity{}, min(max(q.Limit, 1), 1000), fold.Lower(q.Search)
	has := func(name string) bool { return strings.Contains(fold.Lower(name), text) }
	add := func(e oplog.Entity) {
		list = append(list, api.Entity{Name: e.Name, Type: e.Type, Mentions: e.Mentions, Last: e.Last.Seconds()})
	}
	if r := c.Reach(q.Namespace); !r.All() {
		list = slices.DeleteFunc(named(v, c.DB, r), func(e api.Entity) bool { return !has(e.Name) })
	} else {
		whole := v.EntitiesFolded(c.DB, text, most)
		for _, name := range whole {
			if e, ok := v.Entity(c.DB, name); ok {
				add(e)
			}
		}
		left, sorted := maxNamed, q.Sort == "mentions"
		v.Entities(c.DB, func(e oplog.Entity) bool {
			if has(e.Name) && !slices.Contains(whole, e.Name) {
				add(e)
			}
			left--
			return left > 0 && (sorted || len(list) < most)
		})
	}
	if q.Sort == "mentions" {
		slices.SortStableFunc(list, func(a, b api.Entity) int { return cmp.Compare(b.Mentions, a.Mentions) })
	}
	return &api.EntityList{Entities: list[:min(len(list), most)]}, nil
}

// around serves models: it returns a timeline, or the newest memories when no memory is named.
func (s *Service) around(v *state.View, c api.Caller, q *api.AroundRequest) (*api.MemoryList, error) {
	n := min(q.Limit, index.MaxK)
	if q.RID != "" {
		return s.timeline(v, c, &api.TimelineRequest{RID: q.RID, Limit: n})
	}
	list, more := newest(v, c, q.Namespace, n)
	return &api.MemoryList{Memories: api.Each(list, memoryOf), Left: more}, nil
}

func (s *Service) tellStatus(v *state.View, c api.Caller, _ *api.ReadRequest) (*api.StatusAnswer, error) {
	st := statsOf(v, c.DB, c.Reach(""))
	_, led := s.commit.Leader()
	return &api.StatusAnswer{Active: st.Active, Entities: st.Entities, Edges: st.Edges, Database: c.Database, Writes: led,
		NodeID: s.cfg.Member.NodeID}, nil
}
