package vector

import (
	"slices"
	"testing"
)

// TestAssignment: a store uses another's assignment for the same partition. It assigns rows itself that the
// assignment lacks, and all rows if the assignment is of another partition.
func TestAssignment(t *testing.T) {
	const n, dim = 1000, 8
	cloud := newCloud(dim, 20, .5)
	s := fill(dim, n, cloud)
	p := &Partition{Rows: n, Slack: 500}
	for row := range 16 {
		int8s := s.Prepare(s.originals[row]).int8s
		if p.Centroids = append(p.Centroids, int8s[:dim]...); row < 4 {
			p.Groups = append(p.Groups, int8s[:dim]...)
		}
	}
	if a := s.Assignment(0, n); a.Of != nil {
		t.Fatalf("rows that nothing divides have %+v", a)
	}
	s.Partition(p, Assignment{})
	want := s.Assignment(0, n)
	if len(want.Of) != n || slices.Contains(want.Of, Unassigned) {
		t.Fatalf("got %+v", want)
	}
	if got := s.Assignment(n/2, n-10); !slices.Equal(got.Of, want.Of[n/2:n-10]) {
		t.Error("a part differs from the whole")
	}
	late := fill(dim, 0, cloud)
	for row, v := range s.originals {
		late.Put(uint32(row), late.Prepare(v))
	}
	of := func(p *Partition, known Assignment) []uint16 {
		late.Partition(p, known)
		return late.Assignment(0, n).Of
	}
	elsewhere := Assignment{want.Sum, slices.Clone(want.Of)}
	elsewhere.Of[7] = (elsewhere.Of[7] + 1) % 16
	if got := of(p, elsewhere); !slices.Equal(got, elsewhere.Of) {
		t.Error("what is known is found out again")
	}
	part := Assignment{want.Sum, slices.Clone(want.Of[:n/2])}
	part.Of[8], part.Of[9] = Unassigned, 16
	if got := of(p, part); !slices.Equal(got, want.Of) {
		t.Error("what is not known is not found out")
	}
	other := *p
	other.Slack++
	if got := of(&other, elsewhere); !slices.Equal(got, want.Of) {
		t.Error("another partition's rows are taken")
	}
}
