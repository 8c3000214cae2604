//go:build soak

package vector

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestPartitionsAtScale measures the gain and the cost of partitions, to learn them and to assign rows, with
// CAIRN_VECTORS (1,000,000) rows of CAIRN_DIM (64) dimensions in 5,000 clusters.
func TestPartitionsAtScale(t *testing.T) {
	n, dim := 1_000_000, 64
	for name, to := range map[string]*int{"CAIRN_VECTORS": &n, "CAIRN_DIM": &dim} {
		if s := os.Getenv(name); s != "" {
			*to, _ = strconv.Atoi(s)
		}
	}
	cloud := newCloud(dim, 5000, .5)
	s := fill(dim, n, cloud)
	asks := make([][]float32, 150)
	for i := range asks {
		asks[i] = cloud.draw()
	}
	ask := func() time.Duration {
		var took []time.Duration
		for _, v := range asks {
			start := time.Now()
			q := s.query(100, nil)
			q.Precise = 40
			s.Search(s.Ask(v, q), nil)
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	ask()
	all := ask()
	start := time.Now()
	p := s.Learn(context.Background())
	learned := time.Since(start)
	start = time.Now()
	s.Partition(p, Assignment{})
	assigned := time.Since(start)
	some := ask()
	t.Logf("%d rows of %d dimensions: all %v, %d partitions, slack %d: %v; learned in %v, assigned in %v", n, dim, all,
		len(p.Centroids)/dim, p.Slack, some, learned, assigned)
	for name, keep := range map[string]func(uint32) bool{"all": nil, "a tenth": func(r uint32) bool { return r%10 == 3 },
		"a hundredth": func(r uint32) bool { return r%100 == 7 }} {
		got := agreement(s, asks, keep)
		if t.Logf("%s: %.4f of the nearest ten are found", name, got); got < .99 {
			t.Errorf("%s: %.4f, want .99", name, got)
		}
	}
}
