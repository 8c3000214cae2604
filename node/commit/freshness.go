package commit

import (
	"context"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// Freshness says how new the state must be that a read is answered from. The zero value is Stale.
type Freshness struct {
	Linearizable bool        // it holds everything acknowledged before the read
	Index        oplog.Index // it holds the log up to here
	asked        bool        // by the client, which may do without
}

// The freshness of reads that name no index.
var (
	Stale        = Freshness{} // what this node has, at once
	Linearizable = Freshness{Linearizable: true}
)

// Wanted is the freshness that a request asks for.
func Wanted(f api.Fresh) Freshness {
	linear := f.Consistency == "linearizable"
	return Freshness{Linearizable: linear, Index: oplog.Index(f.MinIndex), asked: linear}
}

// maxFreshWait bounds how long a read waits for freshness when its context does not.
const maxFreshWait = 10 * time.Second

// Fresh waits until this node may answer a read.
func (l *Log) Fresh(ctx context.Context, f Freshness) error {
	if f == Stale {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxFreshWait)
	defer cancel()
	at := f.Index
	if f.Linearizable {
		acknowledged, err := l.acknowledged(ctx)
		if at = max(at, acknowledged); err != nil {
			return &oplog.Error{Kind: oplog.Unavailable, Text: l.unconfirmed(f), Err: err}
		}
	}
	if err := l.WaitIndexed(ctx, at); err != nil {
		return oplog.Errorf(oplog.Unavailable, "this node is at log index %d and has not reached %d", l.Indexed(), at)
	}
	return nil
}

// unconfirmed says why what was acknowledged before is not known here.
func (l *Log) unconfirmed(f Freshness) string {
	text := "no leader confirmed its leadership; retry"
	if why, until := l.o.NoQuorum(); why != "" {
		text = why + ": this needs what the other voters have acknowledged, and is answered " + until
	}
	if f.asked {
		text += ", or ask without consistency linearizable"
	}
	return text
}

// acknowledged asks the leader for an index: what was acknowledged before the call is in the log up to there.
func (l *Log) acknowledged(ctx context.Context) (oplog.Index, error) {
	if err := l.WaitOpen(ctx); err != nil {
		return 0, err
	}
	i, err := l.raft.ReadIndex(ctx)
	return oplog.Index(i), err
}

// Latest waits until the state holds all that was acknowledged before the call, whether or not it is indexed.
func (l *Log) Latest(ctx context.Context) error {
	at, err := l.acknowledged(ctx)
	if err != nil {
		return err
	}
	return l.WaitApplied(ctx, at)
}
