package access

import (
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// TestRates checks that a burst passes at once, then one request whenever one is due, that a bucket never holds more
// than its burst, and that unlimited clients have no bucket.
func TestRates(t *testing.T) {
	t.Parallel()
	r, now := newRates(), time.Unix(1_700_000_000, 0)
	l := oplog.Limit{PerSecond: 10, Burst: 3}
	admitted := func(n int) (got int) {
		for range n {
			if r.take("a", l, 1, now) == 0 {
				got++
			}
		}
		return got
	}
	if got := admitted(5); got != 3 {
		t.Errorf("%d of a burst of 3 are admitted", got)
	}
	if wait := r.take("a", l, 1, now); wait != 100*time.Millisecond {
		t.Errorf("the next is due in %s", wait)
	}
	now = now.Add(100 * time.Millisecond)
	if got := admitted(2); got != 1 {
		t.Errorf("%d are admitted when one is due", got)
	}
	now = now.Add(time.Hour)
	if got := admitted(10); got != 3 {
		t.Errorf("%d after an hour's rest", got)
	}
	if got := r.take("b", l, 1, now); got != 0 {
		t.Errorf("another waits %s", got)
	}
	for range 100 {
		if r.take("free", oplog.Limit{}, 1, now) != 0 {
			t.Fatal("who is not bounded waits")
		}
	}
	if len(r.buckets) != 2 {
		t.Errorf("%d buckets", len(r.buckets))
	}
	for i := range 2 * maxBuckets {
		r.take(string(rune(i)), l, 1, now)
	}
	if len(r.buckets) > maxBuckets {
		t.Errorf("%d buckets are kept", len(r.buckets))
	}
}

// TestRacingRequestsCostTheirTokenNothing checks that of requests that race for the last place of a database only the
// admitted one is counted against their token.
func TestRacingRequestsCostTheirTokenNothing(t *testing.T) {
	t.Parallel()
	a := New(Config{State: newState(t)})
	c := api.Caller{Token: "t", DB: oplog.DefaultDB}
	a.limits.Store(&state.Limits{Tokens: map[string]oplog.Limit{c.Token: {PerSecond: 1, Burst: 9}},
		Databases: map[oplog.DB]oplog.Limit{c.DB: {PerSecond: 1}}})
	for range 20_000 {
		a.rates = newRates()
		var all sync.WaitGroup
		start := make(chan struct{})
		for range 8 {
			all.Go(func() {
				<-start
				_, _ = a.Count(c, 1)
			})
		}
		close(start)
		all.Wait()
		if left := a.rates.buckets["tt"].TokensAt(time.Now()); left < 8 {
			t.Fatalf("%.1f of 9 are left after one was admitted", left)
		}
	}
}

// BenchmarkAdmit measures the cost of counting a request and recording the use of its token.
func BenchmarkAdmit(b *testing.B) {
	a := New(Config{State: newState(b)})
	c := api.Caller{Token: "t", DB: oplog.DefaultDB}
	for _, bc := range []struct {
		name  string
		limit oplog.Limit
	}{{"unbounded", oplog.Limit{}}, {"bounded", oplog.Limit{PerSecond: 1 << 31}}} {
		a.limits.Store(&state.Limits{Tokens: map[string]oplog.Limit{"t": bc.limit}, Databases: map[oplog.DB]oplog.Limit{c.DB: bc.limit}})
		b.Run(bc.name, func(b *testing.B) {
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					a.Used(c.Token)
					if _, err := a.Count(c, 1); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
