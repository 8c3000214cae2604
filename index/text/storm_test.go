//go:build soak

package text

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stormLength says how long writes go on.
const stormLength = time.Minute

// TestMergeStorm writes 3,000 rows a second while it searches. Bleve stalls
// behind its merges; neither Apply nor Search may, which
// TestNothingWaitsForBleve shows without a clock. The bounds here hold only
// where the machine has cores to spare.
func TestMergeStorm(t *testing.T) {
	x := openAt(t, t.TempDir())
	rows := benchTexts(20_000)
	for part := range slices.Chunk(rows, 1000) {
		apply(t, x, part)
	}
	settle(t, x)
	queries := benchQueries(100, 5)
	pass := func(took []time.Duration) []time.Duration {
		for _, q := range queries {
			took = append(took, timed(func() { find(t, x, Query{Text: q}) }))
		}
		return took
	}
	pass(nil)
	idle := pass(pass(pass(nil)))

	ctx, cancel := context.WithTimeout(context.Background(), stormLength)
	defer cancel()
	applies := make(chan []time.Duration, 1)
	go func() {
		var took []time.Duration
		defer func() { applies <- took }()
		r := rand.New(rand.NewPCG(21, 22))
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for next := uint32(len(rows)); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			batch := make([]Row, 30)
			for i := range batch {
				batch[i] = Row{Row: next, Group: next % 10, Text: words(r, 45, 30_000)}
				next++
			}
			took = append(took, timed(func() { x.Apply(batch, []uint32{next - 5000}) }))
		}
	}()
	var busy []time.Duration
	for ctx.Err() == nil {
		busy = pass(busy)
	}
	writes := <-applies
	t.Logf("search idle p50 %v p99 %v; under writes p50 %v p99 %v (%d searches); apply of 30 rows p50 %v p99 %v; lag %+v; %d segments",
		median(idle), p99(idle), median(busy), p99(busy), len(busy), median(writes), p99(writes), x.Lag(), segmentCount(x))
	if load := loadAverage(); load > float64(runtime.NumCPU()) {
		t.Skipf("load average %.1f exceeds %d cores: the bounds say nothing", load, runtime.NumCPU())
	}
	if got, limit := p99(busy), max(5*p99(idle), 50*time.Millisecond); got > limit {
		t.Errorf("search p99 under writes: got %v, want at most %v", got, limit)
	}
	if got, limit := p99(writes), 100*time.Millisecond; got > limit {
		t.Errorf("apply p99: got %v, want at most %v", got, limit)
	}
}

func segmentCount(x *Index) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.snap.segments)
}

func p99(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)*99/100]
}

func loadAverage() float64 {
	b, _ := os.ReadFile("/proc/loadavg")
	load, _ := strconv.ParseFloat(strings.Split(string(b)+" ", " ")[0], 64)
	return load
}
