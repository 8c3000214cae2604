package vector

import (
	"math"
	"math/bits"
	"slices"
	"sync"
)

const (
	DirectRows    = 20_000 // up to here every row's int8 form is compared
	codesPerForm  = 40     // codes read in the time of comparing one int8 form that is not in the processor's cache
	minCoded      = 1024   // rows that codes leave for int8, at least
	minExact      = 64     // rows that int8 leaves for float32, at least
	checkRows     = 256    // int8 forms compared before each check whether the rest can be left out
	loadAhead     = 8      // int8 forms prefetched ahead: they lie in random places of the memory
	estimateSteps = 2048   // number of steps of an estimate, each a thousandth of a cosine
)

// codesKeep returns how many of n rows the codes leave for int8. Without any structure in the data the nearest of n
// rows stand out from the rest by little more than the error of an estimate: 16·√n had 98.6 % of the nearest ten of a
// million, this has 99.
func codesKeep(n int) int { return max(minCoded, int(24*math.Sqrt(float64(n)))) }

// A Query asks for the K nearest rows.
type Query struct {
	K int
	// Precise bounds the rows that are ordered by their originals; 0 means twice K. Rows whose int8 forms show that
	// they are not among the Sure ones are left out. The rest keep their int8 score.
	Precise int
	// Sure is the number of answers that have to be the nearest of all rows when rows are divided; 0 means K. The
	// rest are the nearest of the rows that were compared.
	Sure int
	// Below hides rows from this number on; 0 hides none.
	Below uint32
	// Keep removes rows that the filter rejects, in place; nil rejects none. Several goroutines call it, for every
	// row before anything is computed.
	Keep func(rows []uint32) []uint32
	// Among holds lists that contain every row that Keep keeps, and may contain others; nil: any row may be kept.
	// Most bounds the number of rows that Keep keeps; a search chooses its method by it.
	Among [][]uint32
	Most  int
	// Tie orders rows of equal score, negative for a first; rows it finds equal go by number.
	Tie func(a, b uint32) int
	// Exact returns the original of a row at unit length, or nil if its owner no longer has it: the row keeps its
	// int8 score. One goroutine calls it, for rows in ascending order.
	Exact func(row uint32) []float32

	unit   []float32
	int8s  []int8
	scale  float32
	table  *table
	blocks []*block
}

// Ask prepares a query with a vector of unit length and the store's dimension.
func (s *Store) Ask(unit []float32, q Query) *Query {
	q.unit, q.int8s, q.blocks = unit, make([]int8, s.padded), *s.blocks.Load()
	q.scale = quantise(unit, q.int8s)
	return &q
}

// scratch holds the buffers of one search. The store's pool lends them to the next.
type scratch struct {
	kept      []uint64 // by slot: alive and kept
	step      []uint16 // by slot: its estimate, 0 when it is out
	perWorker [maxWorkers]struct {
		kept  int
		rows  [blockRows]uint32
		steps [estimateSteps]int
		found []uint32
	}
	order []uint32

	near       nearness // of partitions
	partitions []uint16
}

type scratchPool struct{ sync.Pool }

func (p *scratchPool) get(blocks int) *scratch {
	c, _ := p.Get().(*scratch)
	if c == nil {
		c = &scratch{}
	}
	c.kept = slices.Grow(c.kept[:0], blocks*blockRows/64)[:blocks*blockRows/64]
	for i := range c.perWorker {
		n := &c.perWorker[i]
		n.kept, n.steps, n.found = 0, [estimateSteps]int{}, n.found[:0]
	}
	return c
}

// Search returns the nearest rows, nearest first.
func (s *Store) Search(q *Query, pool Pool) []Hit {
	if s.Len() < PartitionedRows {
		return s.search(q, pool, nil)
	}
	return s.search(q, pool, s.parts.Load())
}

func (s *Store) search(q *Query, pool Pool, parts *partitions) []Hit {
	if s.Len() == 0 || q.K <= 0 {
		return nil
	}
	precise := q.Precise
	if precise == 0 {
		precise = max(minExact, 2*q.K)
	}
	c := s.scratch.get(len(q.blocks))
	hits := s.candidates(q, pool, parts, c, max(precise, q.K))
	s.scratch.Put(c)
	slices.SortFunc(hits, q.compare)
	if q.Exact != nil {
		s.rescore(q, hits[:s.needOriginals(q, hits[:min(precise, len(hits))])])
		slices.SortFunc(hits, q.compare)
	}
	return hits[:min(len(hits), q.K)]
}

