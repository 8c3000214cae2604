package node

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// limits holds operations to what was agreed on for their tokens and databases. The bounds are replicated; each node
// counts for itself what it admits, so a cluster of three admits up to three times as much.
type limits struct {
	state *oplog.State
	set   atomic.Pointer[oplog.Limits]
	rates *rates
}

func newLimits(state *oplog.State) *limits {
	l := &limits{state: state, rates: newRates()}
	l.load()
	return l
}

func (l *limits) load() {
	_ = l.state.Read(func(v *oplog.View) error { // a closing state admits nothing any more
		set := v.Limits()
		l.set.Store(&set)
		return nil
	})
}

// follow takes up what was applied, before whoever asked for it is answered.
func (l *limits) follow(outcomes []oplog.Outcome) {
	if slices.ContainsFunc(outcomes, bounds) {
		l.load()
	}
}

func bounds(o oplog.Outcome) bool {
	return o.Err == nil && slices.ContainsFunc(o.Entry.Ops, func(op oplog.Op) bool {
		switch op.(type) {
		case *oplog.SetLimit, *oplog.RevokeToken, *oplog.DropDB:
			return true
		}
		return false
	})
}

// callerLimit is a bound that holds for a caller: that of its token, which may be the node's usual one, or that of its database.
type callerLimit struct {
	bucket string
	what   string // token or database
	oplog.Limit
}

func (l *limits) of(c api.Caller) []callerLimit {
	set := l.set.Load()
	t := set.Tokens[c.Token]
	if t.PerSecond == 0 && c.Usual > 0 {
		t.PerSecond, t.Burst = uint32(c.Usual), 0
	}
	return []callerLimit{{"t" + c.Token, "token", t}, {"d" + strconv.FormatUint(uint64(c.DB), 10), "database", set.Databases[c.DB]}}
}

// count takes n operations of a caller from the buckets of its token and its database, less those that were counted before, or
// refuses them with the time to wait. It returns the caller with the operations that are counted now. What the node does of its
// own accord is not counted.
func (l *limits) count(c api.Caller, n int, now time.Time) (api.Caller, error) {
	if c.Token == "" && c.By != api.ByMaster && c.By != api.ByLocal || n <= c.Counted {
		return c, nil
	}
	for _, b := range l.of(c) {
		if b.PerSecond > 0 && n > int(burst(b.Limit)) {
			return c, oplog.Errorf(oplog.TooLarge, "batch size %d exceeds quota %d at once for this %s", n, burst(b.Limit), b.what)
		}
		if wait := l.rates.take(b.bucket, b.Limit, n-c.Counted, now); wait > 0 {
			return c, &limited{wait, "too many requests for this " + b.what}
		}
	}
	c.Counted = n
	return c, nil
}

// ready refuses a caller that would have to wait for its next operation, and counts none.
func (l *limits) ready(c api.Caller, now time.Time) error {
	for _, b := range l.of(c) {
		if wait := l.rates.wait(b.bucket, b.Limit, now); wait > 0 {
			return &limited{wait, "too many requests for this " + b.what}
		}
	}
	return nil
}

// batch refuses more memories at once than a token or its database may store.
func (l *limits) batch(c api.Caller, n int) error {
	for _, b := range l.of(c) {
		if b.Batch > 0 && n > int(b.Batch) {
			return oplog.Errorf(oplog.TooLarge, "batch size %d exceeds quota %d for this %s", n, b.Batch, b.what)
		}
	}
	return nil
}

// atOnce is how many memories a caller may store in one batch.
func (l *limits) atOnce(c api.Caller) int {
	most := MaxBatch
	for _, b := range l.of(c) {
		if b.Batch > 0 {
			most = min(most, int(b.Batch))
		}
		if b.PerSecond > 0 {
			most = min(most, int(burst(b.Limit)))
		}
	}
	return most
}

// limited refuses a token, a database or an address that asks too often.
type limited struct {
	wait time.Duration
	why  string
}

// Unwrap is what surfaces say that know nothing of limits.
func (l *limited) Unwrap() error { return oplog.Errorf(oplog.Unavailable, "%s", l.Error()) }

func (l *limited) Error() string {
	return fmt.Sprintf("%s; retry in %s", l.why, l.wait.Round(time.Millisecond))
}
