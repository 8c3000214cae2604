package past

import (
	"math"
	"sync/atomic"
	"time"
)

// Times counts durations since the last Read, in buckets that grow by a quarter from ten microseconds to ten minutes.
// It is for samples; /metrics has its own histograms, which are never reset.
type Times struct{ buckets [buckets]atomic.Uint32 }

const (
	buckets = 82
	least   = 10 * time.Microsecond
	growth  = 1.25
)

// Took counts a duration.
func (t *Times) Took(d time.Duration) {
	i := 0
	if d > least {
		i = min(buckets-1, 1+int(math.Log(float64(d)/float64(least))/math.Log(growth)))
	}
	t.buckets[i].Add(1)
}

// Read returns the number of durations and their quantiles in milliseconds, and resets the counts. Without durations
// the quantiles are NaN.
func (t *Times) Read(quantiles ...float64) (n uint64, millis []float32) {
	var counts [buckets]uint64
	for i := range t.buckets {
		counts[i] = uint64(t.buckets[i].Swap(0))
		n += counts[i]
	}
	for _, q := range quantiles {
		value, below := math.NaN(), uint64(0)
		for i, c := range counts {
			if below += c; n > 0 && float64(below) >= q*float64(n) {
				value = float64(least) / float64(time.Millisecond) * math.Pow(growth, float64(i))
				break
			}
		}
		millis = append(millis, float32(value))
	}
	return n, millis
}
