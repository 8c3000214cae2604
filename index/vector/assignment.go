package vector

import (
	"crypto/sha256"
	"encoding/binary"
)

// An Assignment says which partition rows belong to. Finding that out again takes 3 µs a row, so that a start reads
// it from a file.
type Assignment struct {
	Sum [sha256.Size]byte // of what divides them; zero: nothing does
	Of  []uint16          // by row
}

// Unassigned is the partition of a row of which it is not known, or that has no vector.
const Unassigned = ^uint16(0)

// assignedAs is raised when rows come to other partitions, or partitions get other numbers.
const assignedAs = 1

// sum tells one partition from another.
func (p *Partition) sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, n := range []int{assignedAs, p.Rows, p.Slack, len(p.Groups), len(p.Centroids)} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	for _, int8s := range [][]int8{p.Groups, p.Centroids} {
		raw := make([]byte, len(int8s))
		for i, x := range int8s {
			raw[i] = byte(x)
		}
		h.Write(raw)
	}
	h.Sum(sum[:0])
	return sum
}

// Assignment returns the assignment of the rows below a number. Any goroutine may call it; rows that are put or
// deleted meanwhile may be left out.
func (s *Store) Assignment(rows uint32) (a Assignment) {
	parts := s.parts.Load()
	if parts == nil {
		return a
	}
	a.Sum, a.Of = parts.sum, make([]uint16, rows)
	for row := range a.Of {
		a.Of[row] = Unassigned
	}
	for n := range parts.lists {
		for _, row := range *parts.lists[n].Load() {
			if row < rows {
				a.Of[row] = uint16(n)
			}
		}
	}
	return a
}
