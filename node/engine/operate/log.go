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
	return &api.AuditList{Audit: api.Each(v.Audits(q.Limit), auditOf)}, nil
}

var auditOf = api.Made[oplog.AuditRow, api.Audit]()

// Log lists the applied entries from an index on, without their texts; index 0 means the newest. A request may wait
// for the first entry.
func (ad *Admin) Log(ctx context.Context, _ api.Caller, q *api.LogRequest) (a *api.LogAnswer, err error) {
	if q.Waits() {
		ctx, cancel := context.WithTimeout(ctx, min(time.Duration(q.Wait)*time.Millisecond, maxLogWait))
		defer cancel()
		_ = ad.cfg.Commit.WaitApplied(ctx, oplog.Index(q.From)) // after a timeout the answer is empty
	}
	for {
		err = ad.cfg.State.Read(func(v *state.View) (err error) {
			a, err = readLog(v, q)
			return err
		})
		if !errors.Is(err, state.ErrTrimmed) { // trimmed in between; the next view has the new beginning
			return a, err
		}
	}
}

func readLog(v *state.View, q *api.LogRequest) (*api.LogAnswer, error) {
	limit := min(q.Limit, maxLogLines)
	if q.From > 0 || limit == 0 {
		lines, err := logLines(v, q, oplog.Index(q.From), func(lines []api.LogLine) bool { return len(lines) < limit })
		return &api.LogAnswer{Lines: lines[:min(len(lines), limit)]}, err
	}
	// Many records may show nothing, so the newest lines may begin before the newest records.
	for records := limit; ; records = min(8*records, maxLogLines) {
		from := oplog.Index(0)
		if at := v.Index(); at > oplog.Index(records) {
			from = at - oplog.Index(records) + 1
		}
		lines, err := logLines(v, q, from, func([]api.LogLine) bool { return true })
		if err != nil || len(lines) >= limit || from == 0 || records == maxLogLines {
			return &api.LogAnswer{Lines: lines[max(len(lines)-limit, 0):]}, err
		}
	}
}

// logLines returns the entries from an index on, while more returns true.
func logLines(v *state.View, q *api.LogRequest, from oplog.Index, more func([]api.LogLine) bool) (lines []api.LogLine, err error) {
	names := databaseNames(v)
	err = v.Log(from, func(o oplog.Outcome) bool {
		if q.Only != "" && names[o.Entry.DB] != q.Only {
			return true
		}
		lines = append(lines,
			api.LogLine{Index: o.Index, Number: o.Number, Time: o.HLC.Time().Seconds(), Node: o.Entry.Node, Database: names[o.Entry.DB],
				Operations: api.Each(o.Entry.Ops,
					func(op oplog.Op) api.LogOp { return api.LogOp{Kind: op.Kind().String(), ID: v.Subject(o.Entry.DB, op)} })})
		return more(lines)
	})
	return lines, err
}

// databaseNames returns the names of all databases.
func databaseNames(v *state.View) map[oplog.DB]string {
	names := map[oplog.DB]string{}
	for _, d := range v.Databases() {
		names[d.ID] = d.Name
	}
	return names
}
