package node

import (
	"cmp"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// rates holds those who ask to so many requests a second on this node. A bucket fills at that rate and holds a
// burst, so a client may come in bursts but not for long.
type rates struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	swept   time.Time
}

type bucket struct {
	left float64
	at   time.Time
}

// maxBuckets bounds the table. A bucket that has filled up again says no more than none, and goes first.
const maxBuckets = 8192

func newRates() *rates { return &rates{buckets: map[string]*bucket{}} }

// take counts a request; what it returns is how long to wait before the next try, 0 when the request may go on.
func (r *rates) take(who string, l oplog.Limit, now time.Time) time.Duration {
	if l.PerSecond == 0 {
		return 0
	}
	perSecond, most := float64(l.PerSecond), float64(cmp.Or(l.Burst, l.PerSecond))
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[who]
	if b == nil {
		r.makeRoom(now)
		b = &bucket{left: most, at: now}
		r.buckets[who] = b
	}
	b.left = min(most, b.left+perSecond*now.Sub(b.at).Seconds())
	b.at = now
	if b.left >= 1 {
		b.left--
		return 0
	}
	return time.Duration((1 - b.left) / perSecond * float64(time.Second))
}

// makeRoom sweeps the table at most once a second; in between, a full table loses any one bucket.
func (r *rates) makeRoom(now time.Time) {
	if len(r.buckets) < maxBuckets {
		return
	}
	if now.Sub(r.swept) >= time.Second {
		r.swept = now
		for who, b := range r.buckets {
			if now.Sub(b.at) >= time.Second {
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
