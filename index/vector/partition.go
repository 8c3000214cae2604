package vector

import (
	"crypto/sha256"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cairndb/cairn/oplog"
)

const (
	// PartitionedRows is the least number of vectors of a store in which a question looks at some partitions only.
	PartitionedRows = 50_000

	nearGroups = 8 // groups whose centroids a row is compared with
)

// A Partition is the result of Learn: centroids of the vectors, and how far from a question a search has to look.
// Stores with the same vectors and the same partition answer alike.
type Partition struct {
	Rows      int    // vectors that were there
	Groups    []int8 // centroids of groups of centroids, each of the store's dimension
	Centroids []int8 // a centroid for each partition; none: all vectors are compared
	Slack     int    // in thousandths of a cosine: how much farther than a row that is wanted a partition's centroid may lie
}

// valid reports whether a partition fits a store of this dimension.
func (p *Partition) valid(dim int) bool {
	parts, groups := len(p.Centroids)/dim, len(p.Groups)/dim
	return len(p.Centroids) == parts*dim && len(p.Groups) == groups*dim && groups > 0 && groups <= parts && parts <= oplog.MaxPartitions
}

// centroids are int8 forms, one after the other, and a weight for each: 2^30 over its length. A product times the
// weight orders as the cosine does.
type centroids struct {
	int8s  []int8 // each padded as the forms of rows are
	weight []int64
}

// partitions holds the rows of a store by their nearest centroid. One goroutine adds rows.
type partitions struct {
	groups, fine centroids
	first        []int             // of each group: its centroids in fine; one more at the end
	sum          [sha256.Size]byte // of the Partition
	slack        float64           // see Partition
	lists        []atomic.Pointer[[]uint32]
	dead         int // rows of lists that were deleted
	putAssigner  *assigner
}

// Partition divides the rows, now and later, by p; nil ends the division. It returns when all rows are assigned. Rows
// that known assigns for the same p are not compared with the centroids again. It is called as Put is.
func (s *Store) Partition(p *Partition, known Assignment) {
	if p == nil || !p.valid(s.dim) {
		s.parts.Store(nil)
		return
	}
	n := s.newPartitions(p)
	if known.Sum != n.sum {
		known.Of = nil
	}
	table := *s.blocks.Load()
	assigned := make([]uint16, len(table)*blockRows)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			a := n.assigner(s)
			for at := int(next.Add(1)) - 1; at < len(table); at = int(next.Add(1)) - 1 {
				eachLive(table[at], func(slot int) {
					row := at*blockRows + table[at].row(slot)
					if row < len(known.Of) && int(known.Of[row]) < len(n.lists) {
						assigned[row] = known.Of[row]
						return
					}
					assigned[row] = a.of(table[at].int8s[slot*s.padded : (slot+1)*s.padded])
				})
			}
		})
	}
	wg.Wait()
	n.gather(table, assigned)
	s.parts.Store(n)
}

// gather makes the lists of rows.
func (p *partitions) gather(table []*block, assigned []uint16) {
	sizes := make([]int, len(p.lists))
	for at, b := range table {
		eachLive(b, func(slot int) { sizes[assigned[at*blockRows+b.row(slot)]]++ })
	}
	lists := make([][]uint32, len(p.lists))
	for i, n := range sizes {
		lists[i] = make([]uint32, 0, n)
		p.lists[i].Store(&lists[i])
	}
	for at, b := range table {
		eachLive(b, func(slot int) {
			row := at*blockRows + b.row(slot)
			lists[assigned[row]] = append(lists[assigned[row]], uint32(row))
		})
	}
}

