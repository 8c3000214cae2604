package vector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// agreement returns the share of the ten nearest rows that a search finds, over some questions.
func agreement(s *shelf, asks [][]float32, keep func(uint32) bool) float64 {
	var hit, all float64
	for _, v := range asks {
		got := s.Search(s.Ask(v, s.query(10, keep)), nil)
		for _, w := range s.exact(v, 10, keep) {
			if all++; slices.ContainsFunc(got, func(h Hit) bool { return h.Row == w.Row || h.Sim == w.Sim }) {
				hit++
			}
		}
	}
	return hit / all
}

// TestPartitionsFindTheNearest: 99 of 100 of the ten nearest rows are found, also with filters that leave a tenth and
// a hundredth, in clusters and without. In clusters a question compares only a part of the rows.
func TestPartitionsFindTheNearest(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("-short: 180,000 vectors")
	}
	const n, dim = 60_000, 64
	for _, c := range []struct {
		name    string
		centres int
		spread  float64
		most    float64 // maximum share of the rows that a question compares
	}{{"clusters", 1000, .5, .05}, {"many clusters", 3000, .3, .1}, {"crowded clusters", 100, .3, .05}, {"no structure", 1, 1e6, 1}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cloud := newCloud(dim, c.centres, c.spread)
			s := fill(dim, n, cloud)
			p := s.Learn(context.Background())
			s.Partition(p, Assignment{})
			var asks [][]float32
			for i := range 40 {
				v := cloud.draw()
				if i%2 == 1 { // a question is not like what it asks for
					for d, x := range cloud.draw() {
						v[d] += x / 2
					}
				}
				asks = append(asks, Unit(v))
			}
			for name, keep := range map[string]func(uint32) bool{"all": nil,
				"a tenth": func(r uint32) bool { return r%10 == 3 }, "a hundredth": func(r uint32) bool { return r%100 == 7 }} {
				if got := agreement(s, asks, keep); got < .99 {
					t.Errorf("%s: %.4f of the nearest ten are found, want .99", name, got)
				}
			}
			var looked atomic.Int64
			for _, v := range asks {
				s.Search(s.Ask(v, Query{K: 10, Keep: each(func(uint32) bool { looked.Add(1); return true })}), nil)
			}
			part := float64(looked.Load()) / float64(n*len(asks))
			if t.Logf("%d partitions, slack %d: a question looks at %.3f of the rows", len(p.Centroids)/dim, p.Slack, part); part > c.most {
				t.Errorf("a question looks at %.3f of the rows, want at most %.2f", part, c.most)
			}
		})
	}
}

// TestPartitionedStoresAnswerAlike: stores with the same rows give answers with the same bits, whether rows came
// before or after the centroids, in any order, with deletions in between, from any number of goroutines and with any
// inner loops.
func TestPartitionedStoresAnswerAlike(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("-short: 110,000 vectors")
	}
	const n, dim, extra = PartitionedRows + 1000, 32, 3000
	cloud := newCloud(dim, 300, .5)
	s := fill(dim, n+extra, cloud)
	for row := range uint32(extra) {
		s.Delete(n + row)
	}
	p := s.Learn(context.Background())
	if len(p.Centroids) == 0 {
		t.Fatal("nothing is gained by dividing clusters")
	}
	s.Partition(p, Assignment{})
	late := &shelf{New(dim), s.originals}
	late.kernels = portable
	for i, row := range rand.New(rand.NewPCG(5, 6)).Perm(n + extra) {
		if i == 1000 {
			late.Partition(p, Assignment{})
		}
		late.Put(uint32(row), late.Prepare(s.originals[row]))
	}
	for row := range uint32(extra) {
		late.Delete(n + row)
	}
	for i := range 60 {
		v := cloud.draw()
		var keep func(uint32) bool
		if share := uint32(i%6) * uint32(i%6); share > 0 {
			keep = func(r uint32) bool { return r%share == 0 }
		}
		k := 1 + 7*i
		want := s.Search(s.Ask(v, s.query(k, keep)), nil)
		if got := late.Search(late.Ask(v, late.query(k, keep)), make(Pool, 3)); !slices.Equal(got, want) {
			t.Fatalf("question %d: %v, want %v", i, got, want)
		}
	}
	for row := range uint32(n - 30_000) { // so many that lists are cleaned, and all rows are compared again
		s.Delete(row)
	}
	v := cloud.draw()
	with := s.Search(s.Ask(v, s.query(50, nil)), nil)
	s.Partition(nil, Assignment{})
	if without := s.Search(s.Ask(v, s.query(50, nil)), nil); !slices.Equal(with, without) {
		t.Fatalf("below %d rows: %v, want %v", PartitionedRows, with, without)
	}
}

