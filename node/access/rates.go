package access

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/cairndb/cairn/oplog"
)

// rates limits clients to a number of operations a second on this node, each with its own bucket.
type rates struct {
	mu      sync.Mutex
	buckets map[string]*rate.Limiter
	swept   time.Time
}

// maxBuckets bounds the table. A full bucket is equivalent to none, so full ones are dropped first.
const maxBuckets = 8192

func newRates() *rates { return &rates{buckets: map[string]*rate.Limiter{}} }

// take counts n operations, at most the burst. It returns the time to wait before the next try, 0 if the operations
// are counted.
func (r *rates) take(who string, l oplog.Limit, n int, now time.Time) time.Duration {
	if l.PerSecond == 0 || n == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return reserve(r.bucket(who, l, now), n, now, false)
}

// takeAll counts n operations in the buckets of all limits, or, if one lacks them, in none. It returns that limit and
// the time to wait.
func (r *rates) takeAll(limits []callerLimit, n int, now time.Time) (short *callerLimit, wait time.Duration) {
	if !slices.ContainsFunc(limits, callerLimit.bounds) {
		return nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, look := range [...]bool{true, false} {
		for i := range limits {
			l := &limits[i]
			if !l.bounds() {
				continue
			}
			if wait := reserve(r.bucket(l.bucket, l.Limit, now), n, now, look); wait > 0 {
				return l, wait
			}
		}
	}
	return nil, 0
}

// bucket returns a client's bucket, with the current limit.
func (r *rates) bucket(who string, l oplog.Limit, now time.Time) *rate.Limiter {
	b := r.buckets[who]
	if b == nil {
		r.makeRoom(now)
		b = rate.NewLimiter(rate.Limit(l.PerSecond), burst(l))
		r.buckets[who] = b
	} else {
		updateLimit(b, l, now)
	}
	return b
}

// wait returns the time until n operations may proceed. It counts none.
func (r *rates) wait(who string, l oplog.Limit, n int, now time.Time) time.Duration {
	if l.PerSecond == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[who]
	if b == nil {
		return 0
	}
	updateLimit(b, l, now)
	return reserve(b, n, now, true)
}

// updateLimit sets a bucket to the current limit.
func updateLimit(b *rate.Limiter, l oplog.Limit, now time.Time) {
	if b.Limit() != rate.Limit(l.PerSecond) {
		b.SetLimitAt(now, rate.Limit(l.PerSecond))
	}
	if b.Burst() != burst(l) {
		b.SetBurstAt(now, burst(l))
	}
}

// reserve returns the time that n operations have to wait. If that is 0, it counts them, unless look is set.
func reserve(b *rate.Limiter, n int, now time.Time, look bool) time.Duration {
	taken := b.ReserveN(now, n)
	if !taken.OK() {
		return time.Second // more than the burst, possible just after the limit was lowered
	}
	wait := taken.DelayFrom(now)
	if look || wait > 0 {
		taken.CancelAt(now)
	}
	return wait
}

// burst returns the number of operations that a limit permits at once.
func burst(l oplog.Limit) int { return int(cmp.Or(l.Burst, l.PerSecond)) }

// makeRoom drops full buckets, at most once a second. If the table is still full, it drops arbitrary ones.
func (r *rates) makeRoom(now time.Time) {
	if len(r.buckets) < maxBuckets {
		return
	}
	if now.Sub(r.swept) >= time.Second {
		r.swept = now
		for who, b := range r.buckets {
			if b.TokensAt(now) >= float64(b.Burst()) {
				delete(r.buckets, who)
			}
		}
	}
	for who := range r.buckets {
		if len(r.buckets) < maxBuckets {
			return
		}
		delete(r.buckets, who)
	}
}