// newPartitions copies the centroids of a partition, those of a group next to each other.
func (s *Store) newPartitions(p *Partition) *partitions {
	n := &partitions{groups: s.centroids(p.Groups), sum: p.sum(), slack: float64(p.Slack) / 1000}
	fine := s.centroids(p.Centroids)
	group := make([]int, len(fine.weight))
	order := make([]int, len(fine.weight))
	near := nearness{}
	for i := range order {
		order[i] = i
		near.of(s, &n.groups, fine.at(s, i), 0, len(n.groups.weight))
		for g, v := range near.near {
			if v > near.near[group[i]] {
				group[i] = g
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return group[a] - group[b] })
	n.first = make([]int, len(n.groups.weight)+1)
	for at, i := range order {
		n.fine.int8s = append(n.fine.int8s, fine.at(s, i)...)
		n.fine.weight = append(n.fine.weight, fine.weight[i])
		n.first[group[i]+1] = at + 1
	}
	for g := range n.groups.weight {
		n.first[g+1] = max(n.first[g], n.first[g+1])
	}
	n.lists = make([]atomic.Pointer[[]uint32], len(order))
	n.putAssigner = n.assigner(s)
	return n
}

// centroids pads int8 forms of the store's dimension, and weighs them.
func (s *Store) centroids(int8s []int8) centroids {
	c := centroids{make([]int8, len(int8s)/s.dim*s.padded), make([]int64, len(int8s)/s.dim)}
	for i := range c.weight {
		copy(c.at(s, i), int8s[i*s.dim:(i+1)*s.dim])
		c.weigh(s, i)
	}
	return c
}

func (c *centroids) at(s *Store, i int) []int8 { return c.int8s[i*s.padded : (i+1)*s.padded] }

// weigh sets the weight of a centroid: 0 for one without length, to which no row is nearer than to another.
func (c *centroids) weigh(s *Store, i int) {
	v := c.at(s, i)
	if c.weight[i] = 0; s.kernels.dot(v, v) != 0 {
		c.weight[i] = 1 << 40 / isqrt(uint64(s.kernels.dot(v, v))<<20)
	}
}

// isqrt returns the whole part of a square root.
func isqrt(n uint64) int64 {
	r := uint64(1) << ((bits.Len64(n) + 1) / 2) // not below it
	for {
		next := (r + n/r) / 2
		if next >= r {
			return int64(r)
		}
		r = next
	}
}

// nearness holds how near a vector is to some centroids: whole numbers, so that every replica finds the same.
type nearness struct {
	dots []int32
	near []int64
}

func (n *nearness) of(s *Store, c *centroids, int8s []int8, from, to int) {
	n.dots = slices.Grow(n.dots[:0], to-from)[:to-from]
	n.near = slices.Grow(n.near[:0], to-from)[:to-from]
	s.kernels.dots(int8s, c.int8s[from*s.padded:to*s.padded], n.dots)
	for i, dot := range n.dots {
		n.near[i] = int64(dot) * c.weight[from+i]
	}
}

// An assigner finds the partitions of rows. One goroutine uses it.
type assigner struct {
	s *Store
	p *partitions
	nearness
}

func (p *partitions) assigner(s *Store) *assigner { return &assigner{s: s, p: p} }

// of returns the partition of a vector: the nearest centroid in the groups nearest to it, the first of equals.
func (a *assigner) of(int8s []int8) (n uint16) {
	a.nearness.of(a.s, &a.p.groups, int8s, 0, len(a.p.groups.weight))
	var groups [nearGroups]int
	var nears [nearGroups]int64
	found := 0
	for g, near := range a.near {
		if a.p.first[g] == a.p.first[g+1] || found == nearGroups && near <= nears[nearGroups-1] {
			continue
		}
		found = min(found+1, nearGroups)
		at := found - 1
		for ; at > 0 && nears[at-1] < near; at-- {
			groups[at], nears[at] = groups[at-1], nears[at-1]
		}
		groups[at], nears[at] = g, near
	}
	slices.Sort(groups[:found])
	var best int64
	for i, g := range groups[:found] {
		from := a.p.first[g]
		a.nearness.of(a.s, &a.p.fine, int8s, from, a.p.first[g+1])
		for at, near := range a.near {
			if near > best || i+at == 0 {
				n, best = uint16(from+at), near
			}
		}
	}
	return n
}

// eachLive calls f with the live slots of a block, in order.
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

// add assigns a row that came.
func (p *partitions) add(row uint32, int8s []int8) {
	list := &p.lists[p.putAssigner.of(int8s)]
	grown := append(*list.Load(), row) // searches under way have the shorter one
	list.Store(&grown)
}

// deleted counts a deleted row, and removes such rows from the lists when they are half of them.
func (p *partitions) deleted(s *Store) {
	if p.dead++; p.dead <= s.Len() {
		return
	}
	p.dead = 0
	for i := range p.lists {
		var live []uint32
		for _, row := range *p.lists[i].Load() {
			if s.Has(row) {
				live = append(live, row)
			}
		}
		p.lists[i].Store(&live)
	}
}
