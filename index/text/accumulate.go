package text

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// The accumulator adds the parts of scores term by term, for a window of rows at a time, so that the sums stay in the
// processor's nearest cache.
//
// The sums are whole numbers: each part is scaled and rounded up. So a row's sum is an upper bound of its score, a
// little above it, and says which few rows may be among the best. Only those are scored exactly. As in MaxScore,
// terms that cannot lift a row over the threshold by themselves are added to rows of other terms only.
const (
	windowBits  = pageBits
	windowRows  = 1 << windowBits
	spanWindows = spanRows / windowRows
	sumBits     = 32
	maxSum      = 1<<sumBits - 1
	tableSize   = scaleTFs * scaleLengths
)

// An accumulator sums up the parts of each row's score in a search.
type accumulator struct {
	cells   [windowRows]cell            // of the rows of a window; zero between windows
	touched [windowRows / 64]uint64     // cells that are not zero, a bit each
	words   uint64                      // words of touched that are not zero, a bit each
	order   []orderedTerm               // the term with the highest part first
	parts   [maxTerms][tableSize]uint32 // by order, frequency and length; 0 is not computed yet
	cursors []cursor                    // by span, and in a span by order
	coords  [maxTerms + 1]float64
	scale   scale
	units   float64 // what a part of 1 adds to a sum
	keep    func(row uint32) bool
	found   []found // in the order of rows
	threshold
}

// A cell holds the sum of a row's parts in its low sumBits bits, and above them a bit for each term that the row has.
type cell uint64

func (c cell) terms() int  { return bits.OnesCount32(uint32(c >> sumBits)) }
func (c cell) sum() uint32 { return uint32(c) }

// An orderedTerm is a term of the query in the order of maxPart, the highest first.
type orderedTerm struct {
	term    int
	weight  float64
	maxPart float64 // no part is higher
}

// A cursor is the place in a term's postings of a span at which the next window begins.
type cursor struct {
	run
	at    int
	order int
}

// A found row may be one of the best.
type found struct {
	cell
	row uint32
}

// accumulate finds the rows that may be among the K best.
func (s *search) accumulate(q Query, k int) {
	a := &s.acc
	a.found, a.keep = a.found[:0], q.Keep
	a.scale.begin(s.totals)
	s.orderTerms()
	a.begin(k)
	a.eachWindow(a.window)
	kept := a.found[:0]
	for _, f := range a.found {
		if uint64(f.sum()) >= a.minSum[f.terms()] {
			kept = append(kept, f)
		}
	}
	a.found = kept
}

// eachWindow calls f for each window that may have postings, with the cursors of the window's span.
func (a *accumulator) eachWindow(f func(cursors []cursor, w uint32)) {
	for from := 0; from < len(a.cursors); {
		to, span := from+1, a.cursors[from].span
		for to < len(a.cursors) && a.cursors[to].span == span {
			to++
		}
		for w := range uint32(spanWindows) {
			f(a.cursors[from:to], span*spanWindows+w)
		}
		from = to
	}
}

// orderTerms puts the terms, and the cursors over their postings, into the order in which they are added up.
func (s *search) orderTerms() {
	a := &s.acc
	a.order, a.cursors = a.order[:0], a.cursors[:0]
	sum := 0.0
	for i := range s.terms {
		t := &s.terms[i]
		ordered := orderedTerm{term: i, weight: float64(t.share * idfSquared(s.totals.Rows, t.df))}
		sum += ordered.weight
		for j := range t.lists {
			l := &t.lists[j]
			ordered.maxPart = max(ordered.maxPart, ordered.weight*saturation(l.maxTF, lengthNorm(l.minLength, s.totals)))
		}
		a.order = append(a.order, ordered)
	}
	a.units = (maxSum - 4*maxTerms) / max(sum*(bm25K1+1), 1e-9)
	slices.SortFunc(a.order, func(x, y orderedTerm) int {
		return cmp.Or(cmp.Compare(y.maxPart, x.maxPart), cmp.Compare(x.term, y.term))
	})
	for n := range len(s.terms) + 1 {
		a.coords[n] = coord(n, len(s.terms))
	}
	for i, add := range a.order {
		clear(a.parts[i][:])
		for j := range s.terms[add.term].lists {
			s.terms[add.term].lists[j].each(func(r run) { a.cursors = append(a.cursors, cursor{run: r, order: i}) })
		}
	}
	slices.SortFunc(a.cursors, func(x, y cursor) int { return cmp.Or(cmp.Compare(x.span, y.span), cmp.Compare(x.order, y.order)) })
}

// window adds up the rows of a window. Terms that are not essential are added only to rows that have an essential
// one.
func (a *accumulator) window(cursors []cursor, w uint32) {
	i, end := 0, (w%spanWindows+1)<<windowBits
	for ; i < len(cursors) && cursors[i].order < a.essential; i++ {
		a.accumulateAll(&cursors[i], end)
	}
	if a.words == 0 {
		return
	}
	for ; i < len(cursors); i++ {
		a.accumulateTouched(&cursors[i], end)
	}
	a.collectRows(w << windowBits)
}

// accumulateAll adds a term's postings up to a place in the span.
func (a *accumulator) accumulateAll(c *cursor, end uint32) {
	parts, words, bit := &a.parts[c.order], a.words, cell(1)<<(sumBits+c.order)
	i := c.start(end)
	for ; i < len(c.post); i++ {
		p := c.post[i]
		if placeOf(p) >= end {
			break
		}
		n, common := partOf(p)
		part := parts[n%tableSize]
		if part == 0 || !common {
			part = a.part(c, p)
		}
		at := p % windowRows
		a.cells[at] += bit | cell(part)
		a.touched[at/64] |= 1 << (at % 64)
		words |= 1 << (at / 64)
	}
	c.at, a.words = i, words
}

