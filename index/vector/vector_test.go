package vector

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// cloud draws vectors around a few centres; spread 1 hides the centres.
type cloud struct {
	rng     *rand.Rand
	centres [][]float32
	spread  float64
}

func newCloud(dim, centres int, spread float64) *cloud {
	c := &cloud{rng: rand.New(rand.NewPCG(1, 2)), spread: spread}
	for range centres {
		c.centres = append(c.centres, c.gauss(dim))
	}
	return c
}

func (c *cloud) gauss(dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(c.rng.NormFloat64())
	}
	return v
}

func (c *cloud) draw() []float32 {
	v := slices.Clone(c.centres[c.rng.IntN(len(c.centres))])
	for i := range v {
		v[i] += float32(c.spread * c.rng.NormFloat64())
	}
	return Unit(v)
}

// shelf holds a store and the original vectors.
type shelf struct {
	*Store
	originals [][]float32
}

func fill(dim, n int, c *cloud) *shelf {
	s := &shelf{New(dim), make([][]float32, n)}
	prepared := make([]Prepared, n)
	for i := range n {
		s.originals[i] = c.draw()
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := w; i < n; i += 4 {
				prepared[i] = s.Prepare(s.originals[i])
			}
		})
	}
	wg.Wait()
	for i, p := range prepared {
		s.Put(uint32(i), p)
	}
	return s
}

// each filters row by row.
func each(keep func(row uint32) bool) func(rows []uint32) []uint32 {
	if keep == nil {
		return nil
	}
	return func(rows []uint32) []uint32 {
		return slices.DeleteFunc(rows, func(row uint32) bool { return !keep(row) })
	}
}

func (s *shelf) query(k int, keep func(uint32) bool) Query {
	return Query{K: k, Keep: each(keep), Exact: func(row uint32) []float32 { return s.originals[row] }}
}

func (s *shelf) exact(v []float32, k int, keep func(uint32) bool) []Hit {
	var all []Hit
	for i, o := range s.originals {
		if o != nil && (keep == nil || keep(uint32(i))) {
			all = append(all, Hit{uint32(i), Dot(v, o)})
		}
	}
	q := Query{}
	slices.SortFunc(all, q.compare)
	return all[:min(k, len(all))]
}

func TestProductsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	fast := fastest().dot
	for n := 0; n <= 8192; n += 32 {
		if n > 512 && n%1024 != 0 {
			continue
		}
		buf := make([]int8, 2*n+3)
		for i := range buf {
			buf[i] = int8(rng.IntN(255) - 127)
		}
		a, b := buf[1:1+n], buf[3+n:3+2*n] // not aligned
		if got, want := fast(a, b), dotGeneric(a, b); got != want {
			t.Fatalf("length %d: %d, want %d", n, got, want)
		}
		rows := append(append(slices.Clone(b), a...), b...)
		got, want := make([]int32, 3), make([]int32, 3)
		if fastest().dots(a, rows, got); n > 0 {
			portable.dots(a, rows, want)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("length %d: products %d, want %d", n, got, want)
		}
		for i := range a {
			a[i], b[i] = 127, -127
		}
		if got, want := fast(a, b), int32(-127*127*n); got != want {
			t.Fatalf("length %d of extremes: %d, want %d", n, got, want)
		}
	}
}

func TestFindsTheNearest(t *testing.T) {
	for _, c := range []struct {
		dim, n, centres int
		spread, least   float64
	}{
		{384, 3000, 50, .5, 1},
		{384, 30_000, 500, .5, .99},
		{384, 30_000, 100, .3, .95}, // crowded: three hundred rows share what neighbours differ in
		{768, 25_000, 300, .5, .99},
		{1, 100, 4, .5, 1}, {3, 500, 4, .5, 1}, {100, 500, 5, .5, .99}, {1025, 300, 5, .5, .99},
	} {
		t.Run(fmt.Sprintf("%d×%d around %d", c.n, c.dim, c.centres), func(t *testing.T) {
			if c.n > 10_000 {
				suite.Full(t)
			}
			if testing.Short() && c.n > 10_000 {
				t.Skip("skipped in -short: compares with every vector, one question after the other")
			}
			t.Parallel()
			cloud := newCloud(c.dim, c.centres, c.spread)
			s := fill(c.dim, c.n, cloud)
			for name, keep := range map[string]func(uint32) bool{"all": nil,
				"one in a hundred": func(r uint32) bool { return r%100 == 7 }} {
				var hit, all float64
				for range 30 {
					v := cloud.draw()
					want := s.exact(v, 10, keep)
					got := s.Search(s.Ask(v, s.query(10, keep)), nil)
					if len(got) != len(want) {
						t.Fatalf("%s: %d hits, want %d", name, len(got), len(want))
					}
					for i, w := range want {
						all++
						if slices.Contains(got, w) || got[i].Sim == w.Sim {
							hit++
						}
					}
				}
				if hit/all < c.least {
					t.Errorf("%s: recall %.3f, want %.2f", name, hit/all, c.least)
				}
			}
		})
	}
}

