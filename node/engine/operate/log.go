package operate

import (
	"context"
	"errors"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

const (
	maxLogLines = 10_000
	maxLogWait  = time.Minute
)

// Audits lists the newest changes of the control plane, newest first.
func (ad *Admin) Audits(v *state.View, _ api.Caller, q *api.AuditsRequest) (*api.AuditList, error) {
	return &api.AuditList{Audit: api.Each(v.Audits(q.Limit), func(r oplog.AuditRow) api.Audit {
		return api.Audit{Index: r.Index, At: r.At.Seconds(), By: r.By, Label: r.Label, What: r.What, On: r.On, How: r.How, Node: r.Node}
	})}, nil
}

// Log lists the applied entries from an index on, without what they say. 0 means the newest. A request may wait for the
// first.
func (ad *Admin) Log(ctx context.Context, _ api.Caller, q *api.LogRequest) (a *api.LogAnswer, err error) {
	if q.Waits() {
		ctx, cancel := context.WithTimeout(ctx, min(time.Duration(q.Wait)*time.Millisecond, maxLogWait))
		defer cancel()
		_ = ad.cfg.Commit.WaitApplied(ctx, oplog.Index(q.From)) // nothing new is an empty answer
	}
	for {
		err = ad.cfg.State.Read(func(v *state.View) (err error) {
			a, err = readLog(v, q)
			return err
		})
		if !errors.Is(err, state.ErrTrimmed) { // meanwhile: the next view says where the log begins
			return a, err
		}
	}
}

func readLog(v *state.View, q *api.LogRequest) (*api.LogAnswer, error) {
	from, limit, names, a := oplog.Index(q.From), min(q.Limit, maxLogLines), databaseNames(v), &api.LogAnswer{}
	if at := v.Index(); from == 0 && at > oplog.Index(limit) {
		from = at - oplog.Index(limit) + 1
	}
	return a, v.Log(from, func(o oplog.Outcome) bool {
		if q.Only != "" && names[o.Entry.DB] != q.Only {
			return true
		}
		a.Lines = append(a.Lines, api.LogLine{Index: o.Index, Number: o.Number, Time: o.HLC.Time().Seconds(), Node: o.Entry.Node, Database: names[o.Entry.DB],
			Operations: api.Each(o.Entry.Ops, func(op oplog.Op) api.LogOp { return api.LogOp{Kind: op.Kind().String(), ID: oplog.Subject(op)} })})
		return len(a.Lines) < limit
	})
}

// databaseNames are the names of all databases.
func databaseNames(v *state.View) map[oplog.DB]string {
	names := map[oplog.DB]string{}
	for _, d := range v.Databases() {
		names[d.ID] = d.Name
	}
	return names
}
