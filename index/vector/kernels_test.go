package vector

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKernelsAgree: the portable inner loops and those of this processor return the same sums, for all paddings of
// dimensions.
func TestKernelsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	t.Logf("this processor: %s", fastest().name)
	for _, dim := range []int{1, 63, 64, 65, 100, 384, 768, 1025, 8192} {
		s := New(dim)
		cloud := newCloud(dim, 3, .7)
		for row := range uint32(300) {
			s.Put(row, s.Prepare(cloud.draw()))
		}
		rotated := append([]float32(nil), cloud.draw()...)
		s.rotation.apply(rotated)
		q := &Query{table: newTable(rotated, s.columns, true)}
		for at, b := range *s.blocks.Load() {
			for group := range groups {
				live := uint32(b.live[group/2].Load() >> (group % 2 * 32))
				var one, other [groupRows]uint16
				portable.scan(s, q, b, group, live, &one)
				fastest().scan(s, q, b, group, live, &other)
				for i := range groupRows {
					if live>>i&1 == 1 && one[i] != other[i] {
						t.Fatalf("dimension %d block %d group %d slot %d: %d, want %d", dim, at, group, i, other[i], one[i])
					}
				}
			}
		}
	}
}

// TestPortableAnswersAlike: the portable kernels return the same rows and bits as the assembly.
func TestPortableAnswersAlike(t *testing.T) {
	cloud := newCloud(100, 50, .6)
	s := fill(100, DirectRows+5000, cloud)
	for i := range 40 {
		v, k := cloud.draw(), 1+i
		s.kernels = fastest()
		want := s.Search(s.Ask(v, s.query(k, nil)), nil)
		s.kernels = portable
		if got := s.Search(s.Ask(v, s.query(k, nil)), nil); !slices.Equal(got, want) {
			t.Fatalf("portable:\n%v\n%s:\n%v", got, fastest().name, want)
		}
	}
}

// TestEstimate: the estimates from codes are as close to the cosines as the search assumes.
func TestEstimate(t *testing.T) {
	const dim, n = 384, 2000
	cloud := newCloud(dim, 20, 1)
	s := fill(dim, n, cloud)
	v := cloud.draw()
	rotated := slices.Clone(v)
	s.rotation.apply(rotated)
	q := s.Ask(v, Query{})
	q.table = newTable(rotated, s.columns, true)
	far := 0
	for row := range n {
		b, slot := q.blocks[row/blockRows], row%blockRows
		var sums [groupRows]uint16
		portable.scan(s.Store, q, b, slot/groupRows, 1<<(slot%groupRows), &sums)
		got := (float64(sums[slot%groupRows])*float64(q.table.step) + float64(q.table.offset)) * float64(b.factor[slot])
		if d := got - Dot(v, s.originals[row]); d > s.slack() || d < -s.slack() {
			far++
		}
	}
	if far > n/100 {
		t.Errorf("%d of %d estimates are further off than %.3f", far, n, s.slack())
	}
}

// TestPacking: a store frees the memory of dead rows and answers as before, also while rows come back.
func TestPacking(t *testing.T) {
	const dim, n = 64, 30_000
	cloud := newCloud(dim, 40, .6)
	s, same := fill(dim, n, cloud), New(dim)
	full := s.Bytes()
	rng := rand.New(rand.NewPCG(6, 7))
	for _, row := range rng.Perm(n) {
		if row%5 != 0 || row < 2000 {
			s.Delete(uint32(row))
		}
	}
	for row := range n {
		if row%5 == 0 && row >= 2000 {
			same.Put(uint32(row), same.Prepare(s.originals[row]))
		}
	}
	if s.Len() != same.Len() {
		t.Fatalf("%d rows, want %d", s.Len(), same.Len())
	}
	if got := s.Bytes(); got > full*45/100 {
		t.Errorf("%d bytes for a fifth of the rows, %d for all", got, full)
	}
	alike := func() {
		t.Helper()
		for range 20 {
			v := cloud.draw()
			got, want := s.Search(s.Ask(v, s.query(30, nil)), nil), same.Search(same.Ask(v, s.query(30, nil)), nil)
			if !slices.Equal(got, want) {
				t.Fatalf("packed:\n%v\nfresh:\n%v", got, want)
			}
			for _, h := range want {
				q := s.Ask(v, Query{})
				a, ok := similarity(s.Store, q, h.Row)
				b, _ := similarity(same, same.Ask(v, Query{}), h.Row)
				if !ok || a != b {
					t.Fatalf("row %d: %v %v, want %v", h.Row, a, ok, b)
				}
			}
		}
	}
	alike()
	for _, row := range []uint32{1, 7, 2001, 2002, 2003, 20_001} { // in an empty block, in packed ones
		s.Put(row, s.Prepare(s.originals[row]))
		same.Put(row, same.Prepare(s.originals[row]))
	}
	alike()
}

// Bytes returns about how many bytes the store holds in memory.
func (s *Store) Bytes() (n int) {
	for _, b := range *s.blocks.Load() {
		if b != nil {
			n += b.slots * (s.columns + s.padded + 8)
		}
	}
	if p := s.parts.Load(); p != nil {
		for i := range p.lists {
			n += 4 * cap(*p.lists[i].Load())
		}
	}
	return n
}
