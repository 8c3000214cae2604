package text

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// A search is one query against one moment of the index.
type search struct {
	index        *Index
	local        bool // statistics are of the groups alone
	groups       groupSet
	seq          uint64 // the moment
	deaths       uint32
	pages        []*page
	totals       Totals
	snap         *snapshot
	blocks       []*block     // of the tail; the last may have grown since
	tail         [][]tailTerm // the terms of the blocks at the moment; a block that still grows changes its lists alone
	openRows     int          // rows that the open block had at the moment
	substituting bool         // the search looks up substitutes for unknown terms
	// readings maps a term that is a second reading of a word to the term that every text with the word has.
	readings map[string]string
	// list and iterator are Bleve's. They are reused from term to term.
	list     segment.PostingsList
	iterator segment.PostingsIterator
	*scratch
}

// A scratch holds the buffers of one search. The cache reuses them for the next.
type scratch struct {
	terms   []queryTerm              // sorted
	dicts   []segment.TermDictionary // by segment; nil until the search needs it
	decoded []posting                // as they came from a segment
	sorted  []posting                // the same by row
	starts  []int                    // of windows, while postings are sorted
	arena   arena                    // lists of this search alone
	acc     accumulator
	results
}

// A queryTerm is a term with the postings that score and its document frequency.
type queryTerm struct {
	term  string
	df    uint64
	known bool        // some live row has it, in any group
	share float64     // of its weight that counts: less than 1 when substitutes replace it
	lists []list      // live rows in the groups only
	tail  [][]posting // of the blocks, not filtered yet
}

// gather captures the moment, and reads every term's postings. It returns nil when the query has no terms.
func (x *Index) gather(q Query) (*search, error) {
	terms, readings := q.Terms, map[string]string(nil)
	if terms == nil {
		terms, readings = analyzeQuery(q.Text)
	}
	terms = slices.Clone(terms[:min(len(terms), MaxQueryTokens)])
	slices.Sort(terms)
	terms = slices.Compact(terms)
	s, err := x.capture(q, terms)
	if s == nil || err != nil {
		return nil, err
	}
	s.readings = readings
	if x.segmentsChanged() {
		x.wakeIndexer() // for the next search: this one has captured its segments
	}
	if q.MaxDF > 0 {
		err = s.dropCommonTerms(q.MaxDF)
	}
	if err := cmp.Or(err, s.collect(0)); err != nil {
		s.release()
		return nil, x.reportDamage(err)
	}
	return s, nil
}

// capture fixes the moment: sequence, totals, tail postings and Bleve snapshot belong together.
func (x *Index) capture(q Query, terms []string) (*search, error) {
	s := &search{index: x, local: q.Local, groups: newGroupSet(q.Groups)}
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
	s.seq, s.deaths, s.pages = x.seq, x.rows.deaths, x.rows.pages
	s.totals = x.totals
	if s.local {
		s.totals = x.totalsLocked(s.groups.list)
	}
	s.blocks = append(slices.Clone(x.sealed), x.open)
	for _, b := range s.blocks {
		s.tail = append(s.tail, b.terms)
	}
	s.openRows = len(x.open.rows)
	s.appendTerms(terms)
	s.snap = x.snap
	s.snap.acquire()
	s.dicts = slices.Grow(s.dicts[:0], len(s.snap.segments))[:len(s.snap.segments)]
	x.users.Add(1)
	return s, nil
}

// appendTerms adds terms, with the postings that the tail has of them. The caller holds Index.mu.
func (s *search) appendTerms(terms []string) {
	from := len(s.terms)
	s.terms = slices.Grow(s.terms, len(terms))[:from+len(terms)]
	last := len(s.blocks) - 1
	laterRows := s.blocks[last].rows[s.openRows:]
	for i, term := range terms {
		t := &s.terms[from+i]
		t.term, t.share = term, 1
		for n, b := range s.blocks {
			list := b.postings(term)
			if n == last {
				list = withoutRows(list, laterRows)
			}
			if len(list) > 0 {
				t.tail = append(t.tail, list)
			}
		}
	}
}

// withoutRows returns a block's postings without those of its last rows.
func withoutRows(list []posting, rows []tailRow) []posting {
	for i := len(rows) - 1; i >= 0 && len(list) > 0; i-- {
		if list[len(list)-1].row == rows[i].row {
			list = list[:len(list)-1]
		}
	}
	return list
}

// release returns the buffers of a search to their pool. Its lists must not be used afterwards.
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
	s.acc.forget()
	s.results.forget()
	s.arena.forget()
}

