package vector

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// Partitions is into how many parts Learn divides the vectors of a store.
	Partitions = 256
	// PartitionedRows is how many vectors a store has at least when a question looks at some of its partitions only.
	PartitionedRows = 50_000

	widest     = Partitions / 2 // a question whose filters would have it look at more than so many looks at all vectors
	answersFor = 100            // as many answers as the vectors compared suffice for; a question for more compares more
)

// A Partition is what Learn has found: where vectors lie, and how many partitions a question has to look at. Stores that hold the same
// vectors and are given the same partition answer alike.
type Partition struct {
	Rows      int    // vectors that were there
	Probe     int    // partitions that a question looks at, the nearest first; 0: all vectors are compared
	Least     int    // rows that pass its filters it looks at as well, if it has filters
	Centroids []int8 // Partitions times the dimension; none if Probe is 0
}

// partitions are the rows of a store by the centroid they lie nearest to. One goroutine adds to them.
type partitions struct {
	centroids    []int8            // each padded as the forms of rows are
	weight       [Partitions]int64 // 2^30 over the length of each: a product times it orders as the cosine does
	probe, least int               // see Partition
	lists        [Partitions]atomic.Pointer[[]uint32]
	dead         int // rows of lists that were deleted
}

// Partition divides the rows that there are, and those that come, as p says; nil is not to divide them. It returns when all have been
// assigned. It is called as Put is.
func (s *Store) Partition(p *Partition) {
	if p == nil || p.Probe <= 0 || len(p.Centroids) != Partitions*s.dim {
		s.parts.Store(nil)
		return
	}
	n := &partitions{probe: p.Probe, least: p.Least}
	n.place(s, p.Centroids)
	table := *s.blocks.Load()
	assigned := make([]uint8, len(table)*blockRows)
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for at := w; at < len(table); at += workers {
				s.assign(n, table, at, assigned)
			}
		})
	}
	wg.Wait()
	lists := [Partitions][]uint32{}
	for at := range table {
		eachLive(table[at], func(slot int) {
			row := at*blockRows + table[at].row(slot)
			lists[assigned[row]] = append(lists[assigned[row]], uint32(row))
		})
	}
	for i := range lists {
		n.lists[i].Store(&lists[i])
	}
	s.parts.Store(n)
}

// place takes centroids of the store's dimension.
func (p *partitions) place(s *Store, centroids []int8) {
	p.centroids = make([]int8, Partitions*s.padded)
	for i := range Partitions {
		copy(p.centroids[i*s.padded:], centroids[i*s.dim:(i+1)*s.dim])
		p.weigh(s, i)
	}
}

// weigh sets the weight of a centroid. Of one without length no row is nearer to it than to another.
func (p *partitions) weigh(s *Store, i int) {
	c := p.centroids[i*s.padded : (i+1)*s.padded]
	if p.weight[i] = 0; s.kernels.dot(c, c) != 0 {
		p.weight[i] = 1 << 40 / root(uint64(s.kernels.dot(c, c))<<20)
	}
}

// root is the whole part of a square root.
func root(n uint64) int64 {
	r := uint64(1) << ((bits.Len64(n) + 1) / 2) // not below it
	for {
		next := (r + n/r) / 2
		if next >= r {
			return int64(r)
		}
		r = next
	}
}

func (s *Store) assign(p *partitions, table []*block, at int, into []uint8) {
	b := table[at]
	eachLive(b, func(slot int) {
		into[at*blockRows+b.row(slot)] = p.nearest(s, b.int8s[slot*s.padded:(slot+1)*s.padded])
	})
}

// eachLive gives the live slots of a block in order.
func eachLive(b *block, f func(slot int)) {
	if b == nil {
		return
	}
	for w := range b.live {
		for live := b.live[w].Load(); live != 0; live &= live - 1 {
			f(w*64 + bits.TrailingZeros64(live))
		}
	}
}

// nearest is the partition that a vector belongs to: a function of whole numbers, so that every replica finds the same.
func (p *partitions) nearest(s *Store, int8s []int8) (n uint8) {
	best := p.nearness(s, int8s, 0)
	for i := 1; i < Partitions; i++ {
		if near := p.nearness(s, int8s, i); near > best {
			n, best = uint8(i), near
		}
	}
	return n
}

func (p *partitions) nearness(s *Store, int8s []int8, i int) int64 {
	return int64(s.kernels.dot(int8s, p.centroids[i*s.padded:(i+1)*s.padded])) * p.weight[i]
}

// order is of the partitions, the nearest to a vector first.
func (p *partitions) order(s *Store, int8s []int8) (order [Partitions]uint8) {
	var near [Partitions]int64
	for i := range near {
		near[i], order[i] = p.nearness(s, int8s, i), uint8(i)
	}
	slices.SortFunc(order[:], func(a, b uint8) int {
		return cmp.Or(cmp.Compare(near[b], near[a]), cmp.Compare(a, b))
	})
	return order
}

// add assigns a row that came.
func (p *partitions) add(s *Store, row uint32, int8s []int8) {
	list := &p.lists[p.nearest(s, int8s)]
	grown := append(*list.Load(), row) // searches under way have the shorter one
	list.Store(&grown)
}

// deleted counts a row that went, and takes such rows out of the lists when they are half of them.
func (p *partitions) deleted(s *Store) {
	if p.dead++; p.dead <= s.Len() {
		return
	}
	p.dead = 0
	for i := range p.lists {
		var left []uint32
		for _, row := range *p.lists[i].Load() {
			if s.Has(row) {
				left = append(left, row)
			}
		}
		p.lists[i].Store(&left)
	}
}

// deep is how many times more a question looks at that is to have more answers than most.
func deep(k int) int { return max(1, (k+answersFor-1)/answersFor) }

// byPartitions compares the int8 forms of the rows in the partitions nearest to the question: in so many as Learn has measured, and in
// more while filters leave fewer rows than those have. ok is false when they leave so few that all rows are to be looked at.
//
// What is compared are whole partitions, in an order that whole numbers make: it is the same on every replica.
func (s *Store) byPartitions(q *Query, p *partitions, c *scratch, keep int) (hits []Hit, ok bool) {
	top := newBest(q, keep)
	probe, need, seen := p.probe*deep(q.K), 0, 0
	if q.Keep != nil {
		need = p.least * deep(q.K)
	}
	for i, n := range p.order(s, q.int8s) {
		if i >= probe {
			if seen >= need {
				break
			}
			if seen*widest < need*i {
				return nil, false
			}
		}
		c.order = c.order[:0]
		for _, row := range *p.lists[n].Load() {
			if q.Below == 0 || row < q.Below {
				c.order = append(c.order, row)
			}
		}
		slots := c.order[:0]
		for _, row := range q.keep(c.order) {
			if at := int(row / blockRows); at < len(q.blocks) && q.blocks[at] != nil {
				if slot, live := q.blocks[at].slot(int(row % blockRows)); live {
					slots = append(slots, uint32(at*blockRows+slot))
				}
			}
		}
		s.compare(q, &top, slots, slots)
		seen += len(slots)
	}
	top.cut()
	return top.hits, true
}
