package vector

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// An Assignment says which partition each row belongs to. To compute it takes 3 µs a row, so a start reads it from a
// file.
type Assignment struct {
	Sum [sha256.Size]byte // of the Partition; zero: rows are not divided
	Of  []uint16          // by row, or from one row on
}

// Unassigned is the partition of a row that has no vector or whose partition is not known.
const Unassigned = ^uint16(0)

// assignmentVersion is raised when a release assigns rows to other partitions, or numbers partitions otherwise.
const assignmentVersion = 1

// sum identifies a partition.
func (p *Partition) sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, n := range []int{assignmentVersion, p.Rows, p.Slack, len(p.Groups), len(p.Centroids)} {
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

// Division returns the checksum of the Partition that divides the rows; zero: they are not divided.
func (s *Store) Division() (sum [sha256.Size]byte) {
	if parts := s.parts.Load(); parts != nil {
		sum = parts.sum
	}
	return sum
}

// Assignment returns the assignment of the rows from a number on that are below another. Any goroutine may call it;
// rows that are put or deleted meanwhile may be left out, and so may some that came before older ones.
func (s *Store) Assignment(from, to uint32) (a Assignment) {
	parts := s.parts.Load()
	if parts == nil {
		return a
	}
	a.Sum, a.Of = parts.sum, slices.Repeat([]uint16{Unassigned}, int(to-from))
	for n := range parts.lists {
		list := *parts.lists[n].Load()
		for i := len(list) - 1; i >= 0 && list[i] >= from; i-- {
			if list[i] < to {
				a.Of[list[i]-from] = uint16(n)
			}
		}
	}
	return a
}
