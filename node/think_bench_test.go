package node_test

import (
	"context"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/mind/mindtest"
)

// BenchmarkRecallWhileThinking compares the p99 of four clients' recalls over 50,000 memories during consecutive
// rounds of THINK with that before and after them, and reports the growth of the heap.
func BenchmarkRecallWhileThinking(b *testing.B) {
	c := startWith(b, 1, func(_ int, cfg *node.Config) { cfg.Seams.NoSync = true })
	s, caller := c.local(0)
	caller.Quiet = true
	const rows = 50_000
	var drafts []api.Draft
	for seed := uint64(0); len(drafts) < rows; seed++ {
		for _, r := range mindtest.New(seed).Rows {
			drafts = append(drafts, api.Draft{Text: r.Text, Importance: .5, HalfLife: 168})
		}
	}
	for part := range slices.Chunk(drafts[:rows], 5000) {
		if _, err := remember(b.Context(), s, caller, "", part...); err != nil {
			b.Fatal(err)
		}
	}
	ask := func(i int) error {
		_, err := recall(context.Background(), s, caller, index.Query{Text: drafts[i%rows].Text, K: 10}, commit.Stale)
		return err
	}
	const stretch = 8 * time.Second
	for b.Loop() {
		before := clients(b, ask, time.After(stretch))
		heap := watchHeap()
		done := make(chan time.Time)
		var rounds, read int
		go func() {
			defer close(done)
			for began := time.Now(); time.Since(began) < 2*stretch; rounds++ {
				a, err := api.Think.Do(context.Background(), s, caller,
					&api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true, Conflicts: true, Patterns: true},
						Limit: 1000, Progress: true})
				if err != nil {
					b.Error(err)
					return
				}
				read += *a.Read
			}
		}()
		loud := clients(b, ask, done)
		grown := heap()
		quiet := append(before, clients(b, ask, time.After(stretch))...)
		b.ReportMetric(p99(quiet), "quiet-p99-ms")
		b.ReportMetric(p99(loud), "thinking-p99-ms")
		b.ReportMetric(p99(loud)/p99(quiet), "ratio")
		b.ReportMetric(grown, "heap-MB")
		b.Logf("%d rounds read %d memories; p99 before %.1f ms, %d recalls meanwhile", rounds, read, p99(before), len(loud))
	}
}

// BenchmarkThinkOfWhatIsNew runs rounds over 50,000 memories until all are read, and then one for each hundred more.
func BenchmarkThinkOfWhatIsNew(b *testing.B) {
	c := startWith(b, 1, func(_ int, cfg *node.Config) { cfg.Seams.NoSync, cfg.Background.NoThink = true, true })
	s, caller := c.local(0)
	const rows, more = 50_000, 100
	var drafts []api.Draft
	for seed := uint64(0); len(drafts) < 2*rows; seed++ {
		for _, r := range mindtest.New(seed).Rows {
			drafts = append(drafts, api.Draft{Text: r.Text, Importance: .5, HalfLife: 168})
		}
	}
	add := func(n int) {
		for part := range slices.Chunk(drafts[:n], 5000) {
			if _, err := remember(b.Context(), s, caller, "", part...); err != nil {
				b.Fatal(err)
			}
		}
		drafts = drafts[n:]
	}
	round := func() *api.Thought {
		a, err := api.Think.Do(b.Context(), s, caller,
			&api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true, Conflicts: true}, Limit: 50, Progress: true})
		if err != nil {
			b.Fatal(err)
		}
		return a
	}
	add(rows)
	began, rounds := time.Now(), 0
	for left := 1; left > 0; rounds++ {
		left = *round().Remaining
	}
	first := time.Since(began)
	read := 0
	for b.Loop() {
		b.StopTimer()
		add(more)
		b.StartTimer()
		read += *round().Read
	}
	b.ReportMetric(first.Seconds(), "first-s")
	b.ReportMetric(float64(rounds), "first-rounds")
	b.ReportMetric(float64(read)/float64(b.N), "read/op")
}

// clients runs four clients until they are stopped, and returns the latency of each answer.
func clients(b *testing.B, ask func(i int) error, stop <-chan time.Time) (took []time.Duration) {
	done := make(chan struct{})
	go func() { <-stop; close(done) }()
	var mu sync.Mutex
	var all sync.WaitGroup
	for k := range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				at := time.Now()
				if err := ask(k*7919 + i*104729); err != nil {
					b.Error(err)
					return
				}
				d := time.Since(at)
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return took
}

// p99 returns the 99th percentile in milliseconds.
func p99(took []time.Duration) float64 {
	took = slices.Sorted(slices.Values(took))
	return float64(took[len(took)*99/100].Microseconds()) / 1000
}

// watchHeap returns a function that reports the maximum growth of the live heap since then, in megabytes.
func watchHeap() func() float64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	live := func() uint64 { metrics.Read(sample); return sample[0].Value.Uint64() }
	runtime.GC()
	start := live()
	most := start
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				most = max(most, live())
			}
		}
	}()
	return func() float64 {
		close(stop)
		<-done
		return float64(most-start) / 1e6
	}
}
