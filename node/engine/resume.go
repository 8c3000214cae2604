package engine

import (
	"context"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
)

// pastEnd reports whether a cursor is past the end of the log: it comes from another cluster, or from this one before
// a restore. The subscriber is told that it may have missed events. Without a leader the end of the log is unknown.
func (p *eventStream) pastEnd(ctx context.Context, cursor oplog.Index) (bool, error) {
	if cursor <= p.s.commit.Indexed() {
		return false, nil
	}
	wait, cancel := context.WithTimeout(ctx, logEndTimeout)
	defer cancel()
	if p.s.commit.Fresh(wait, commit.Linearizable) != nil || cursor <= p.s.commit.Indexed() {
		return false, nil
	}
	return true, p.out(api.Event{Name: "lagged", Data: p.s.position()})
}

// logEndTimeout bounds how long a subscription with a cursor that this node has not reached waits to learn the log's
// end.
const logEndTimeout = 5 * time.Second
