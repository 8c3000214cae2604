package access

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Limits are replicated, but each node counts only what it admits itself. So a cluster of three admits up to three
// times as much.

// reload reads all limits from the state.
func (a *Control) reload() {
	_ = a.state.Inspect(func(v *state.View) { // a closing state admits nothing anyway
		set := v.Limits()
		a.limits.Store(&set)
	})
}

// Follow reloads the limits when one was changed or a snapshot replaced the state. The commit path calls it with the
// applied outcomes before it answers the client, so that the client's next request is subject to the new limit.
func (a *Control) Follow(outcomes []oplog.Outcome, restored bool) {
	if restored || slices.ContainsFunc(outcomes, changesLimits) {
		a.reload()
	}
	if restored || slices.ContainsFunc(outcomes, EndsTokens) {
		a.tokensEnded()
	}
}

func changesLimits(o oplog.Outcome) bool {
	return EndsTokens(o) || hasOp(o, oplog.KindOf[oplog.SetLimit]())
}

// A callerLimit is a limit of a caller: that of its token, which may be the node's default, or that of its database.
type callerLimit struct {
	bucket  string
	subject string // token or database
	oplog.Limit
}

// bounds reports whether there is a limit of the rate.
func (l callerLimit) bounds() bool { return l.PerSecond > 0 }

func (l callerLimit) limited(wait time.Duration) error {
	return &Limited{wait, "too many requests for this " + l.subject}
}

func (a *Control) limitsOf(c api.Caller) []callerLimit {
	set := a.limits.Load()
	t := set.Tokens[c.Token]
	if t.PerSecond == 0 && c.Usual > 0 {
		t.PerSecond, t.Burst = uint32(c.Usual), 0
	}
	return []callerLimit{{"t" + c.Token, "token", t}, {"d" + strconv.FormatUint(uint64(c.DB), 10), "database", set.Databases[c.DB]}}
}

// Count takes n operations of a caller from the buckets of its token and its database, minus those that were counted
// before. If a bucket lacks them, it returns a Limited error with the time to wait. It returns the caller with the
// new count. Operations of the node itself are not counted.
func (a *Control) Count(c api.Caller, n int) (api.Caller, error) {
	if c.Token == "" && c.By != api.ByMaster && c.By != api.ByLocal || n <= c.Counted {
		return c, nil
	}
	now, limits := time.Now(), a.limitsOf(c)
	for _, l := range limits {
		if l.bounds() && n > burst(l.Limit) {
			return c, oplog.Errorf(oplog.OverQuota, "batch size %d exceeds quota %d at once for this %s", n, burst(l.Limit), l.subject)
		}
	}
	if l, wait := a.rates.takeAll(limits, n-c.Counted, now); wait > 0 {
		return c, l.limited(wait)
	}
	c.Counted = n
	return c, nil
}

// Ready rejects a caller that would have to wait for its next operation. It counts none.
func (a *Control) Ready(c api.Caller) error {
	for _, l := range a.limitsOf(c) {
		if wait := a.rates.wait(l.bucket, l.Limit, 1, time.Now()); wait > 0 {
			return l.limited(wait)
		}
	}
	return nil
}

// CheckBatch rejects a batch with more memories than a token or its database may store at once.
func (a *Control) CheckBatch(c api.Caller, n int) error {
	for _, l := range a.limitsOf(c) {
		if l.Batch > 0 && n > int(l.Batch) {
			return oplog.Errorf(oplog.OverQuota, "batch size %d exceeds quota %d for this %s", n, l.Batch, l.subject)
		}
	}
	return nil
}

// AtOnce returns the number of memories, out of those given, that a caller may store in one batch.
func (a *Control) AtOnce(c api.Caller, memories int) int {
	for _, l := range a.limitsOf(c) {
		if l.Batch > 0 {
			memories = min(memories, int(l.Batch))
		}
		if l.PerSecond > 0 {
			memories = min(memories, burst(l.Limit))
		}
	}
	return memories
}

// A Limited error rejects a token, a database or an address that sends too many requests.
type Limited struct {
	Wait   time.Duration
	reason string
}

// Unwrap returns the rejection for surfaces that do not know of limits.
func (l *Limited) Unwrap() error { return oplog.Errorf(oplog.Unavailable, "%s", l.Error()) }

func (l *Limited) Error() string {
	return fmt.Sprintf("%s; retry in %s", l.reason, l.Wait.Round(time.Millisecond))
}