// collect reads the postings of the terms from a number on in every segment and filters them.
func (s *search) collect(from int) error {
	for i := from; i < len(s.terms); i++ {
		t := &s.terms[i]
		for _, postings := range t.tail {
			s.addPostings(t, s.arena.pack(s.byRow(postings)), nil)
		}
		for n := range s.dicts {
			if err := s.addSegment(t, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSegment adds a term's postings in a segment. For a question about one group, as most are, it also caches the
// postings of that group alone.
func (s *search) addSegment(t *queryTerm, n int) error {
	info, cache := s.snap.segments[n], s.index.cfg.Cache
	var cached *entry // of the group
	oneGroup := len(s.groups.list) == 1 && s.local && len(info.rows) >= minCached
	var group int64
	if oneGroup {
		group = int64(s.groups.list[0])
		if cached = cache.get(info, t.term, group); cached != nil && (t.known || s.count(&cached.list, cached) > 0) {
			s.addGroup(t, s.liveOnly(cached.list, cached))
			return nil
		}
	}
	l, e, err := s.postings(n, t.term)
	if err != nil || len(l.post) == 0 {
		return err
	}
	if !oneGroup {
		s.addPostings(t, l, e)
		return nil
	}
	if cached == nil {
		cached = cache.put(info, t.term, group, s.inGroups(l).clone())
	}
	s.addGroup(t, s.liveOnly(cached.list, cached))
	t.known = t.known || s.count(&l, e) > 0
	return nil
}

// postings returns a term's postings in a segment, from the cache or decoded. The entry is nil when they are not
// cached.
func (s *search) postings(n int, term string) (_ list, _ *entry, err error) {
	info, cache := s.snap.segments[n], s.index.cfg.Cache
	if e := cache.get(info, term, allGroups); e != nil {
		return e.list, e, nil
	}
	defer recoverCorrupt(&err)
	if err := s.decode(n, term); err != nil {
		return list{}, nil, err
	}
	if len(s.decoded) == 0 && s.substituting {
		return list{}, nil, nil // not kept: most candidates for an unknown term are in few segments
	}
	l := s.arena.pack(s.byRow(s.decoded))
	if len(info.rows) < minCached {
		return l, nil, nil
	}
	e := cache.put(info, term, allGroups, l.clone())
	return e.list, e, nil
}

// addPostings filters a list by life and group, counts it into df and adds what scores to the term's lists.
func (s *search) addPostings(t *queryTerm, l list, e *entry) {
	if len(l.post) == 0 {
		return
	}
	if len(s.groups.list) == 0 {
		l = s.liveOnly(l, e)
		t.df += uint64(len(l.post))
		t.known = t.df > 0
		t.addList(l)
		return
	}
	matching := s.liveOnly(s.inGroups(l), nil)
	if s.local {
		s.addGroup(t, matching)
	} else {
		t.addList(matching)
		t.df += s.count(&l, e)
	}
	t.known = t.known || t.df > 0 || s.count(&l, e) > 0
}

// addGroup adds a list of live rows of the groups to a term, whose statistics are theirs.
func (s *search) addGroup(t *queryTerm, live list) {
	t.addList(live)
	t.df += uint64(len(live.post))
	t.known = t.known || t.df > 0
}

func (t *queryTerm) addList(l list) {
	if len(l.post) > 0 {
		t.lists = append(t.lists, l)
	}
}

// count returns how many postings of a list are live.
func (s *search) count(l *list, e *entry) uint64 {
	if n, ok := s.counted(l, e); ok {
		return n
	}
	n := uint64(0)
	l.each(func(r run) {
		for _, p := range r.post {
			if s.live(r.row(p)) {
				n++
			}
		}
	})
	s.cacheCount(e, n)
	return n
}

// counted returns a list's live count where it is known without looking.
func (s *search) counted(l *list, e *entry) (uint64, bool) {
	if s.deaths == 0 {
		return uint64(len(l.post)), true
	}
	if e == nil {
		return 0, false
	}
	c := e.counted.Load()
	return c & (1<<32 - 1), c != uncounted && uint32(c>>32) == s.deaths
}

func (s *search) cacheCount(e *entry, n uint64) {
	if e != nil {
		e.counted.Store(uint64(s.deaths)<<32 | n)
	}
}

// live reports whether a row that is known was live at the search's moment.
func (s *search) live(row uint32) bool {
	d := s.pages[row>>pageBits].died[row&(pageRows-1)].Load()
	return d == 0 || d > s.seq
}

// liveOnly returns a list's live postings: the list itself when all of them are.
func (s *search) liveOnly(l list, e *entry) list {
	if n, ok := s.counted(&l, e); ok && n == uint64(len(l.post)) {
		return l
	}
	l = s.arena.filter(l, s.live)
	s.cacheCount(e, uint64(len(l.post)))
	return l
}

// inGroups returns a list's postings whose rows are in the groups requested.
func (s *search) inGroups(l list) list {
	group := func(row uint32) uint32 { return s.pages[row>>pageBits].group[row&(pageRows-1)] }
	if s.groups.set == nil {
		want := s.groups.list[0]
		return s.arena.filter(l, func(row uint32) bool { return group(row) == want })
	}
	return s.arena.filter(l, func(row uint32) bool {
		_, ok := s.groups.set[group(row)]
		return ok
	})
}

// decode reads one term's postings out of a segment.
func (s *search) decode(n int, term string) error {
	s.decoded = s.decoded[:0]
	dict, err := s.dict(n)
	if err != nil {
		return err
	}
	list, err := dict.PostingsList([]byte(term), nil, s.list)
	if err != nil {
		return corrupt(err)
	}
	if s.list = list; list.Count() == 0 {
		return nil
	}
	if err := checkChunks(list, s.snap.open()[n].Segment()); err != nil {
		return err
	}
	rows := s.snap.segments[n].rows
	s.iterator = list.Iterator(true, true, false, s.iterator)
	for {
		p, err := s.iterator.Next()
		if err != nil {
			return corrupt(err)
		}
		if p == nil {
			return nil
		}
		tf, length := p.Frequency(), p.(normalised).NormUint64()
		if tf == 0 || tf > math.MaxUint16 || length > math.MaxUint16 { // a list cannot hold it
			return corrupt(fmt.Errorf("a row that has a word %d times, and %d words", tf, length))
		}
		s.decoded = append(s.decoded, posting{rows[p.Number()], uint16(tf), uint16(length)})
	}
}

// A groupSet holds the groups requested.
type groupSet struct {
	list []uint32
	set  map[uint32]struct{} // nil when one group is requested
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
