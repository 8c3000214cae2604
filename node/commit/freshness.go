package commit

import (
	"context"
	"fmt"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// Freshness is the minimum freshness of the state for a read. The zero value is Stale.
type Freshness struct {
	Linearizable bool        // it holds everything acknowledged before the read
	Index        oplog.Index // it holds the log up to here
	byClient     bool        // by the client, which may do without
}

// Freshness of reads that name no index.
var (
	Stale        = Freshness{} // what this node has, at once
	Linearizable = Freshness{Linearizable: true}
)

// RequestedFreshness returns the freshness that a request requires.
func RequestedFreshness(f api.Fresh) Freshness {
	linear := f.Consistency == "linearizable"
	return Freshness{Linearizable: linear, Index: oplog.Index(f.MinIndex), byClient: linear}
}

// maxFreshWait bounds how long a read waits for freshness when its context does not.
const maxFreshWait = 10 * time.Second

// usualLag bounds the wait of a read for its index before it asks the leader whether there is such an index: a follower
// mostly reaches what the leader has acknowledged in less time.
const usualLag = 250 * time.Millisecond

// A PastEndError rejects a read at an index past the end of the cluster's log: the index is of another cluster, or of
// this one before it was restored from a backup. It would wait until other writes have filled the log.
type PastEndError struct{ Index, End oplog.Index }

func (e *PastEndError) Error() string {
	return fmt.Sprintf("the cluster's log ends at log index %d, before %d: that is of another cluster or from before a restore",
		e.End, e.Index)
}

// Fresh waits until this node may answer a read.
func (l *Log) Fresh(ctx context.Context, f Freshness) error {
	if f == Stale {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxFreshWait)
	defer cancel()
	at := f.Index
	if f.Linearizable {
		end, err := l.readIndex(ctx)
		if err != nil {
			return &oplog.Error{Kind: oplog.Unavailable, Text: l.whyUnconfirmed(f), Err: err}
		}
		if at > end {
			return &PastEndError{at, end}
		}
		at = end
	} else if l.lags(ctx, at) {
		if end, err := l.readIndex(ctx); err == nil && at > end {
			return &PastEndError{at, end}
		}
	}
	if err := l.WaitIndexed(ctx, at); err != nil {
		return oplog.Errorf(oplog.Unavailable, "this node is at log index %d and has not reached %d", l.Indexed(), at)
	}
	return nil
}

// lags reports whether this node takes longer than usual to reach an index.
func (l *Log) lags(ctx context.Context, at oplog.Index) bool {
	ctx, cancel := context.WithTimeout(ctx, usualLag)
	defer cancel()
	return l.WaitIndexed(ctx, at) != nil
}

// whyUnconfirmed returns the error text of a read whose index could not be confirmed with a leader.
func (l *Log) whyUnconfirmed(f Freshness) string {
	text := "no leader confirmed its leadership; retry"
	if why, until := l.opts.NoQuorum(); why != "" {
		text = why + ": this needs what the other voters have acknowledged, and is answered " + until
	}
	if f.byClient {
		text += ", or ask without consistency linearizable"
	}
	return text
}

// readIndex asks the leader for its read index: every write acknowledged before the call is at or below it.
func (l *Log) readIndex(ctx context.Context) (oplog.Index, error) {
	if err := l.WaitOpen(ctx); err != nil {
		return 0, err
	}
	i, err := l.raft.ReadIndex(ctx)
	return oplog.Index(i), err
}

// WaitLatest waits until the state holds all that was acknowledged before the call, whether or not it is indexed.
func (l *Log) WaitLatest(ctx context.Context) error {
	at, err := l.readIndex(ctx)
	if err != nil {
		return err
	}
	return l.WaitApplied(ctx, at)
}
