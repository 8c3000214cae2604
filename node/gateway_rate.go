package node

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// rates holds every token to so many requests a second on this node. A bucket fills at that rate and holds one
// second's worth, so a client may come in bursts but not for long.
type rates struct {
	perSecond float64 // 0: nobody is held

	mu      sync.Mutex
	buckets map[string]*bucket // by token hash; "" is the master token
	swept   time.Time
}

type bucket struct {
	left float64
	at   time.Time
}

// maxBuckets bounds the table. A bucket that has filled up again says no more than none, and goes first.
const maxBuckets = 8192

func newRates(perSecond int) *rates {
	return &rates{perSecond: float64(max(perSecond, 0)), buckets: map[string]*bucket{}}
}

// take counts a request; what it returns is how long to wait before the next try, 0 when the request may go on.
func (r *rates) take(token string, now time.Time) time.Duration {
	if r.perSecond == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[token]
	if b == nil {
		r.makeRoom(now)
		b = &bucket{left: r.perSecond, at: now}
		r.buckets[token] = b
	}
	b.left = min(r.perSecond, b.left+r.perSecond*now.Sub(b.at).Seconds())
	b.at = now
	if b.left >= 1 {
		b.left--
		return 0
	}
	return time.Duration((1 - b.left) / r.perSecond * float64(time.Second))
}

// makeRoom sweeps the table at most once a second; in between, a full table loses any one bucket.
func (r *rates) makeRoom(now time.Time) {
	if len(r.buckets) < maxBuckets {
		return
	}
	if now.Sub(r.swept) >= time.Second {
		r.swept = now
		for token, b := range r.buckets {
			if now.Sub(b.at) >= time.Second {
				delete(r.buckets, token)
			}
		}
	}
	for token := range r.buckets {
		if len(r.buckets) < maxBuckets {
			return
		}
		delete(r.buckets, token)
	}
}

// limited refuses a token that asks too often.
type limited struct{ wait time.Duration }

func (l *limited) Error() string {
	return fmt.Sprintf("too many requests for this token; retry in %s", l.wait.Round(time.Millisecond))
}

// seconds is the wait as Retry-After has it.
func (l *limited) seconds() int { return int(math.Ceil(l.wait.Seconds())) }