// accumulateTouched adds a term's postings to the rows that have other terms.
func (a *accumulator) accumulateTouched(c *cursor, end uint32) {
	parts, bit := &a.parts[c.order], cell(1)<<(sumBits+c.order)
	i := c.start(end)
	for ; i < len(c.post); i++ {
		p := c.post[i]
		if placeOf(p) >= end {
			break
		}
		n, common := partOf(p)
		part := parts[n%tableSize]
		if part == 0 || !common {
			part = a.part(c, p)
		}
		at := p % windowRows
		a.cells[at] += (bit | cell(part)) & -cell(a.touched[at/64]>>(at%64)&1)
	}
	c.at = i
}

// start returns where a window's postings begin: windows before it may have been left out.
func (c *cursor) start(end uint32) int {
	if c.at < len(c.post) && placeOf(c.post[c.at]) < end-windowRows {
		return seek(c.post, c.at, end-windowRows)
	}
	return c.at
}

// partOf returns where in the table a posting's part is; common is false for frequencies and lengths that the table
// does not have.
func partOf(p uint32) (at uint32, common bool) {
	p = p>>spanBits - 1<<lengthBits
	return p>>(lengthBits-8)&(3<<8) | p&(scaleLengths-1), p&^(3<<lengthBits|(scaleLengths-1)) == 0
}

// part computes what a posting adds to its row's cell, and puts it in the table if that has a place for it.
func (a *accumulator) part(c *cursor, p uint32) uint32 {
	tf, length := c.counts(p)
	part := uint32(float64(a.order[c.order].weight*a.scale.of(tf, length))*a.units) + 1
	if n, common := partOf(p); common {
		a.parts[c.order][n] = part
	}
	return part
}

// collectRows collects the rows of a window that may be among the best.
func (a *accumulator) collectRows(first uint32) {
	a.eachTouched(func(at uint32, cell cell) {
		n := cell.terms()
		if uint64(cell.sum()) < a.minSum[n] || a.keep != nil && !a.keep(first|at) {
			return
		}
		a.found = append(a.found, found{cell, first | at})
		a.count(float64(cell.sum()) * a.perUnit[n])
	})
	if a.raised {
		a.raiseThreshold()
	}
}

// eachTouched calls f with the nonzero cells of a window, by row, and clears them.
func (a *accumulator) eachTouched(f func(at uint32, c cell)) {
	for words := a.words; words != 0; words &= words - 1 {
		w := bits.TrailingZeros64(words)
		for b := a.touched[w]; b != 0; b &= b - 1 {
			at := uint32(w*64 + bits.TrailingZeros64(b))
			f(at, a.cells[at])
			a.cells[at] = 0
		}
		a.touched[w] = 0
	}
	a.words = 0
}

// forget drops the references to the lists.
func (a *accumulator) forget() {
	clear(a.cursors)
	a.keep = nil
}

// A threshold is a score that K rows reach, so that lower rows are not among the K best. It rises as rows are found.
type threshold struct {
	k         int
	counts    [scoreSteps]uint32 // of the rows found so far, by score
	step      int                // the highest step that K rows reach
	above     int                // rows that reach it
	raised    bool               // step has risen since raiseThreshold
	perUnit   [maxTerms + 1]float64
	minSum    [maxTerms + 1]uint64 // least sum of a row with so many terms that reaches the threshold
	essential int                  // so many first terms of the order are essential: the others together cannot reach the threshold
}

// begin starts with no row and no threshold.
func (a *accumulator) begin(k int) {
	a.k, a.step, a.above, a.raised, a.essential = k, 0, 0, false, len(a.order)
	clear(a.counts[:])
	clear(a.minSum[:])
	for n := range a.coords {
		a.perUnit[n] = a.coords[n] / a.units
	}
}

// count counts a row by its score, and raises the step.
func (b *threshold) count(score float64) {
	step := stepOf(score)
	b.counts[step]++
	if step < b.step {
		return
	}
	for b.above++; b.above-int(b.counts[b.step]) >= b.k; b.step++ {
		b.above -= int(b.counts[b.step])
		b.raised = true
	}
}

// raiseThreshold sets minSum and essential from the step. It subtracts what rounding may have added to a row's sum:
// less than two units for each term, and a billionth when scores are compared.
func (a *accumulator) raiseThreshold() {
	a.raised = false
	score := stepScore(a.step)
	score -= float64(score*1e-9) + 4*maxTerms/a.units + 4e-9
	if score <= 0 {
		return
	}
	for n := 1; n <= len(a.order); n++ {
		a.minSum[n] = uint64(min(score/a.perUnit[n], maxSum+1))
	}
	sum := 0.0
	for a.essential = len(a.order); a.essential > 0; a.essential-- {
		sum += a.order[a.essential-1].maxPart
		if a.coords[len(a.order)-a.essential+1]*sum >= score {
			break
		}
	}
}

// Scores are counted in steps of about a hundredth: by the first bits of the float, which is not negative.
const (
	scoreShift = 52 - 7           // of the bits: 128 steps from one power of two to the next
	scoreSteps = 32 << 7          // 32 powers
	scoreFirst = (1023 - 16) << 7 // 2^-16: a smaller one is counted with the first, a larger one with the last
)

func stepOf(score float64) int {
	return max(0, min(int(math.Float64bits(score)>>scoreShift)-scoreFirst, scoreSteps-1))
}

// stepScore returns the lowest score of a step.
func stepScore(step int) float64 {
	if step == 0 {
		return 0
	}
	return math.Float64frombits(uint64(step+scoreFirst) << scoreShift)
}