// TestRowsAmong: a list of the rows that pass a filter changes no answer, also if it has other rows, repeated rows or
// deleted rows. If few rows pass the filter, all of them are compared.
func TestRowsAmong(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("-short: 51,000 vectors")
	}
	const n, dim = PartitionedRows + 1000, 32
	cloud := newCloud(dim, 300, .5)
	s := fill(dim, n, cloud)
	for row := range uint32(500) {
		s.Delete(row)
		s.originals[row] = nil
	}
	s.Partition(s.Learn(context.Background()), Assignment{})
	for _, share := range []uint32{2, 3, 100} {
		keep := func(r uint32) bool { return r%share == 1 }
		var some, more []uint32
		for row := range uint32(n + 10) {
			if keep(row) || row%7 == 0 {
				some = append(some, row)
			}
			if row%9 == 0 {
				more = append(more, row)
			}
		}
		for i := range 20 {
			v := cloud.draw()
			q := s.query(30, keep)
			want := s.Search(s.Ask(v, q), nil)
			q.Among, q.Most = [][]uint32{some, more}, n/int(share)+1
			if got := s.Search(s.Ask(v, q), nil); q.Most > DirectRows && !slices.Equal(got, want) {
				t.Fatalf("one in %d, question %d: %v, want %v", share, i, got, want)
			} else if exact := s.exact(v, 10, keep); share == 100 && !slices.Equal(got[:10], exact) {
				t.Fatalf("one in %d, question %d: %v, want %v", share, i, got[:10], exact)
			}
			parts := s.parts.Load()
			s.parts.Store(nil)
			got := s.Search(s.Ask(v, q), nil)
			q.Among = nil
			if want := s.Search(s.Ask(v, q), nil); !slices.Equal(got, want) {
				t.Fatalf("not divided, one in %d, question %d: %v, want %v", share, i, got, want)
			}
			s.parts.Store(parts)
		}
	}
}

// TestPartitionIsWholeNumbers: centroids may have length zero or the maximum. A row belongs to the first of equally
// near centroids.
func TestPartitionIsWholeNumbers(t *testing.T) {
	for _, dim := range []int{1, 8192} {
		s := New(dim)
		c := make([]int8, 32*dim)
		for i := range c[:5*dim] {
			c[i] = -127
		}
		for i := range dim {
			c[7*dim+i], c[9*dim+i] = 127, 127
		}
		p := s.newPartitions(&Partition{Groups: make([]int8, dim), Centroids: c})
		x := make([]int8, s.padded)
		for i := range dim {
			x[i] = 127
		}
		if got := p.putAssigner.of(x); got != 7 {
			t.Errorf("%d dimensions: partition %d, want 7", dim, got)
		}
		for i := range x {
			x[i] = -x[i]
		}
		if got := p.putAssigner.of(x); got != 0 {
			t.Errorf("%d dimensions: partition %d, want 0", dim, got)
		}
	}
	for _, n := range []uint64{1, 2, 3, 4, 99, 100, 1 << 40, 1<<62 - 1} {
		if r := uint64(isqrt(n)); r*r > n || (r+1)*(r+1) <= n {
			t.Errorf("root of %d is %d", n, r)
		}
	}
}

