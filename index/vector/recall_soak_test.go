//go:build soak

package vector

import (
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestRecallAtScale compares with exact search at 100,000 and at CAIRN_VECTORS (1,000,000) rows of 384 dimensions:
// clusters, and a cloud without any structure; all rows, and a filter that keeps one in a hundred.
func TestRecallAtScale(t *testing.T) {
	most := 1_000_000
	if s := os.Getenv("CAIRN_VECTORS"); s != "" {
		most, _ = strconv.Atoi(s)
	}
	for _, n := range []int{100_000, most} {
		for name, cloud := range map[string]*cloud{"1000 clusters": newCloud(384, 1000, .5),
			"100 crowded clusters": newCloud(384, 100, .3), "no structure": newCloud(384, 1, 1e6)} {
			s := fill(384, n, cloud)
			pool := make(Pool, 3)
			for what, keep := range map[string]func(uint32) bool{"all": nil,
				"one in a hundred": func(r uint32) bool { return r%100 == 7 }} {
				const asked = 50
				asks := make([][]float32, asked)
				wants := make([][]Hit, asked)
				for i := range asks {
					asks[i] = cloud.draw()
				}
				var wg sync.WaitGroup
				for w := range 4 {
					wg.Go(func() {
						for i := w; i < asked; i += 4 {
							wants[i] = s.exact(asks[i], 10, keep)
						}
					})
				}
				wg.Wait()
				var hit float64
				var took []time.Duration
				for i, v := range asks {
					q := s.query(100, keep)
					q.Precise, q.Sure = 40, 10 // as an index asks
					start := time.Now()
					got := s.Search(s.Ask(v, q), pool)
					took = append(took, time.Since(start))
					for _, w := range wants[i] {
						if slices.ContainsFunc(got[:10], func(h Hit) bool { return h.Row == w.Row || h.Sim == w.Sim }) {
							hit++
						}
					}
				}
				slices.Sort(took)
				t.Logf("%d rows, %s, %s: recall@10 %.4f, p50 %v, p90 %v", n, name, what, hit/(10*asked), took[asked/2], took[asked*9/10])
				if hit/(10*asked) < .99 {
					t.Errorf("%d rows, %s, %s: recall@10 %.4f, want .99", n, name, what, hit/(10*asked))
				}
			}
		}
	}
}