// TestOriginalsAreReadInOrder: originals are read in the order of rows, which is cheaper on a disk, and the answer
// equals that of comparing all rows.
func TestOriginalsAreReadInOrder(t *testing.T) {
	cloud := newCloud(64, 20, .5)
	s := fill(64, 3000, cloud)
	for range 20 {
		v := cloud.draw()
		var asked []uint32
		q := s.query(100, nil)
		q.Precise = 100
		exact := q.Exact
		q.Exact = func(row uint32) []float32 {
			asked = append(asked, row)
			return exact(row)
		}
		got, want := s.Search(s.Ask(v, q), nil), s.exact(v, 100, nil)
		if !slices.Equal(got[:50], want[:50]) { // int8 rounding may replace the last ones
			t.Fatalf("found %v, want %v", got[:50], want[:50])
		}
		if len(asked) != 100 || !slices.IsSorted(asked) {
			t.Fatalf("originals were read of %d rows in the order %v", len(asked), asked)
		}
	}
}

func TestGoroutinesDoNotShow(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: 210,000 vectors")
	}
	cloud := newCloud(64, 100, .5)
	s := fill(64, parallelRows+10_000, cloud)
	for range 20 {
		v := cloud.draw()
		one := s.Search(s.Ask(v, s.query(50, nil)), nil)
		four := s.Search(s.Ask(v, s.query(50, nil)), make(Pool, 3))
		if !slices.Equal(one, four) {
			t.Fatalf("one goroutine:\n%v\nfour:\n%v", one, four)
		}
	}
}

func TestDelete(t *testing.T) {
	cloud := newCloud(32, 4, .5)
	s := fill(32, 1000, cloud)
	v := s.originals[123]
	if got := s.Search(s.Ask(v, s.query(1, nil)), nil); got[0].Row != 123 {
		t.Fatalf("nearest is %d", got[0].Row)
	}
	s.Delete(123)
	s.Delete(123)
	s.Delete(1 << 20)
	if s.Len() != 999 {
		t.Errorf("%d rows, want 999", s.Len())
	}
	if got := s.Search(s.Ask(v, s.query(1000, nil)), nil); len(got) != 999 ||
		slices.ContainsFunc(got, func(h Hit) bool { return h.Row == 123 }) {
		t.Errorf("a deleted row is found")
	}
	if _, ok := similarity(s.Store, s.Ask(v, Query{}), 123); ok {
		t.Error("a deleted row has a similarity")
	}
}

func similarity(s *Store, q *Query, row uint32) (sim float64, ok bool) {
	s.Similarities(q, 1, func(int) uint32 { return row }, func(_ int, x float64, found bool) { sim, ok = x, found })
	return sim, ok
}

func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	cloud := newCloud(48, 20, .4)
	s := fill(48, 25_000, cloud)
	other := &shelf{New(48), s.originals}
	for _, i := range rand.New(rand.NewPCG(5, 6)).Perm(len(s.originals)) {
		other.Put(uint32(i), other.Prepare(s.originals[i]))
	}
	for range 20 {
		v := cloud.draw()
		if a, b := s.Search(s.Ask(v, s.query(20, nil)), nil), other.Search(other.Ask(v, other.query(20, nil)), nil); !slices.Equal(a, b) {
			t.Fatalf("%v\n%v", a, b)
		}
	}
}

