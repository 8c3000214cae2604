package engine

import (
	"context"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

func (s *Service) triggers(ctx context.Context, c api.Caller, q *api.TriggersRequest) (*api.TriggerList, error) {
	return listed(s.findTriggers(ctx, c, q.Status, q.TriggerFilter))
}

func (s *Service) triggerHistory(ctx context.Context, c api.Caller, q *api.TriggerHistoryRequest) (*api.TriggerList, error) {
	return listed(s.findTriggers(ctx, c, q.Status, q.TriggerFilter))
}

func listed(rows []oplog.TriggerRow, err error) (*api.TriggerList, error) {
	return &api.TriggerList{Triggers: triggersOf(rows), Count: len(rows)}, err
}

func triggersOf(rows []oplog.TriggerRow) []api.Trigger {
	list := make([]api.Trigger, len(rows))
	for i, t := range rows {
		list[i] = api.Trigger{ID: t.ID, Type: t.Type, Urgency: t.Urgency, Status: t.Status.String(), Reason: t.Reason, Action: t.Action, Sources: orEmpty(t.Sources),
			Entity: orNil(t.Entity), Created: t.Created.Seconds(), Expires: when(t.Expires)}
	}
	return list
}

// findTriggers finds triggers of a status, or of all, the newest first within each.
func (s *Service) findTriggers(ctx context.Context, c api.Caller, status string, f api.TriggerFilter) (rows []oplog.TriggerRow, err error) {
	n := limit(f.Limit)
	err = s.state.Read(func(v *state.View) error {
		for st := oplog.TriggerPending; st <= oplog.TriggerExpired; st++ {
			if status != "all" && status != st.String() {
				continue
			}
			looked := 0
			v.Triggers(c.DB, st, func(t oplog.TriggerRow) bool {
				if f.Type == "" || f.Type == t.Type {
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

// deliverTriggers hands over pending triggers and marks them as delivered, in one entry.
func (s *Service) deliverTriggers(ctx context.Context, c api.Caller, q *api.DeliverTriggersRequest) (*api.TriggerList, error) {
	rows, err := s.findTriggers(ctx, c, oplog.TriggerPending.String(), api.TriggerFilter{Limit: q.Limit})
	if err != nil || len(rows) == 0 {
		return listed(nil, err)
	}
	w := write{}
	for i := range rows {
		rows[i].Status = oplog.TriggerDelivered
		w.ops = append(w.ops, &oplog.TriggerMove{ID: rows[i].ID, To: oplog.TriggerDelivered, At: oplog.At(time.Now())})
	}
	_, err = s.write(ctx, c, w)
	return listed(rows, err)
}

// triggerVerbs are what may be done with a trigger.
var triggerVerbs = map[string]oplog.TriggerStatus{"acknowledge": oplog.TriggerAcknowledged, "act": oplog.TriggerActed, "dismiss": oplog.TriggerDismissed}

func (s *Service) moveTrigger(ctx context.Context, c api.Caller, q *api.MoveTriggerRequest) (*api.MovedTrigger, error) {
	to, ok := triggerVerbs[q.Verb]
	if !ok {
		return nil, &api.Refusal{Code: "not_found", Err: oplog.Errorf(oplog.NotFound, "unknown verb: want acknowledge, act or dismiss")}
	}
	w, err := s.write(ctx, c, write{ops: []oplog.Op{&oplog.TriggerMove{ID: q.ID, To: to, At: oplog.At(time.Now())}}})
	if err != nil {
		return nil, err
	}
	return &api.MovedTrigger{ID: q.ID, Status: to.String(), Changed: w.Results[0].Changed, Index: w.Index}, nil
}
