package engine

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

// logLines are the applied entries from an index on, without what they say. 0 means the newest. A request may wait for the first.
func (s *Service) logLines(ctx context.Context, _ api.Caller, q *api.LogRequest) (*api.LogAnswer, error) {
	if q.Waits() {
		ctx, cancel := context.WithTimeout(ctx, min(time.Duration(q.Wait)*time.Millisecond, maxLogWait))
		defer cancel()
		_ = s.commit.WaitApplied(ctx, oplog.Index(q.From)) // nothing new is an empty answer
	}
	for {
		a, err := s.readLog(q)
		if !errors.Is(err, state.ErrTrimmed) { // meanwhile: the next view says where the log begins
			return a, err
		}
	}
}

func (s *Service) readLog(q *api.LogRequest) (*api.LogAnswer, error) {
	from, limit, a := oplog.Index(q.From), min(q.Limit, maxLogLines), &api.LogAnswer{}
	return a, s.state.Read(func(v *state.View) error {
		names := map[oplog.DB]string{}
		for _, d := range v.Databases() {
			names[d.ID] = d.Name
		}
		if from == 0 {
			if at := v.Index(); at > oplog.Index(limit) {
				from = at - oplog.Index(limit) + 1
			}
		}
		return v.Log(from, func(o oplog.Outcome) bool {
			if q.Only != "" && names[o.Entry.DB] != q.Only {
				return true
			}
			l := api.LogLine{Index: o.Index, Number: o.Number, Time: o.HLC.Time().Seconds(), Node: o.Entry.Node, Database: names[o.Entry.DB]}
			for _, op := range o.Entry.Ops {
				l.Operations = append(l.Operations, api.LogOp{Kind: op.Kind().String(), ID: oplog.Subject(op)})
			}
			a.Lines = append(a.Lines, l)
			return len(a.Lines) < limit
		})
	})
}