// candidates returns the best rows by their int8 forms: keep of them, if there are as many.
func (s *Store) candidates(q *Query, pool Pool, parts *partitions, c *scratch, keep int) []Hit {
	if parts != nil && (q.Among == nil || q.Most > s.mostDirect(q.Most)) {
		if hits, ok := s.searchPartitions(q, parts, c, keep); ok {
			return hits
		}
	}
	ws := startWorkers(pool, s.Len())
	defer ws.stop()
	if n := s.selectSlots(q, c, ws); n > s.mostDirect(n) {
		return s.searchCodes(q, c, ws, keep, n)
	}
	return s.compareDirect(q, c, ws, keep)
}

// mostDirect returns the largest number of chosen rows that are compared by their int8 forms alone, without codes. In
// a large store the int8 forms lie in random places, so comparing one takes as long as reading forty codes, which lie
// side by side.
func (s *Store) mostDirect(n int) int {
	if all := s.Len(); all >= PartitionedRows {
		return min(DirectRows, all/codesPerForm+codesKeep(n))
	}
	return DirectRows
}

// selectSlots marks the slots that are alive and pass the filters, and counts them.
func (s *Store) selectSlots(q *Query, c *scratch, ws workers) (n int) {
	if q.Among != nil {
		listed := 0
		for _, rows := range q.Among {
			listed += len(rows)
		}
		if listed < s.Len()/2 {
			return q.selectAmong(c)
		}
	}
	ws.each(len(q.blocks), func(worker, from, to int) {
		for at := from; at < to; at++ {
			kept := c.kept[at*blockRows/64:][:blockRows/64]
			b := q.blocks[at]
			if b == nil {
				clear(kept)
				continue
			}
			if q.Keep == nil && (q.Below == 0 || uint32((at+1)*blockRows) <= q.Below) {
				for w := range b.live {
					kept[w] = b.live[w].Load()
					c.perWorker[worker].kept += bits.OnesCount64(kept[w])
				}
				continue
			}
			rows := q.matching(b, uint32(at*blockRows), c.perWorker[worker].rows[:0])
			clear(kept)
			for _, row := range rows {
				slot := b.place(int(row % blockRows))
				kept[slot/64] |= 1 << (slot % 64)
			}
			c.perWorker[worker].kept += len(rows)
		}
	})
	for i := range c.perWorker {
		n += c.perWorker[i].kept
	}
	return n
}

// selectAmong is like selectSlots, but considers only the rows of the query's lists.
func (q *Query) selectAmong(c *scratch) (n int) {
	clear(c.kept)
	for _, rows := range q.Among {
		for chunk := range slices.Chunk(rows, blockRows) {
			for _, row := range q.keep(append(c.perWorker[0].rows[:0], chunk...)) {
				at := int(row / blockRows)
				if q.Below != 0 && row >= q.Below || at >= len(q.blocks) || q.blocks[at] == nil {
					continue
				}
				if slot, live := q.blocks[at].slot(int(row % blockRows)); live {
					c.kept[at*blockRows/64+slot/64] |= 1 << (slot % 64)
				}
			}
		}
	}
	for _, kept := range c.kept {
		n += bits.OnesCount64(kept)
	}
	return n
}

// matching appends the rows of a block that are alive and pass the filters. first is the number of the block's first
// row.
func (q *Query) matching(b *block, first uint32, rows []uint32) []uint32 {
	eachLive(b, func(slot int) {
		if row := first + uint32(b.row(slot)); q.Below == 0 || row < q.Below {
			rows = append(rows, row)
		}
	})
	return q.keep(rows)
}

func (q *Query) keep(rows []uint32) []uint32 {
	if q.Keep == nil {
		return rows
	}
	return q.Keep(rows)
}

// compareDirect compares the int8 forms of all chosen slots. A total order merges what the goroutines find, so their
// timing does not show.
func (s *Store) compareDirect(q *Query, c *scratch, ws workers, keep int) []Hit {
	found := make([]best, ws.size)
	for i := range found {
		found[i] = newBest(q, keep)
	}
	ws.each(len(q.blocks), func(worker, from, to int) {
		slots := c.perWorker[worker].found[:0]
		for w, kept := range c.kept[from*blockRows/64 : to*blockRows/64] {
			for ; kept != 0; kept &= kept - 1 {
				slots = append(slots, uint32(from*blockRows+w*64+bits.TrailingZeros64(kept)))
			}
		}
		c.perWorker[worker].found = slots
		top := found[worker] // of this goroutine's own cache lines
		s.compare(q, &top, slots, slots)
		found[worker] = top
	})
	all := &found[0]
	for _, f := range found[1:] {
		all.hits = append(all.hits, f.hits...)
	}
	all.cut()
	return all.hits
}

