package vector

import (
	"cmp"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
)

const (
	directRows   = 20_000  // up to here every row's int8 form is compared
	parallelRows = 100_000 // from here several goroutines scan
	maxWorkers   = 4
	minCoded     = 1024 // rows that codes leave for int8, at least
	maxCoded     = 4096
	minExact     = 64 // rows that int8 leaves for float32, at least
)

// A Query asks for the K nearest rows.
type Query struct {
	K int
	// Precise is how many of them, at least, are ordered by their originals; 0 is twice K. The rest keep their int8 score.
	Precise int
	// Keep refuses rows. It is asked inside the scan, of rows near enough to be taken, by several goroutines.
	Keep func(row uint32) bool
	// Tie orders rows of equal score, negative for a first; rows it finds equal go by number.
	Tie func(a, b uint32) int
	// Exact returns the original of a row at unit length, nil when its owner has it no more: the row keeps its int8 score.
	Exact func(row uint32) []float32

	unit   []float32
	code   []uint64
	int8s  []int8
	scale  float32
	blocks []*block
}

// A Hit is a row and its cosine.
type Hit struct {
	Row uint32
	Sim float64
}

// A Pool lends goroutines to scans, so that many searches at once do not multiply them.
type Pool chan struct{}

// NewPool lends as many goroutines as there are processors.
func NewPool() Pool { return make(Pool, runtime.GOMAXPROCS(0)) }

// Ask prepares a question: a vector of unit length and the store's dimension.
func (s *Store) Ask(unit []float32, q Query) *Query {
	p := s.Prepare(unit)
	q.unit, q.code, q.int8s, q.scale, q.blocks = unit, p.code, p.int8s, p.scale, *s.blocks.Load()
	return &q
}

// Search returns the nearest rows, nearest first.
func (s *Store) Search(q *Query, pool Pool) []Hit {
	if s.Len() == 0 || q.K <= 0 {
		return nil
	}
	precise := q.Precise
	if precise == 0 {
		precise = max(minExact, 2*q.K)
	}
	exact := max(precise, q.K)
	var hits []Hit
	if n := s.Len(); n <= directRows {
		hits = s.scan(q, pool, exact, s.scanInt8)
	} else {
		hits = s.scan(q, pool, max(min(max(n/100, minCoded), maxCoded), 2*exact), s.scanCodes)
		for i := range hits {
			row := hits[i].Row
			hits[i].Sim = s.middle(q, q.blocks[row/blockRows], int(row%blockRows))
		}
		if top := (best{q: q, keep: exact, hits: hits}); len(hits) > exact {
			top.cut()
			hits = top.hits
		}
	}
	slices.SortFunc(hits, q.compare)
	if q.Exact != nil {
		for i := range hits[:min(precise, len(hits))] {
			if v := q.Exact(hits[i].Row); len(v) == s.dim {
				hits[i].Sim = Dot(q.unit, v)
			}
		}
		slices.SortFunc(hits, q.compare)
	}
	return hits[:min(len(hits), q.K)]
}

func (q *Query) compare(a, b Hit) int {
	if a.Sim != b.Sim { // neither is NaN
		if a.Sim > b.Sim {
			return -1
		}
		return 1
	}
	if q.Tie != nil {
		if c := q.Tie(a.Row, b.Row); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Row, b.Row)
}

// scan looks at all blocks, on several goroutines when there is much to do and the pool has some, and returns the best keep
// rows in no order. What the goroutines find is merged by a total order: how many there were does not show.
func (s *Store) scan(q *Query, pool Pool, keep int, one func(*Query, int, *block, *best)) []Hit {
	workers := 1
	if s.Len() >= parallelRows {
	borrow:
		for workers < maxWorkers {
			select {
			case pool <- struct{}{}:
				workers++
			default:
				break borrow
			}
		}
	}
	found := make([]best, workers)
	run := func(w int) {
		top := best{q: q, keep: keep, floor: math.Inf(-1)} // of this goroutine's own cache lines until it is done
		share := (len(q.blocks) + workers - 1) / workers
		for n := w * share; n < min((w+1)*share, len(q.blocks)); n++ {
			if b := q.blocks[n]; b != nil {
				one(q, n, b, &top)
			}
		}
		found[w] = top
	}
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() {
			defer func() { <-pool }()
			run(w)
		})
	}
	run(0)
	wg.Wait()
	all := &found[0]
	for _, f := range found[1:] {
		all.hits = append(all.hits, f.hits...)
	}
	if len(all.hits) > keep {
		all.cut()
	}
	return all.hits
}

func (s *Store) scanInt8(q *Query, n int, b *block, top *best) {
	for w := range b.live {
		for live := b.live[w].Load(); live != 0; live &= live - 1 {
			i := w*64 + bits.TrailingZeros64(live)
			top.offer(uint32(n*blockRows+i), s.middle(q, b, i))
		}
	}
}

func (s *Store) scanCodes(q *Query, n int, b *block, top *best) {
	six, floor := s.words == 6, top.floor
	for w := range b.live {
		for live := b.live[w].Load(); live != 0; live &= live - 1 {
			i := w*64 + bits.TrailingZeros64(live)
			var h int
			if six {
				h = hamming6((*[6]uint64)(q.code), (*[6]uint64)(b.codes[i*6:i*6+6]))
			} else {
				h = hamming(q.code, b.codes[i*s.words:(i+1)*s.words])
			}
			if sim := float64(float32(s.dim-2*h) * b.factor[i]); sim >= floor {
				top.offer(uint32(n*blockRows+i), sim)
				floor = top.floor
			}
		}
	}
}

// best gathers the nearest rows: a buffer of twice the number wanted that is cut when full.
type best struct {
	q     *Query
	keep  int
	hits  []Hit
	floor float64 // nothing below it can make the list
}

func (t *best) offer(row uint32, sim float64) {
	if sim < t.floor || t.q.Keep != nil && !t.q.Keep(row) {
		return
	}
	if t.hits == nil {
		t.hits = make([]Hit, 0, 2*t.keep)
	}
	t.hits = append(t.hits, Hit{row, sim})
	if len(t.hits) == 2*t.keep {
		t.cut()
	}
}

// cut leaves the best keep rows, in no order: quickselect about the last of them.
func (t *best) cut() {
	h := t.hits
	for lo, hi := 0, len(h)-1; lo < hi; {
		pivot := median(t.q, h[lo], h[(lo+hi)/2], h[hi])
		i, j := lo, hi
		for i <= j {
			for t.q.compare(h[i], pivot) < 0 {
				i++
			}
			for t.q.compare(pivot, h[j]) < 0 {
				j--
			}
			if i <= j {
				h[i], h[j] = h[j], h[i]
				i++
				j--
			}
		}
		switch {
		case t.keep-1 <= j:
			hi = j
		case t.keep-1 >= i:
			lo = i
		default:
			lo = hi
		}
	}
	t.hits, t.floor = h[:t.keep], h[t.keep-1].Sim
}

func median(q *Query, a, b, c Hit) Hit {
	if q.compare(b, a) < 0 {
		a, b = b, a
	}
	if q.compare(c, a) < 0 {
		return a
	}
	if q.compare(c, b) < 0 {
		return c
	}
	return b
}
