package node

import (
	"context"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// A TriggerQuery filters triggers; empty fields do not.
type TriggerQuery struct {
	Status string // pending when empty; all for every status
	Type   string
	Limit  int // 50
}

// Triggers lists what deserves attention, the newest first within a status.
func (s *Service) Triggers(ctx context.Context, c Caller, q TriggerQuery, f Freshness) (rows []oplog.TriggerRow, err error) {
	n := limit(q.Limit)
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		for st := oplog.TriggerPending; st <= oplog.TriggerExpired; st++ {
			if q.Status != "all" && q.Status != st.String() && (q.Status != "" || st != oplog.TriggerPending) {
				continue
			}
			looked := 0
			v.Triggers(c.DB, st, func(t oplog.TriggerRow) bool {
				if q.Type == "" || q.Type == t.Type {
					rows = append(rows, t)
				}
				looked++
				return len(rows) < n && looked < maxLook
			})
		}
		return nil
	})
	return rows, err
}

// DeliverTriggers hands over pending triggers and marks them as delivered, in one entry.
func (s *Service) DeliverTriggers(ctx context.Context, c Caller, max int) ([]oplog.TriggerRow, Written, error) {
	rows, err := s.Triggers(ctx, c, TriggerQuery{Limit: max}, Stale)
	if err != nil || len(rows) == 0 {
		return rows, Written{}, err
	}
	w := write{scope: Write}
	for i := range rows {
		rows[i].Status = oplog.TriggerDelivered
		w.ops = append(w.ops, &oplog.TriggerMove{ID: rows[i].ID, To: oplog.TriggerDelivered, At: oplog.At(time.Now())})
	}
	out, err := s.write(ctx, c, w)
	if err != nil {
		return nil, out, err
	}
	return rows, out, nil
}

// MoveTrigger acknowledges, acts on or dismisses a trigger; changed is false when it was there already.
func (s *Service) MoveTrigger(ctx context.Context, c Caller, id string, to oplog.TriggerStatus) (changed bool, w Written, err error) {
	w, err = s.write(ctx, c, write{scope: Write, ops: []oplog.Op{&oplog.TriggerMove{ID: id, To: to, At: oplog.At(time.Now())}}})
	return err == nil && w.Results[0].Changed, w, err
}
