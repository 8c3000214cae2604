package text

import (
	"slices"

	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// A search is one query against one moment of the index.
type search struct {
	index  *Index
	params Params
	groups groupSet
	seq    uint64 // the moment
	deaths uint32
	pages  []*page
	rows   int // row numbers are below this
	totals Totals
	snap   *snapshot
	terms  []queryTerm // sorted
	acc    *accumulator
	coords [maxTerms + 1]float64
	// list and iterator are Bleve's, used again from term to term.
	list     segment.PostingsList
	iterator segment.PostingsIterator
}

// A queryTerm is a term with the postings that score and its document frequency.
type queryTerm struct {
	term  string
	df    uint64
	lists [][]posting // live rows in the groups only
	tail  [][]posting // of the blocks, not filtered yet
}

// gather takes the moment and every term's postings. It returns nil when the query has no terms.
func (x *Index) gather(q Query) (*search, error) {
	terms := q.Terms
	if terms == nil {
		terms = AnalyzeQuery(q.Text)
	}
	terms = slices.Clone(terms[:min(len(terms), MaxQueryTokens)])
	slices.Sort(terms)
	terms = slices.Compact(terms)
	s, err := x.capture(q, terms)
	if s == nil || err != nil {
		return nil, err
	}
	if x.moved() {
		x.poke() // for the next search: this one has its segments
	}
	if err := s.collect(); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// capture fixes the moment: sequence, totals, tail postings and Bleve snapshot belong together.
func (x *Index) capture(q Query, terms []string) (*search, error) {
	s := &search{index: x, params: x.cfg.Params, groups: newGroupSet(q.Groups), terms: make([]queryTerm, len(terms))}
	if q.Params != nil {
		s.params = q.Params.withDefaults()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, ErrClosed
	}
	if len(terms) == 0 {
		return nil, nil
	}
	s.seq, s.deaths, s.pages, s.rows = x.seq, x.rows.deaths, x.rows.pages, len(x.rows.pages)<<pageBits
	s.totals = x.totals
	if s.params.Local {
		s.totals = x.totalsLocked(s.groups.list)
	}
	for i, term := range terms {
		t := &s.terms[i]
		t.term = term
		for _, b := range x.sealed {
			if p := b.terms[term]; p != nil {
				t.tail = append(t.tail, p)
			}
		}
		if p := x.open.terms[term]; p != nil {
			t.tail = append(t.tail, p)
		}
	}
	if s.acc, _ = x.accs.Get().(*accumulator); s.acc == nil {
		s.acc = new(accumulator)
	}
	s.snap = x.snap
	s.snap.reader.AddRef()
	x.users.Add(1)
	return s, nil
}

// release gives back what a search holds. Its lists must not be used afterwards.
func (s *search) release() {
	s.acc.clear()
	s.index.accs.Put(s.acc)
	s.snap.reader.Close()
	s.index.users.Done()
}

// collect reads each term's postings in every segment and filters them.
func (s *search) collect() error {
	segments := s.snap.reader.Segments()
	dicts := make([]segment.TermDictionary, len(segments))
	for i := range s.terms {
		t := &s.terms[i]
		for _, list := range t.tail {
			s.take(t, list, nil)
		}
		for n, seg := range segments {
			e, err := s.postings(s.snap.segments[n], seg.Segment(), &dicts[n], t.term)
			if err != nil {
				return err
			}
			s.take(t, e.post, e)
		}
	}
	return nil
}

// postings returns a term's postings in a segment, from the cache or decoded.
func (s *search) postings(info *segmentInfo, seg segment.Segment, dict *segment.TermDictionary, term string) (_ *entry, err error) {
	cache := s.index.cfg.Cache
	if e := cache.get(info, term); e != nil {
		return e, nil
	}
	defer recoverCorrupt(&err)
	if *dict == nil {
		if *dict, err = seg.Dictionary(fieldText); err != nil {
			return nil, corrupt(err)
		}
	}
	post, err := s.decode(*dict, info, term)
	if err != nil {
		return nil, err
	}
	return cache.put(info, term, post), nil
}

// take filters a list by life and group, counts it into df and keeps what scores.
func (s *search) take(t *queryTerm, list []posting, e *entry) {
	if len(list) == 0 {
		return
	}
	if len(s.groups.list) == 0 {
		list = s.living(list, e)
		t.df += uint64(len(list))
		t.keep(list)
		return
	}
	in := s.living(s.inGroups(list), nil)
	t.keep(in)
	if s.params.Local {
		t.df += uint64(len(in))
	} else {
		t.df += s.count(list, e)
	}
}

func (t *queryTerm) keep(list []posting) {
	if len(list) > 0 {
		t.lists = append(t.lists, list)
	}
}

// count returns how many postings of a list are live.
func (s *search) count(list []posting, e *entry) uint64 {
	if n, ok := s.counted(list, e); ok {
		return n
	}
	n := uint64(0)
	for _, p := range list {
		if s.live(p.row) {
			n++
		}
	}
	s.recount(e, n)
	return n
}

// counted returns a list's live count where it is known without looking.
func (s *search) counted(list []posting, e *entry) (uint64, bool) {
	if s.deaths == 0 {
		return uint64(len(list)), true
	}
	if e == nil {
		return 0, false
	}
	c := e.counted.Load()
	return c & (1<<32 - 1), c != uncounted && uint32(c>>32) == s.deaths
}

func (s *search) recount(e *entry, n uint64) {
	if e != nil {
		e.counted.Store(uint64(s.deaths)<<32 | n)
	}
}

// live says whether a row that is known was live at the search's moment.
func (s *search) live(row uint32) bool {
	d := s.pages[row>>pageBits].died[row&(pageRows-1)].Load()
	return d == 0 || d > s.seq
}

// living returns a list's live postings: the list itself when all of them are.
func (s *search) living(list []posting, e *entry) []posting {
	if n, ok := s.counted(list, e); ok && n == uint64(len(list)) {
		return list
	}
	from := len(s.acc.scratch)
	for _, p := range list {
		if s.live(p.row) {
			s.acc.scratch = append(s.acc.scratch, p)
		}
	}
	out := s.acc.scratch[from:]
	s.recount(e, uint64(len(out)))
	if len(out) == len(list) {
		s.acc.scratch = s.acc.scratch[:from]
		return list
	}
	return out
}

// inGroups returns a list's postings whose rows are in the groups asked for.
func (s *search) inGroups(list []posting) []posting {
	from, out := len(s.acc.scratch), s.acc.scratch
	if s.groups.set == nil {
		want := s.groups.list[0]
		for _, p := range list {
			if s.pages[p.row>>pageBits].group[p.row&(pageRows-1)] == want {
				out = append(out, p)
			}
		}
	} else {
		for _, p := range list {
			if _, ok := s.groups.set[s.pages[p.row>>pageBits].group[p.row&(pageRows-1)]]; ok {
				out = append(out, p)
			}
		}
	}
	s.acc.scratch = out
	return out[from:]
}

// decode reads one term's postings out of a segment.
func (s *search) decode(dict segment.TermDictionary, info *segmentInfo, term string) ([]posting, error) {
	list, err := dict.PostingsList([]byte(term), nil, s.list)
	if err != nil {
		return nil, corrupt(err)
	}
	s.list = list
	n := list.Count()
	if n == 0 {
		return nil, nil
	}
	post := make([]posting, 0, n)
	s.iterator = list.Iterator(true, true, false, s.iterator)
	for {
		p, err := s.iterator.Next()
		if err != nil {
			return nil, corrupt(err)
		}
		if p == nil {
			return post, nil
		}
		length := p.(normalised).NormUint64()
		post = append(post, posting{info.rows[p.Number()], uint16(p.Frequency()), uint16(length)})
	}
}

// A groupSet is the groups asked for.
type groupSet struct {
	list []uint32
	set  map[uint32]struct{} // nil when one group is asked for
}

func newGroupSet(groups []uint32) groupSet {
	list := slices.Clone(groups)
	slices.Sort(list)
	g := groupSet{list: slices.Compact(list)}
	if len(g.list) > 1 {
		g.set = make(map[uint32]struct{}, len(g.list))
		for _, n := range g.list {
			g.set[n] = struct{}{}
		}
	}
	return g
}

// A cell sums up one row: its parts so far, and which terms they came from.
type cell struct {
	sum  float64
	mask uint32
}

// An accumulator holds a cell per row number, all zero when not in use.
type accumulator struct {
	cells   []cell
	touched []uint32
	marks   []uint32  // by row: place among the hits + 1; all zero when not in use
	scratch []posting // filtered lists, one behind the other
	spread  spread
}

func (a *accumulator) grow(rows int) {
	if len(a.cells) < rows {
		a.cells = make([]cell, rows)
	}
}

// mark makes the places of hits known by row; what it returns forgets them.
func (a *accumulator) mark(hits []Hit) (unmark func()) {
	if len(a.marks) < len(a.cells) {
		a.marks = make([]uint32, len(a.cells))
	}
	rows := make([]uint32, len(hits))
	for i, h := range hits {
		rows[i] = h.Row
		a.marks[h.Row] = uint32(i + 1)
	}
	return func() {
		for _, row := range rows {
			a.marks[row] = 0
		}
	}
}

// clear makes an accumulator fit for the next search.
func (a *accumulator) clear() {
	for _, row := range a.touched {
		a.cells[row] = cell{}
	}
	a.touched, a.scratch = a.touched[:0], a.scratch[:0]
}
