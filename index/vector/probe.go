package vector

const (
	probeRows          = 12  // by partitions, a question compares a 12th of the rows at most: that takes as long as all codes
	probeParts         = 8   // and it looks at an 8th of the partitions at most,
	probePartsFiltered = 2   // or with a filter at half of them
	forecastAfter      = 128 // after a 128th of the partitions it counts how many are likely to follow
)

// searchPartitions compares the int8 forms of the rows in the partitions nearest to the question, the nearest first,
// until the next centroid lies so far below the rows that are wanted that its partition is not likely to have nearer
// ones. A filter that leaves few rows leaves farther ones, so that more partitions are looked at. ok is false when
// that would take longer than looking at all rows.
//
// A search compares whole partitions, in an order of whole numbers, which is the same on every replica.
func (s *Store) searchPartitions(q *Query, p *partitions, c *scratch, keep int) (hits []Hit, ok bool) {
	c.near.of(s, &p.fine, q.int8s, 0, len(p.fine.weight))
	order := orderOf(c.near.near, c.partitions)
	c.partitions = order.heap
	top := newBest(q, keep)
	parts := len(c.near.near)
	limit := parts / probeParts
	if q.Keep != nil {
		limit = parts / probePartsFiltered
	}
	likely := func(part uint16) bool {
		return float64(float64(c.near.near[part])*float64(q.scale))/(1<<30)+p.slack >= top.sure.least()
	}
	for n, compared := 0, 0; len(order.heap) > 0; n++ {
		if n == max(1, parts/forecastAfter) {
			expected := n
			for _, part := range order.heap {
				if likely(part) {
					expected++
				}
			}
			if expected > limit {
				return nil, false
			}
		}
		next := order.pop()
		if compared >= q.K && !likely(next) {
			break
		}
		if compared*probeRows > s.Len() || n > limit {
			return nil, false
		}
		compared += s.comparePartition(q, *p.lists[next].Load(), c, &top)
	}
	top.cut()
	return top.hits, true
}

// sure returns how many answers have to be the nearest that there are.
func (q *Query) sure() int {
	if q.Sure > 0 {
		return min(q.Sure, q.K)
	}
	return q.K
}

// comparePartition compares the rows of one partition, and returns how many passed the filters.
func (s *Store) comparePartition(q *Query, rows []uint32, c *scratch, top *best) int {
	c.order = c.order[:0]
	for _, row := range rows {
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
	s.compare(q, top, slots, slots)
	return len(slots)
}

// An order yields partitions, the nearest first, and of equals the one with the lower number. It is a heap, because a
// question uses few of them.
type order struct {
	near []int64
	heap []uint16
}

func orderOf(near []int64, buf []uint16) order {
	o := order{near, buf[:0]}
	for i := range near {
		o.heap = append(o.heap, uint16(i))
	}
	for i := len(o.heap)/2 - 1; i >= 0; i-- {
		o.siftDown(i)
	}
	return o
}

func (o *order) before(a, b uint16) bool {
	return o.near[a] > o.near[b] || o.near[a] == o.near[b] && a < b
}

func (o *order) pop() uint16 {
	first, last := o.heap[0], len(o.heap)-1
	o.heap[0] = o.heap[last]
	o.heap = o.heap[:last]
	o.siftDown(0)
	return first
}

func (o *order) siftDown(i int) {
	for {
		child := 2*i + 1
		if child >= len(o.heap) {
			return
		}
		if child+1 < len(o.heap) && o.before(o.heap[child+1], o.heap[child]) {
			child++
		}
		if !o.before(o.heap[child], o.heap[i]) {
			return
		}
		o.heap[i], o.heap[child] = o.heap[child], o.heap[i]
		i = child
	}
}