// searchCodes estimates the n chosen rows by their codes, and compares the int8 forms of those with the best
// estimates, from the top down, until the rest is too far below the rows found.
func (s *Store) searchCodes(q *Query, c *scratch, ws workers, keep, n int) []Hit {
	rotated := append(make([]float32, 0, s.dim), q.unit...)
	s.rotation.apply(rotated)
	q.table = newTable(rotated, s.columns, s.kernels.bytes)
	c.step = slices.Grow(c.step[:0], len(q.blocks)*blockRows)[:len(q.blocks)*blockRows]
	ws.each(len(q.blocks), func(worker, from, to int) {
		for at := from; at < to; at++ {
			s.estimate(q, q.blocks[at], c.kept[at*blockRows/64:], c.step[at*blockRows:][:blockRows], &c.perWorker[worker].steps)
		}
	})
	var all [estimateSteps]int
	for w := range c.perWorker {
		for i, k := range c.perWorker[w].steps {
			all[i] += k
		}
	}
	last, taken := estimateSteps, 0
	for want := max(codesKeep(n), 2*keep); taken < want && last > 1; taken += all[last] {
		last--
	}
	ws.each(len(q.blocks), func(worker, from, to int) {
		found := c.perWorker[worker].found
		for i, step := range c.step[from*blockRows : to*blockRows] {
			if int(step) >= last {
				found = append(found, uint32(from*blockRows+i))
			}
		}
		c.perWorker[worker].found = found
	})
	return s.compareAll(q, c, &all, last, taken, keep)
}

// estimate writes the steps of a block's slots.
func (s *Store) estimate(q *Query, b *block, kept []uint64, into []uint16, count *[estimateSteps]int) {
	clear(into)
	if b == nil {
		return
	}
	var sums [groupRows]uint16
	for group := range b.slots / groupRows {
		live := uint32(kept[group/2] >> (group % 2 * 32))
		if live == 0 {
			continue
		}
		s.kernels.scan(s, q, b, group, live, &sums)
		for ; live != 0; live &= live - 1 {
			i := bits.TrailingZeros32(live)
			signs := float32(float32(sums[i])*q.table.step) + q.table.offset
			step := min(max(int((float32(signs*b.factor[group*groupRows+i])+1)*(estimateSteps/2)), 1), estimateSteps-1)
			into[group*groupRows+i] = uint16(step)
			count[step]++
		}
	}
}

// slack returns how far an estimate may lie below the cosine: three times the deviation of its error, which comes
// from the part of a vector that its signs leave out.
func (s *Store) slack() float64 { return 2.28 / math.Sqrt(float64(s.dim)) }

// compareAll compares the int8 forms of the found slots, the step with the highest estimates first.
func (s *Store) compareAll(q *Query, c *scratch, all *[estimateSteps]int, last, taken, keep int) []Hit {
	c.order = slices.Grow(c.order[:0], taken)[:taken]
	var next [estimateSteps]int // where a step's slots go: the highest first
	for i, at := estimateSteps-1, 0; i >= last; i-- {
		next[i], at = at, at+all[i]
	}
	for w := range c.perWorker {
		for _, at := range c.perWorker[w].found {
			step := c.step[at]
			c.order[next[step]] = at
			next[step]++
		}
	}
	top := newBest(q, keep)
	for i, at, checked := estimateSteps-1, 0, 0; i >= last; i-- {
		if at >= checked+max(checkRows, q.K) { // whole steps: which rows are left out does not depend on the order within one
			checked = at
			if float64(i+1)/(estimateSteps/2)-1+s.slack() < top.sure.least() {
				break
			}
		}
		s.compare(q, &top, c.order[at:next[i]], c.order[at:taken])
		at = next[i]
	}
	top.cut()
	return top.hits
}

// compare compares the int8 forms of slots. coming begins with these slots and continues with the likely next ones.
func (s *Store) compare(q *Query, top *best, slots, upcoming []uint32) {
	for n, at := range slots {
		if n+loadAhead < len(upcoming) {
			s.prefetch(q, upcoming[n+loadAhead])
		}
		b, slot := q.blocks[at/blockRows], int(at%blockRows)
		top.offer(at/blockRows*blockRows+uint32(b.row(slot)), s.int8Cosine(q, b, slot))
	}
}

// prefetch prefetches the int8 form of a slot into the processor's cache.
func (s *Store) prefetch(q *Query, at uint32) {
	b, slot := q.blocks[at/blockRows], int(at%blockRows)
	s.kernels.prefetch(b.int8s[slot*s.padded : (slot+1)*s.padded])
}
