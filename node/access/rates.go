package access

import (
	"cmp"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// rates holds clients to so many operations a second on this node. A bucket fills at that rate and holds a
// burst, so a client may come in bursts but not for long.
type rates struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	swept   time.Time
}

type bucket struct {
	left float64
	at   time.Time // when left was true
	full time.Time // when it holds its burst again, if nothing is taken
}

// maxBuckets bounds the table. A bucket that has filled up again says no more than none, and goes first.
const maxBuckets = 8192

func newRates() *rates { return &rates{buckets: map[string]*bucket{}} }

// take counts n operations, at most the burst; what it returns is how long to wait before the next try, 0 when the operations may go on.
func (r *rates) take(who string, l oplog.Limit, n int, now time.Time) time.Duration {
	if l.PerSecond == 0 || n == 0 {
		return 0
	}
	perSecond, most := float64(l.PerSecond), float64(burst(l))
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[who]
	if b == nil {
		r.makeRoom(now)
		b = &bucket{left: most, at: now}
		r.buckets[who] = b
	}
	b.left = min(most, b.left+perSecond*max(0, now.Sub(b.at).Seconds()))
	b.at = now
	wait := time.Duration(0)
	if need := float64(n); b.left >= need {
		b.left -= need
	} else {
		wait = max(1, time.Duration((need-b.left)/perSecond*float64(time.Second)))
	}
	b.full = now.Add(time.Duration((most - b.left) / perSecond * float64(time.Second)))
	return wait
}

// wait is how long until one operation may go on. It counts none.
func (r *rates) wait(who string, l oplog.Limit, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[who]
	if b == nil || l.PerSecond == 0 {
		return 0
	}
	missing := 1 - b.left - float64(l.PerSecond)*now.Sub(b.at).Seconds()
	return max(0, time.Duration(missing/float64(l.PerSecond)*float64(time.Second)))
}

// burst is how many operations a limit lets through at once.
func burst(l oplog.Limit) int { return int(cmp.Or(l.Burst, l.PerSecond)) }

// makeRoom sweeps the table at most once a second; in between, a full table loses any one bucket.
func (r *rates) makeRoom(now time.Time) {
	if len(r.buckets) < maxBuckets {
		return
	}
	if now.Sub(r.swept) >= time.Second {
		r.swept = now
		for who, b := range r.buckets {
			if !b.full.After(now) {
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
