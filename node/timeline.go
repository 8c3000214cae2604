package node

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cairndb/cairn/oplog"
)

const day = 24 * time.Hour

// dayTime is a day in the log's unit.
const dayTime = oplog.Time(day / time.Microsecond)

// staleImportance is what a memory must be worth to be missed.
const staleImportance = .3

// StaleMemories are worth something and have not been looked at for so many days, the most important first.
func (s *Service) StaleMemories(ctx context.Context, c Caller, days float64, namespace string, max int, f Freshness) (rows []*oplog.Memory, err error) {
	cutoff := oplog.At(s.now()) - oplog.Time(days*float64(dayTime))
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		looked := 0
		// What was not looked at for that long is that old: the oldest are looked at first, a bounded number of them.
		v.Between(c.DB, 0, cutoff, func(m *oplog.Memory) bool {
			if m.Status == oplog.Active && m.Accessed < cutoff && m.Importance >= staleImportance && (namespace == "" || namespace == m.Namespace) {
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
	return rows[:min(len(rows), limit(max))], err
}

// Upcoming are the memories that are due within so many days, the soonest first.
func (s *Service) Upcoming(ctx context.Context, c Caller, days float64, namespace string, max int, f Freshness) (rows []*oplog.Memory, err error) {
	now, n := oplog.At(s.now()), limit(max)
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		looked := 0
		v.Due(c.DB, now, now+oplog.Time(days*float64(dayTime)), func(m *oplog.Memory) bool {
			if m.Status == oplog.Active && (namespace == "" || namespace == m.Namespace) {
				rows = append(rows, m)
			}
			looked++
			return len(rows) < n && looked < maxLook
		})
		return nil
	})
	return rows, err
}

// A ChronologyQuery is a stretch of time; zero fields do not filter.
type ChronologyQuery struct {
	From, To  time.Time // of creation; To is not included
	Namespace string
	Entity    string // as aliases have it
	Types     []string
	Limit     int // 50
}

// Chronology is what was stored in a stretch of time, the oldest first.
func (s *Service) Chronology(ctx context.Context, c Caller, q ChronologyQuery, f Freshness) (rows []*oplog.Memory, err error) {
	n := limit(q.Limit)
	from, to := oplog.Time(0), oplog.At(s.now())+1
	if !q.From.IsZero() {
		from = oplog.At(q.From)
	}
	if !q.To.IsZero() {
		to = oplog.At(q.To)
	}
	admits := func(m *oplog.Memory) bool {
		return m.Status != oplog.Tombstoned && m.Created >= from && m.Created < to &&
			(q.Namespace == "" || q.Namespace == m.Namespace) && (len(q.Types) == 0 || slices.Contains(q.Types, m.Type))
	}
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		looked := 0
		look := func(m *oplog.Memory) bool {
			if admits(m) {
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
	return rows[:min(len(rows), n)], err
}
