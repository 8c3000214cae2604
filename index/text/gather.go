package text

import (
	"math"
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
	most   uint64 // live rows that a term may have to be collected
	snap   *snapshot
	blocks []*block     // of the tail; the last may have grown since
	tail   [][]tailTerm // the terms of the blocks at the moment; a block that still grows changes its lists alone
	had    int          // rows that the last block had at the moment
	// list and iterator are Bleve's, used again from term to term.
	list     segment.PostingsList
	iterator segment.PostingsIterator
	*scratch
}

// A scratch holds the buffers of one search. The cache lends them to the next.
type scratch struct {
	terms   []queryTerm // sorted
	dicts   []segment.TermDictionary
	decoded []posting // as they came from a segment
	kept    []posting // lists of this search alone, one behind the other
	starts  []int     // of windows, while postings are sorted by window
	adder   adder
	hits    []ranked
	chosen  rowSet
}

// A queryTerm is a term with the postings that score and its document frequency. Lists are in the order of windows.
type queryTerm struct {
	term  string
	df    uint64
	known bool        // some live row has it, of the groups or not
	share float64     // of its weight that counts: less than 1 when others stand for it
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
	if x.segmentsChanged() {
		x.poke() // for the next search: this one has its segments
	}
	if err := s.collect(0); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// capture fixes the moment: sequence, totals, tail postings and Bleve snapshot belong together.
func (x *Index) capture(q Query, terms []string) (*search, error) {
	s := &search{index: x, params: x.cfg.Params, groups: newGroupSet(q.Groups)}
	if q.Params != nil {
		s.params = q.Params.withDefaults()
	}
	if s.scratch, _ = x.cfg.Cache.idle.Get().(*scratch); s.scratch == nil {
		s.scratch = new(scratch)
	}
	s.terms = s.terms[:0]
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, ErrClosed
	}
	if len(terms) == 0 {
		return nil, nil
	}
	s.seq, s.deaths, s.pages, s.rows = x.seq, x.rows.deaths, x.rows.pages, len(x.rows.pages)<<pageBits
	s.totals, s.most = x.totals, math.MaxUint64
	if q.Share > 0 {
		s.most = x.totals.Rows / q.Share
	}
	if s.params.Local {
		s.totals = x.totalsLocked(s.groups.list)
	}
	s.blocks = append(slices.Clone(x.sealed), x.open)
	for _, b := range s.blocks {
		s.tail = append(s.tail, b.terms)
	}
	s.had = len(x.open.rows)
	s.take(terms)
	s.snap = x.snap
	s.snap.acquire()
	x.users.Add(1)
	return s, nil
}

// take adds terms with their postings in the tail. The caller holds Index.mu.
func (s *search) take(terms []string) {
	from := len(s.terms)
	s.terms = slices.Grow(s.terms, len(terms))[:from+len(terms)]
	last := len(s.blocks) - 1
	since := s.blocks[last].rows[s.had:]
	for i, term := range terms {
		t := &s.terms[from+i]
		t.term, t.share = term, 1
		for n, b := range s.blocks {
			list := b.postings(term)
			if n == last {
				list = without(list, since)
			}
			if len(list) > 0 {
				t.tail = append(t.tail, list)
			}
		}
	}
}

// without returns a block's postings but those of its last rows.
func without(list []posting, rows []tailRow) []posting {
	for i := len(rows) - 1; i >= 0 && len(list) > 0; i-- {
		if list[len(list)-1].row == rows[i].row {
			list = list[:len(list)-1]
		}
	}
	return list
}

// release gives back what a search holds. Its lists must not be used afterwards.
func (s *search) release() {
	s.snap.release()
	s.scratch.forget()
	s.index.cfg.Cache.idle.Put(s.scratch)
	s.index.users.Done()
}

// forget drops every reference and keeps the buffers.
func (s *scratch) forget() {
	s.terms = s.terms[:cap(s.terms)] // some were left out
	for i := range s.terms {
		t := &s.terms[i]
		clear(t.lists)
		clear(t.tail)
		*t = queryTerm{lists: t.lists[:0], tail: t.tail[:0]}
	}
	clear(s.dicts)
	s.adder.forget()
	s.kept = s.kept[:0]
}

