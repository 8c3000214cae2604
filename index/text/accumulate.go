package text

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Rows are added up a window at a time, so that what is added up stays in the processor's nearest cache.
//
// Scores are added up as whole numbers: a part times scale, rounded up. A row's score by them is higher than its own by
// less than scoreSlack allows for, so that they say which few rows may be among the best; only those are scored.
const (
	windowBits  = pageBits
	windowRows  = 1 << windowBits
	spanWindows = spanRows / windowRows
	sumBits     = 32
	mostSum     = 1<<sumBits - 1
	tables      = scaleTFs * scaleLengths
)

// An adder sums up the parts of a search's rows.
type adder struct {
	cells   [windowRows]cell         // of a window's rows; zero between windows
	touched [windowRows / 64]uint64  // those that are not zero, a bit each
	words   uint64                   // those of touched that are not zero, a bit each
	order   []adding                 // the terms, that of the highest part first
	parts   [maxTerms][tables]uint32 // by order, frequency and length; 0 is not computed yet
	cursors []cursor                 // by span, and in a span by order
	coords  [maxTerms + 1]float64
	scale   scale
	units   float64 // of a part of 1
	keep    func(row uint32) bool
	found   []found // in the order of rows
	bar
}

// A cell is which terms of the order a row has, a bit each from sumBits on, and below them the sum of their parts.
type cell uint64

func (c cell) terms() int  { return bits.OnesCount32(uint32(c >> sumBits)) }
func (c cell) sum() uint32 { return uint32(c) }

// An adding is a term and what its parts are multiplied with.
type adding struct {
	term   int
	weight float64
	most   float64 // no part is higher
}

// A cursor is a term's postings in a span, from where the next window begins.
type cursor struct {
	run
	at    int
	order int
}

// A found row may be among the best.
type found struct {
	cell
	row uint32
}

// add finds the rows that may be among the K best.
func (s *search) add(q Query, k int) {
	a := &s.adder
	a.found, a.keep = a.found[:0], q.Keep
	a.scale.begin(s.totals)
	s.arrange()
	a.begin(k)
	a.eachWindow(a.window)
	left := a.found[:0]
	for _, f := range a.found {
		if uint64(f.sum()) >= a.need[f.terms()] {
			left = append(left, f)
		}
	}
	a.found = left
}

