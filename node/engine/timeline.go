package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

const day = 24 * time.Hour

// dayTime is a day in the log's unit.
const dayTime = oplog.Time(day / time.Microsecond)

// staleImportance is the least importance of a memory that counts as stale.
const staleImportance = .3

// inDays refuses a number of days that is none, or too large for the log's unit.
func inDays(days float64) (oplog.Time, error) {
	if !(days >= 0 && days <= 36_500) { // no number either
		return 0, &api.Refusal{Code: "invalid_query_parameter", Err: oplog.Errorf(oplog.Invalid, "days: want a number from 0 to 36500")}
	}
	return oplog.Time(days * float64(dayTime)), nil
}

// staleMemories are important and were not recalled for so many days, the most important first.
func (s *Service) staleMemories(ctx context.Context, c api.Caller, q *api.StaleRequest) (*api.MemoryItems, error) {
	silent, err := inDays(q.Days)
	if err != nil {
		return nil, err
	}
	var rows []*oplog.Memory
	cutoff := oplog.At(s.now()) - silent
	err = s.state.Read(func(v *state.View) error {
		looked := 0
		// A memory that was not recalled for that long is at least that old: the scan begins at the oldest, and is bounded.
		v.Between(c.DB, 0, cutoff, func(m *oplog.Memory) bool {
			if m.Status == oplog.Active && m.Accessed < cutoff && m.Importance >= staleImportance && (q.Namespace == "" || q.Namespace == m.Namespace) {
				rows = append(rows, m)
			}
			looked++
			return looked < maxLook
		})
		return nil
	})
	slices.SortStableFunc(rows, func(a, b *oplog.Memory) int {
		return cmp.Or(cmp.Compare(b.Importance, a.Importance), cmp.Compare(a.Accessed, b.Accessed), cmp.Compare(a.RID, b.RID))
	})
	return items(rows[:min(len(rows), limit(q.Limit))]), err
}

func items(list []*oplog.Memory) *api.MemoryItems {
	return &api.MemoryItems{Items: rowsOf(list), Count: len(list)}
}

// upcoming are the memories that are due within so many days, the soonest first.
func (s *Service) upcoming(ctx context.Context, c api.Caller, q *api.UpcomingRequest) (*api.MemoryItems, error) {
	ahead, err := inDays(q.Days)
	if err != nil {
		return nil, err
	}
	var rows []*oplog.Memory
	now, n := oplog.At(s.now()), limit(q.Limit)
	err = s.state.Read(func(v *state.View) error {
		looked := 0
		v.Due(c.DB, now, now+ahead, func(m *oplog.Memory) bool {
			if m.Status == oplog.Active && (q.Namespace == "" || q.Namespace == m.Namespace) {
				rows = append(rows, m)
			}
			looked++
			return len(rows) < n && looked < maxLook
		})
		return nil
	})
	return items(rows), err
}

// chronology is what was stored in a stretch of time, the oldest first.
func (s *Service) chronology(ctx context.Context, c api.Caller, q *api.ChronologyRequest) (*api.MemoryItems, error) {
	if err := field.Ordered("from", q.From.Time, "to", q.To.Time); err != nil {
		return nil, &api.Refusal{Code: "invalid_query_parameter", Err: oplog.Errorf(oplog.Invalid, "%s", err)}
	}
	n, from, to := limit(q.Limit), atOrNone(q.From.Time), oplog.At(s.now())+1
	if !q.To.IsZero() {
		to = oplog.At(q.To.Time)
	}
	var rows []*oplog.Memory
	err := s.state.Read(func(v *state.View) error {
		looked := 0
		look := func(m *oplog.Memory) bool {
			if m.Status != oplog.Tombstoned && m.Created >= from && m.Created < to && (q.Namespace == "" || q.Namespace == m.Namespace) && (q.Type == "" || q.Type == m.Type) {
				rows = append(rows, m)
			}
			looked++
			return looked < maxLook && (q.Entity != "" || len(rows) < n)
		}
		if q.Entity != "" {
			v.EntityMemories(c.DB, v.Canonical(c.DB, cmp.Or(q.Namespace, "default"), q.Entity), look)
		} else {
			v.Between(c.DB, from, to, look)
		}
		return nil
	})
	slices.SortStableFunc(rows, func(a, b *oplog.Memory) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Seq, b.Seq))
	})
	return items(rows[:min(len(rows), n)]), err
}

// timeline is what was stored shortly before and after a memory in its namespace, oldest first.
func (s *Service) timeline(_ context.Context, c api.Caller, q *api.TimelineRequest) (*api.MemoryList, error) {
	list := &api.MemoryList{}
	return list, s.state.Read(func(v *state.View) error {
		m, ok := v.Memory(c.DB, q.RID)
		if !ok {
			return oplog.ErrNoMemory
		}
		list.Memories = rowsOf(v.Around(c.DB, m, min(max(q.Limit, 1), 100)))
		return nil
	})
}

func (s *Service) entities(_ context.Context, c api.Caller, q *api.EntitiesRequest) (*api.EntityList, error) {
	list, most := &api.EntityList{Entities: []api.Entity{}}, min(max(q.Limit, 1), 1000)
	return list, s.state.Read(func(v *state.View) error {
		v.Entities(c.DB, func(e oplog.Entity) bool {
			list.Entities = append(list.Entities, api.Entity{Name: e.Name, Type: e.Type, Mentions: uint64(e.Mentions), Last: e.Last.Seconds()})
			return len(list.Entities) < most
		})
		return nil
	})
}

// around is for models: a timeline, or the newest memories where no memory is named.
func (s *Service) around(ctx context.Context, c api.Caller, q *api.AroundRequest) (*api.MemoryList, error) {
	n := min(q.Limit, index.MaxK)
	if q.RID != "" {
		return s.timeline(ctx, c, &api.TimelineRequest{RID: q.RID, Limit: n})
	}
	list, err := s.newest(ctx, c, q.Namespace, n)
	return &api.MemoryList{Memories: rowsOf(list)}, err
}

func (s *Service) tellStatus(ctx context.Context, c api.Caller, _ *api.StatusRequest) (*api.StatusAnswer, error) {
	st, err := s.stats(ctx, c, &api.StatsRequest{})
	if err != nil {
		return nil, err
	}
	_, led := s.commit.Leader()
	return &api.StatusAnswer{Active: st.Active, Entities: st.Entities, Edges: st.Edges, Database: c.Database, Writes: led, NodeID: s.cfg.Member.NodeID}, nil
}
