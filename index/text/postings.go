package text

import (
	"cmp"
	"slices"
)

// A term's postings lie in spans of 65,536 row numbers, by row. One is a number of four bytes: the row's place in its
// span, above it the length, and on top the frequency. Where the frequency is over 15 or the length over 4,095, the
// number says 0 for the frequency and both are among the rare ones, found by row.
const (
	spanBits        = 16
	spanRows        = 1 << spanBits
	lengthBits      = 12
	tfAt            = spanBits + lengthBits
	maxPackedTF     = 1<<(32-tfAt) - 1
	maxPackedLength = 1<<lengthBits - 1
)

// A list holds postings by row. It is immutable.
type list struct {
	post             []uint32
	spans            []spanEnd
	rare             []posting // may include rows that the list does not have
	maxTF, minLength uint16    // no frequency is higher and no length smaller
}

// A spanEnd says where in a list the postings of a span end. Those of the next span begin there.
type spanEnd struct{ span, end uint32 }

// each calls f with the list's runs, one for each span.
func (l *list) each(f func(r run)) {
	from := uint32(0)
	for _, s := range l.spans {
		f(run{s.span, l.post[from:s.end], l.rare})
		from = s.end
	}
}

// A run is a list's postings of one span.
type run struct {
	span uint32
	post []uint32
	rare []posting
}

func placeOf(p uint32) uint32 { return p & (spanRows - 1) }

func (r *run) row(p uint32) uint32 { return r.span<<spanBits | placeOf(p) }

// counts returns a posting's frequency and length.
func (r *run) counts(p uint32) (tf, length uint16) {
	if tf = uint16(p >> tfAt); tf != 0 {
		return tf, uint16(p>>spanBits) & maxPackedLength
	}
	i, _ := slices.BinarySearchFunc(r.rare, r.row(p), func(p posting, row uint32) int { return cmp.Compare(p.row, row) })
	return r.rare[i].tf, r.rare[i].length
}

// seek returns the first index from at on whose posting is at or after a place. It usually is near at.
func seek(post []uint32, at int, place uint32) int {
	for end := min(at+linearSeek, len(post)); at < end; at++ {
		if placeOf(post[at]) >= place {
			return at
		}
	}
	step := linearSeek
	for at+step <= len(post) && placeOf(post[at+step-1]) < place {
		at += step
		step *= 2
	}
	for end := min(at+step-1, len(post)); at < end; {
		if mid := (at + end) / 2; placeOf(post[mid]) < place {
			at = mid + 1
		} else {
			end = mid
		}
	}
	return at
}

// linearSeek is the number of postings that seek looks at one by one before it doubles its steps: that is faster for
// a place nearby.
const linearSeek = 16

// An arena holds lists that live as long as a search, one after the other.
type arena struct {
	list                                 // all lists together; most and least are those of the list being made
	postStart, spansStart, rareStart int // where that one begins
}

func (a *arena) forget() {
	a.post, a.spans, a.rare = a.post[:0], a.spans[:0], a.rare[:0]
	a.begin()
}

// begin begins a list; end returns it. Lists are made one at a time.
func (a *arena) begin() {
	a.postStart, a.spansStart, a.rareStart = len(a.post), len(a.spans), len(a.rare)
	a.maxTF, a.minLength = 0, 1<<16-1
}

func (a *arena) end() list {
	a.close()
	return list{a.post[a.postStart:], a.spans[a.spansStart:], a.rare[a.rareStart:], a.maxTF, a.minLength}
}

// close sets the end of the last span.
func (a *arena) close() {
	if n := len(a.spans); n > a.spansStart {
		a.spans[n-1].end = uint32(len(a.post) - a.postStart)
	}
}

func (a *arena) span(span uint32) {
	if n := len(a.spans); n == a.spansStart || a.spans[n-1].span != span {
		a.close()
		a.spans = append(a.spans, spanEnd{span: span})
	}
}

// add adds a posting of a row above all others of the list.
func (a *arena) add(p posting) {
	a.span(p.row >> spanBits)
	a.maxTF, a.minLength = max(a.maxTF, p.tf), min(a.minLength, p.length)
	packed := uint32(p.tf)<<tfAt | uint32(p.length)<<spanBits
	if p.tf > maxPackedTF || p.length > maxPackedLength {
		packed = 0
		a.rare = append(a.rare, p)
	}
	a.post = append(a.post, packed|placeOf(p.row))
}

// pack makes a list of postings in the order of rows.
func (a *arena) pack(postings []posting) list {
	a.begin()
	a.post = slices.Grow(a.post, len(postings))
	for _, p := range postings {
		a.add(p)
	}
	return a.end()
}

// filter returns the postings of a list whose rows pass; the list itself when all do.
func (a *arena) filter(l list, keep func(row uint32) bool) list {
	a.begin()
	a.post = slices.Grow(a.post, len(l.post))
	l.each(func(r run) {
		before := len(a.post)
		for _, p := range r.post {
			if keep(r.row(p)) {
				a.post = append(a.post, p)
			}
		}
		if len(a.post) > before {
			a.spans = append(a.spans, spanEnd{r.span, uint32(len(a.post) - a.postStart)})
		}
	})
	out := a.end()
	if len(out.post) == len(l.post) {
		a.post, a.spans = a.post[:a.postStart], a.spans[:a.spansStart]
		return l
	}
	out.rare, out.maxTF, out.minLength = l.rare, l.maxTF, l.minLength
	return out
}

// clone returns a copy of a list that outlasts the search.
func (l list) clone() list {
	l.post, l.spans, l.rare = slices.Clone(l.post), slices.Clone(l.spans), slices.Clone(l.rare)
	return l
}

// bytes returns how many bytes a list that own made holds in memory.
func (l *list) bytes() int64 { return int64(4*len(l.post) + 8*len(l.spans) + 8*len(l.rare)) }

// byRow brings postings into the order of rows. Bleve's segments are pieces that are in order: a posting out of order
// is brought into its window, and each window is sorted.
func (s *scratch) byRow(list []posting) []posting {
	byRow := func(a, b posting) int { return cmp.Compare(a.row, b.row) }
	if slices.IsSortedFunc(list, byRow) {
		return list
	}
	last := uint32(0)
	for _, p := range list {
		last = max(last, p.row>>windowBits)
	}
	s.starts = slices.Grow(s.starts[:0], int(last)+2)[:last+2]
	clear(s.starts)
	for _, p := range list {
		s.starts[p.row>>windowBits+1]++
	}
	for w := range last {
		s.starts[w+1] += s.starts[w]
	}
	s.sorted = slices.Grow(s.sorted[:0], len(list))[:len(list)]
	for _, p := range list {
		at := &s.starts[p.row>>windowBits]
		s.sorted[*at] = p
		*at++
	}
	from := 0
	for w := range last + 1 {
		if window := s.sorted[from:s.starts[w]]; !slices.IsSortedFunc(window, byRow) {
			slices.SortFunc(window, byRow)
		}
		from = s.starts[w]
	}
	return s.sorted
}