// eachWindow hands over the windows in which there may be postings, with the cursors of the window's span.
func (a *adder) eachWindow(f func(cursors []cursor, w uint32)) {
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

// arrange puts the terms, and the cursors over their postings, into the order in which they are added up.
func (s *search) arrange() {
	a := &s.adder
	a.order, a.cursors = a.order[:0], a.cursors[:0]
	sum := 0.0
	for i := range s.terms {
		t := &s.terms[i]
		add := adding{term: i, weight: float64(t.share * idfSquared(s.totals.Rows, t.df))}
		sum += add.weight
		for j := range t.lists {
			l := &t.lists[j]
			add.most = max(add.most, add.weight*saturation(l.most, lengthNorm(l.least, s.totals)))
		}
		a.order = append(a.order, add)
	}
	a.units = (mostSum - 4*maxTerms) / max(sum*(bm25K1+1), 1e-9)
	slices.SortFunc(a.order, func(x, y adding) int { return cmp.Or(cmp.Compare(y.most, x.most), cmp.Compare(x.term, y.term)) })
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

// window adds up a window's rows. The last terms of the order cannot lift a row to the bar by themselves: they are
// added to rows that have others.
func (a *adder) window(cursors []cursor, w uint32) {
	i, end := 0, (w%spanWindows+1)<<windowBits
	for ; i < len(cursors) && cursors[i].order < a.lifting; i++ {
		a.addAll(&cursors[i], end)
	}
	if a.words == 0 {
		return
	}
	for ; i < len(cursors); i++ {
		a.addToTouched(&cursors[i], end)
	}
	a.harvest(w << windowBits)
}

// addAll adds a term's postings up to a place in the span.
func (a *adder) addAll(c *cursor, end uint32) {
	parts, words, bit := &a.parts[c.order], a.words, cell(1)<<(sumBits+c.order)
	i := c.start(end)
	for ; i < len(c.post); i++ {
		p := c.post[i]
		if placeOf(p) >= end {
			break
		}
		n, common := partOf(p)
		part := parts[n%tables]
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

// addToTouched adds a term's postings to rows that have others.
func (a *adder) addToTouched(c *cursor, end uint32) {
	parts, bit := &a.parts[c.order], cell(1)<<(sumBits+c.order)
	i := c.start(end)
	for ; i < len(c.post); i++ {
		p := c.post[i]
		if placeOf(p) >= end {
			break
		}
		n, common := partOf(p)
		part := parts[n%tables]
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
func (a *adder) part(c *cursor, p uint32) uint32 {
	tf, length := c.counts(p)
	part := uint32(float64(a.order[c.order].weight*a.scale.of(tf, length))*a.units) + 1
	if n, common := partOf(p); common {
		a.parts[c.order][n] = part
	}
	return part
}

// harvest takes the rows out of a window that may be among the best.
func (a *adder) harvest(first uint32) {
	a.eachTouched(func(at uint32, cell cell) {
		n := cell.terms()
		if uint64(cell.sum()) < a.need[n] || a.keep != nil && !a.keep(first|at) {
			return
		}
		a.found = append(a.found, found{cell, first | at})
		a.count(float64(cell.sum()) * a.worth[n])
	})
	if a.rose {
		a.raise()
	}
}

// eachTouched hands over a window's cells by row, and clears them.
func (a *adder) eachTouched(f func(at uint32, c cell)) {
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

// forget lets go of the lists.
func (a *adder) forget() {
	clear(a.cursors)
	a.keep = nil
}

// A bar is a score that rows must reach to be among the K best, as far as it is known.
type bar struct {
	k       int
	counts  [spreadSteps]uint32 // of the rows found so far, by score
	step    int                 // that K of them reach, or more: the highest that is known
	above   int                 // how many reach it
	rose    bool                // step has, since raise
	worth   [maxTerms + 1]float64
	need    [maxTerms + 1]uint64 // what the sum of a row with so many terms is at least
	lifting int                  // how many terms of the order can lift a row to the bar without those before
}

// begin starts with no row, and a bar of nothing.
func (a *adder) begin(k int) {
	a.k, a.step, a.above, a.rose, a.lifting = k, 0, 0, false, len(a.order)
	clear(a.counts[:])
	clear(a.need[:])
	for n := range a.coords {
		a.worth[n] = a.coords[n] / a.units
	}
}

// count takes note of a row's score.
func (b *bar) count(score float64) {
	step := stepOf(score)
	b.counts[step]++
	if step < b.step {
		return
	}
	for b.above++; b.above-int(b.counts[b.step]) >= b.k; b.step++ {
		b.above -= int(b.counts[b.step])
		b.rose = true
	}
}

// raise makes the rows' bar of the step. It is lower by what rounding may have added to a row: its score is rounded up
// by less than two units for each term, and to a billionth when it is compared.
func (a *adder) raise() {
	a.rose = false
	score := stepScore(a.step)
	score -= float64(score*1e-9) + 4*maxTerms/a.units + 4e-9
	if score <= 0 {
		return
	}
	for n := 1; n <= len(a.order); n++ {
		a.need[n] = uint64(min(score/a.worth[n], mostSum+1))
	}
	rest := 0.0
	for a.lifting = len(a.order); a.lifting > 0; a.lifting-- {
		rest += a.order[a.lifting-1].most
		if a.coords[len(a.order)-a.lifting+1]*rest >= score {
			break
		}
	}
}

// Scores are counted in steps of about a hundredth: by the first bits of the float, which is not negative.
const (
	spreadShift = 52 - 7           // of the bits: 128 steps from one power of two to the next
	spreadSteps = 32 << 7          // 32 powers
	spreadFirst = (1023 - 16) << 7 // 2^-16: a smaller one is counted with the first, a larger one with the last
)

func stepOf(score float64) int {
	return max(0, min(int(math.Float64bits(score)>>spreadShift)-spreadFirst, spreadSteps-1))
}

// stepScore is the lowest score of a step.
func stepScore(step int) float64 {
	if step == 0 {
		return 0
	}
	return math.Float64frombits(uint64(step+spreadFirst) << spreadShift)
}