func TestEmptyAndTies(t *testing.T) {
	s := New(8)
	v := Unit([]float32{1, 2, 3, 4, 5, 6, 7, 8})
	if got := s.Search(s.Ask(v, Query{K: 5}), nil); got != nil {
		t.Errorf("empty store: %v", got)
	}
	for row := range uint32(600) {
		s.Put(row, s.Prepare(v))
	}
	got := s.Search(s.Ask(v,
		Query{K: 3, Tie: func(a, b uint32) int { return int(b) - int(a) }, Exact: func(uint32) []float32 { return v }}), nil)
	if got[0].Row != 599 || got[1].Row != 598 || got[2].Row != 597 {
		t.Errorf("ties: %v", got)
	}
	if Unit([]float32{0, 0}) != nil {
		t.Error("a vector without length is one")
	}
}

func TestSearchWhilePutting(t *testing.T) {
	cloud := newCloud(64, 10, .5)
	originals := make([][]float32, 5000)
	for i := range originals {
		originals[i] = cloud.draw()
	}
	s := New(64)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				q := s.Ask(originals[0], Query{K: 10, Exact: func(r uint32) []float32 { return originals[r] }})
				for _, h := range s.Search(q, nil) {
					if want := Dot(originals[0], originals[h.Row]); h.Sim != want {
						t.Errorf("row %d: %v, want %v", h.Row, h.Sim, want)
						return
					}
				}
			}
		})
	}
	for i, v := range originals {
		s.Put(uint32(i), s.Prepare(v))
		if i%3 == 0 {
			s.Delete(uint32(i / 2))
		}
	}
	close(done)
	wg.Wait()
}

func BenchmarkSearch(b *testing.B) {
	for _, c := range []struct {
		name   string
		n      int
		spread float64
	}{{"10000", 10_000, .5}, {"100000", 100_000, .5}, {"100000 without structure", 100_000, 1e6}, {"1000000", 1_000_000, .5}} {
		n := c.n
		if testing.Short() && n > 100_000 {
			continue
		}
		cloud := newCloud(384, 1000, c.spread)
		s := New(384)
		sample := make([][]float32, 4096) // a million originals are not held: rows share a few thousand
		prepared := make([]Prepared, len(sample))
		for i := range sample {
			sample[i] = cloud.draw()
			prepared[i] = s.Prepare(sample[i])
		}
		for i := range n {
			p := prepared[i%len(prepared)]
			p.factor *= 1 + float32(i)/float32(1<<30) // no two rows alike
			s.Put(uint32(i), p)
		}
		for _, workers := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", c.name, workers), func(b *testing.B) {
				pool := make(Pool, workers-1)
				for i := 0; b.Loop(); i++ {
					q := s.Ask(sample[i%len(sample)], Query{K: 100, Exact: func(r uint32) []float32 { return sample[int(r)%len(sample)] }})
					s.Search(q, pool)
				}
			})
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	s := New(384)
	v := newCloud(384, 1, 1).draw()
	for b.Loop() {
		s.Prepare(v)
	}
}

func BenchmarkDot(b *testing.B) {
	x, y := make([]int8, 384), make([]int8, 384)
	for name, f := range map[string]func(a, b []int8) int32{"chosen": fastest().dot, "portable": dotGeneric} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f(x, y)
			}
		})
	}
}

// TestOriginalsOnlyWhereInDoubt: the ten nearest are those of an exact search, although most of the forty candidates
// are decided without their originals.
func TestOriginalsOnlyWhereInDoubt(t *testing.T) {
	c := newCloud(64, 100, .5)
	s := fill(64, 5000, c)
	asked, most := 0, 0
	for range 50 {
		v := c.draw()
		q := s.query(100, nil)
		q.Precise, q.Sure = 40, 10
		q.Exact = func(row uint32) []float32 {
			asked++
			return s.originals[row]
		}
		most += 40
		got := s.Search(s.Ask(v, q), nil)
		for i, want := range s.exact(v, 10, nil) {
			if got[i] != want {
				t.Fatalf("place %d is %v, want %v", i, got[i], want)
			}
		}
	}
	if asked > most/2 || asked < most/4 {
		t.Errorf("%d of %d originals were asked for", asked, most)
	}
}
