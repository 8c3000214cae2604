package node_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
)

// BenchmarkFollowerSees measures how long a memory that the leader has acknowledged takes to be readable on a follower.
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
		if _, err := recall(b.Context(), f, fc, index.Query{Text: "seen", K: 1}, commit.AtIndex(oplog.Index(r.Index))); err != nil {
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
						if _, err := remember(b.Context(), s, caller, "", api.Draft{Text: "an agent learned something worth keeping"}); err != nil {
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