// TestPartitionOfAnother: a partition of another dimension is ignored.
func TestPartitionOfAnother(t *testing.T) {
	s := New(4)
	for name, p := range map[string]*Partition{
		"none": nil, "not divided": {}, "no groups": {Centroids: make([]int8, 8)},
		"half a centroid":            {Groups: make([]int8, 4), Centroids: make([]int8, 6)},
		"more groups than centroids": {Groups: make([]int8, 8), Centroids: make([]int8, 4)},
		"too many":                   {Groups: make([]int8, 4), Centroids: make([]int8, 4*5000)},
	} {
		if s.Partition(p, Assignment{}); s.parts.Load() != nil {
			t.Errorf("%s: divided", name)
		}
	}
	if s.Partition(&Partition{Groups: make([]int8, 4), Centroids: make([]int8, 8)}, Assignment{}); s.parts.Load() == nil {
		t.Error("not divided by two centroids")
	}
}

// TestOrderOfPartitions: all partitions are returned, the nearest first, and of equally near ones the one with the
// lower number.
func TestOrderOfPartitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	near := make([]int64, 300)
	want := make([]uint16, len(near))
	for i := range near {
		near[i], want[i] = rng.Int64N(40), uint16(i)
	}
	slices.SortStableFunc(want, func(a, b uint16) int { return int(near[b] - near[a]) })
	var got []uint16
	for o := orderOf(near, nil); len(o.heap) > 0; {
		got = append(got, o.pop())
	}
	if !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

// BenchmarkPartitions compares a search of all codes with a search of some partitions: CAIRN_VECTORS (200,000) rows
// of CAIRN_DIM (384) numbers in clusters of 200, without a filter and with one that a tenth passes.
func BenchmarkPartitions(b *testing.B) {
	n, dim := 200_000, 384
	for name, to := range map[string]*int{"CAIRN_VECTORS": &n, "CAIRN_DIM": &dim} {
		if s := os.Getenv(name); s != "" {
			*to, _ = strconv.Atoi(s)
		}
	}
	cloud := newCloud(dim, n/200, .5)
	s := New(dim)
	sample := make([][]float32, min(n, 20_000)) // rows share originals
	for i := range sample {
		sample[i] = cloud.draw()
	}
	for i := range n {
		s.Put(uint32(i), s.Prepare(cloud.draw()))
	}
	tenth := each(func(row uint32) bool { return row%10 == 3 })
	p := s.Learn(context.Background())
	for _, divided := range []bool{false, true} {
		for name, keep := range map[string]func([]uint32) []uint32{"all": nil, "tenth": tenth} {
			b.Run(fmt.Sprintf("divided=%v/%s", divided, name), func(b *testing.B) {
				s.Partition(nil, Assignment{})
				if divided {
					s.Partition(p, Assignment{})
				}
				for i := 0; b.Loop(); i++ {
					q := s.Ask(sample[i*7%len(sample)],
						Query{K: 100, Sure: 10, Precise: 40, Keep: keep,
							Exact: func(r uint32) []float32 { return sample[int(r)%len(sample)] }})
					s.Search(q, nil)
				}
			})
		}
	}
}

// TestNothingIsLearnedOfNothing: Learn returns nil for a store that has lost its rows.
func TestNothingIsLearnedOfNothing(t *testing.T) {
	t.Parallel()
	s := New(8)
	if p := s.Learn(t.Context()); p != nil {
		t.Errorf("of no row: %+v", p)
	}
	for row := range uint32(3) {
		s.Put(row, s.Prepare(Unit([]float32{1, float32(row), 0, 0, 0, 0, 0, 0})))
	}
	for row := range uint32(3) {
		s.Delete(row)
	}
	if p := s.Learn(t.Context()); p != nil {
		t.Errorf("of rows that are gone: %+v", p)
	}
}
