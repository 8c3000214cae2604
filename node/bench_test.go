package node_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// BenchmarkFollowerSees measures the time until a memory that the leader has acknowledged is readable on a follower.
func BenchmarkFollowerSees(b *testing.B) {
	c := start(b, 3)
	l := c.leader()
	s, caller := c.service(l)
	f, fc := c.service((l + 1) % 3)
	var waited time.Duration
	for b.Loop() {
		r, err := remember(b.Context(), s, caller, "", api.Draft{Text: "seen elsewhere"})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if _, err := recall(b.Context(), f, fc, index.Query{Text: "seen", K: 1}, commit.Freshness{Index: oplog.Index(r.Index)}); err != nil {
			b.Fatal(err)
		}
		waited += time.Since(start)
	}
	b.ReportMetric(float64(waited.Microseconds())/1000/float64(b.N), "ms-until-seen")
}

func BenchmarkRemember(b *testing.B) {
	for _, bc := range []struct {
		nodes, writers int
		through        string
	}{{1, 1, "leader"}, {1, 64, "leader"}, {3, 1, "leader"}, {3, 64, "leader"}, {3, 1, "follower"}, {3, 64, "follower"}} {
		b.Run(fmt.Sprintf("nodes=%d/writers=%d/%s", bc.nodes, bc.writers, bc.through), func(b *testing.B) {
			c := start(b, bc.nodes)
			at := c.leader()
			if bc.through == "follower" {
				at = (at + 1) % bc.nodes
			}
			s, caller := c.service(at)
			caller.Forward = true
			work := make(chan struct{})
			var wg sync.WaitGroup
			for range bc.writers {
				wg.Go(func() {
					for range work {
						if _, err := remember(b.Context(), s, caller, "",
							api.Draft{Text: "an agent learned something worth keeping"}); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			wg.Wait()
		})
	}
}

// BenchmarkWritesWhileMemoriesExpire measures the tail latency of writes on three nodes while a million memories an
// hour expire, and while none does. Use -benchtime 1x for one run of each.
func BenchmarkWritesWhileMemoriesExpire(b *testing.B) {
	const runs, perSecond, writers = 20 * time.Second, 1_000_000 / 3600, 4
	for _, expire := range []bool{false, true} {
		b.Run(fmt.Sprintf("expire=%t", expire), func(b *testing.B) {
			c := start(b, 3)
			s, caller := c.service(c.leader())
			for b.Loop() {
				begin := time.Now().Add(5 * time.Second) // after the memories that are stored first
				var batch []api.Draft
				for i := range int(runs.Seconds()) * perSecond {
					at := begin.Add(time.Duration(i) * time.Second / perSecond)
					if !expire {
						at = at.Add(time.Hour)
					}
					if batch = append(batch,
						api.Draft{Text: fmt.Sprint("an agent learned something for a while, number ", i),
							Expires: field.Date{Time: at}}); len(batch) == 500 {
						if _, err := api.RememberBatch.Do(b.Context(), s, caller, &api.RememberBatchRequest{Memories: batch}); err != nil {
							b.Fatal(err)
						}
						batch = nil
					}
				}
				took := make([][]time.Duration, writers)
				var wg sync.WaitGroup
				time.Sleep(time.Until(begin))
				for w := range writers {
					wg.Go(func() {
						for time.Since(begin) < runs {
							from := time.Now()
							if _, err := remember(b.Context(), s, caller, "",
								api.Draft{Text: "an agent learned something worth keeping"}); err != nil {
								b.Error(err)
								return
							}
							took[w] = append(took[w], time.Since(from))
							time.Sleep(5 * time.Millisecond)
						}
					})
				}
				wg.Wait()
				if now, err := c.nodes[0].State().Current(caller.DB); err != nil ||
					expire != (now.Stats.Expiring < perSecond*uint64(writers)) {
					b.Errorf("%d memories expire yet: %v", now.Stats.Expiring, err)
				}
				all := slices.Sorted(slices.Values(slices.Concat(took...)))
				b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "ms-median")
				b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "ms-p99")
				b.ReportMetric(float64(len(all)), "writes")
			}
		})
	}
}

// BenchmarkKeyed measures reads and writes by key over the wire, among as many keys as a typical folder of an agent
// has.
func BenchmarkKeyed(b *testing.B) {
	c := start(b, 1)
	cl := c.dial(0)
	const keys = 20_000
	key := func(i int) string { return fmt.Sprintf("/notes/%d/%d", i%200, i%keys) }
	for from := 0; from < keys; from += 5000 {
		steps := make([]obj, 5000)
		for i := range steps {
			steps[i] = obj{"op": "put", "key": key(from + i), "memory": obj{"text": fmt.Sprint("note ", from+i)}}
		}
		if err := cl.Change(b.Context(), "batch", obj{"steps": steps}, nil); err != nil {
			b.Fatal(err)
		}
	}
	i := 0
	for _, bc := range []struct {
		name string
		ask  func() error
	}{
		{"get", func() error { return cl.Query(b.Context(), "get", obj{"key": key(i)}, nil) }},
		{"put", func() error {
			return cl.Change(b.Context(), "put", obj{"key": key(i), "text": fmt.Sprint("note of step ", i)}, nil)
		}},
		{"page of 100", func() error {
			return cl.Query(b.Context(), "keys", obj{"prefix": fmt.Sprintf("/notes/%d", i%200)}, nil)
		}},
		{"page of 100 folders", func() error { return cl.Query(b.Context(), "keys", obj{"prefix": "/notes", "depth": 1}, nil) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			for b.Loop() {
				i++
				if err := bc.ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