// collect reads the postings of the terms from a number on in every segment and filters them.
func (s *search) collect(from int) error {
	segments := s.snap.open()
	s.dicts = slices.Grow(s.dicts[:0], len(segments))[:len(segments)]
	for i := from; i < len(s.terms); i++ {
		t := &s.terms[i]
		if common, err := s.tooCommon(t, segments); err != nil {
			return err
		} else if common {
			continue
		}
		for _, list := range t.tail {
			s.addPostings(t, s.byWindow(list), nil)
		}
		for n, seg := range segments {
			list, e, err := s.postings(s.snap.segments[n], seg.Segment(), &s.dicts[n], t.term)
			if err != nil {
				return err
			}
			s.addPostings(t, list, e)
		}
	}
	return nil
}

// postings returns a term's postings in a segment, from the cache or decoded. The entry is nil when they are not cached.
func (s *search) postings(info *segmentInfo, seg segment.Segment, dict *segment.TermDictionary, term string) (_ []posting, _ *entry, err error) {
	cache := s.index.cfg.Cache
	if e := cache.get(info, term); e != nil {
		return e.post, e, nil
	}
	defer recoverCorrupt(&err)
	if *dict == nil {
		if *dict, err = seg.Dictionary(fieldText); err != nil {
			return nil, nil, corrupt(err)
		}
	}
	if err := s.decode(*dict, info, term); err != nil {
		return nil, nil, err
	}
	if len(s.decoded) == 0 {
		return nil, nil, nil // not kept: most guesses at an unknown term are in few segments
	}
	list := s.byWindow(s.decoded)
	if len(info.rows) < minCached {
		return s.retain(list), nil, nil
	}
	e := cache.put(info, term, slices.Clone(list))
	return e.post, e, nil
}

// retain copies a list into memory that lasts until the search is released.
func (s *search) retain(list []posting) []posting {
	from := len(s.kept)
	s.kept = append(s.kept, list...)
	return s.kept[from:]
}

// byWindow returns a list in the order of windows: itself if it is in that order.
func (s *search) byWindow(list []posting) []posting {
	last, sorted := uint32(0), true
	for _, p := range list {
		w := p.row >> windowBits
		sorted = sorted && w >= last
		last = max(last, w)
	}
	if sorted {
		return list
	}
	s.starts = slices.Grow(s.starts[:0], int(last)+2)[:last+2]
	clear(s.starts)
	for _, p := range list {
		s.starts[p.row>>windowBits+1]++
	}
	for w := range last {
		s.starts[w+1] += s.starts[w]
	}
	from := len(s.kept)
	s.kept = slices.Grow(s.kept, len(list))[:from+len(list)]
	out := s.kept[from:]
	for _, p := range list {
		at := &s.starts[p.row>>windowBits]
		out[*at] = p
		*at++
	}
	return out
}

// addPostings filters a list by life and group, counts it into df and adds what scores to the term's lists.
func (s *search) addPostings(t *queryTerm, list []posting, e *entry) {
	if len(list) == 0 {
		return
	}
	if len(s.groups.list) == 0 {
		list = s.living(list, e)
		t.df += uint64(len(list))
		t.known = t.df > 0
		t.addList(list)
		return
	}
	in := s.living(s.inGroups(list), nil)
	t.addList(in)
	if s.params.Local {
		t.df += uint64(len(in))
	} else {
		t.df += s.count(list, e)
	}
	t.known = t.known || t.df > 0 || s.count(list, e) > 0
}

func (t *queryTerm) addList(list []posting) {
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
	from := len(s.kept)
	for _, p := range list {
		if s.live(p.row) {
			s.kept = append(s.kept, p)
		}
	}
	out := s.kept[from:]
	s.recount(e, uint64(len(out)))
	if len(out) == len(list) {
		s.kept = s.kept[:from]
		return list
	}
	return out
}

// inGroups returns a list's postings whose rows are in the groups asked for.
func (s *search) inGroups(list []posting) []posting {
	from, out := len(s.kept), s.kept
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
	s.kept = out
	return out[from:]
}

// decode reads one term's postings out of a segment.
func (s *search) decode(dict segment.TermDictionary, info *segmentInfo, term string) error {
	s.decoded = s.decoded[:0]
	list, err := dict.PostingsList([]byte(term), nil, s.list)
	if err != nil {
		return corrupt(err)
	}
	if s.list = list; list.Count() == 0 {
		return nil
	}
	s.iterator = list.Iterator(true, true, false, s.iterator)
	for {
		p, err := s.iterator.Next()
		if err != nil {
			return corrupt(err)
		}
		if p == nil {
			return nil
		}
		length := p.(normalised).NormUint64()
		s.decoded = append(s.decoded, posting{info.rows[p.Number()], uint16(p.Frequency()), uint16(length)})
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
