package node

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// limits holds requests to what was agreed on for their tokens and databases. The bounds are replicated; each node
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

// admit counts a request, or refuses it with the time to wait. usual is what a token may ask each second that has no
// bound of its own; 0 for no bound.
func (l *limits) admit(c Caller, usual int, now time.Time) error {
	set := l.set.Load()
	t := set.Tokens[c.Token]
	if t.PerSecond == 0 && usual > 0 {
		t = oplog.Limit{PerSecond: uint32(usual)}
	}
	if wait := l.rates.take("t"+c.Token, t, now); wait > 0 {
		return &limited{wait, "token"}
	}
	if d, ok := set.Databases[c.DB]; ok {
		if wait := l.rates.take("d"+strconv.FormatUint(uint64(c.DB), 10), d, now); wait > 0 {
			return &limited{wait, "database"}
		}
	}
	return nil
}

// batch refuses more memories at once than a token or its database may store.
func (l *limits) batch(c Caller, n int) error {
	set := l.set.Load()
	if most := set.Databases[c.DB].Batch; most > 0 && n > int(most) {
		return oplog.Errorf(oplog.TooLarge, "batch size %d exceeds quota %d for this database", n, most)
	}
	if most := set.Tokens[c.Token].Batch; most > 0 && n > int(most) {
		return oplog.Errorf(oplog.TooLarge, "batch size %d exceeds quota %d for this token", n, most)
	}
	return nil
}

// limited refuses a token or a database that is asked too often.
type limited struct {
	wait time.Duration
	who  string // token or database
}

func (l *limited) Error() string {
	return fmt.Sprintf("too many requests for this %s; retry in %s", l.who, l.wait.Round(time.Millisecond))
}
