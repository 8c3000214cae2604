package stringd_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkExecInfo runs one client with one connection, and reports the median of /exec /info as p50-µs.
func BenchmarkExecInfo(b *testing.B) {
	d := start(b, nil)
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		begin := time.Now()
		if o, err := d.tryExec(context.Background(), "main", "/info"); err != nil || !o.OK {
			b.Fatal(o, err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
}

// BenchmarkExecTopics runs fifty clients, each with its own topic.
func BenchmarkExecTopics(b *testing.B) {
	d := start(b, nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	b.ResetTimer()
	for topic := range 50 {
		wg.Go(func() {
			for next.Add(1) <= int64(b.N) {
				if o, err := d.tryExec(context.Background(), fmt.Sprint("t", topic), "/info"); err != nil || !o.OK {
					b.Error(o, err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "exec/s")
}
