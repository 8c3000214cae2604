package node

import (
	"cmp"
	"context"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// A SessionQuery says which sessions are wanted.
type SessionQuery struct {
	Namespace string  // default
	Client    *string // nil: of any client
	Active    bool    // only those that have not ended
	Limit     int     // 50
}

// Sessions lists sessions, the newest first.
func (s *Service) Sessions(ctx context.Context, c Caller, q SessionQuery, f Freshness) (rows []oplog.Session, err error) {
	q.Namespace = cmp.Or(q.Namespace, "default")
	n := limit(q.Limit)
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		looked := 0
		take := func(bound int) func(oplog.Session) bool {
			return func(x oplog.Session) bool {
				if !q.Active || x.Status == oplog.SessionActive {
					rows = append(rows, x)
				}
				looked++
				return len(rows) < bound && looked < maxLook
			}
		}
		if q.Client != nil {
			v.Sessions(c.DB, q.Namespace, *q.Client, take(n))
		} else {
			v.SessionsOf(c.DB, q.Namespace, take(maxLook)) // client by client: sorted below
		}
		return nil
	})
	slices.SortStableFunc(rows, func(a, b oplog.Session) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(a.ID, b.ID))
	})
	return rows[:min(len(rows), n)], err
}

// SessionHistory is a session and its memories in the order they were stored, from one place on.
func (s *Service) SessionHistory(ctx context.Context, c Caller, id string, offset, max int, f Freshness) (x oplog.Session, rows []*oplog.Memory, err error) {
	n := limit(max)
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		var ok bool
		if x, ok = v.Session(c.DB, id); !ok {
			return oplog.ErrNoSession
		}
		v.SessionMemories(c.DB, id, func(m *oplog.Memory) bool {
			if m.Status == oplog.Tombstoned {
				return true
			}
			if offset > 0 {
				offset--
				return true
			}
			rows = append(rows, m)
			return len(rows) < n
		})
		return nil
	})
	return x, rows, err
}
