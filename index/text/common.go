package text

import (
	"math"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// tooCommon says whether more live rows have a term than may. Postings are looked at only where their number leaves it
// open which of them live.
func (s *search) tooCommon(t *queryTerm, segments []*scorch.SegmentSnapshot) (bool, error) {
	if s.most == math.MaxUint64 {
		return false, nil
	}
	var all uint64
	for _, list := range t.tail {
		all += uint64(len(list))
	}
	for n, seg := range segments {
		if all > s.most+uint64(s.deaths) {
			return true, nil
		}
		count, err := s.length(s.snap.segments[n], seg.Segment(), &s.dicts[n], t.term)
		if err != nil {
			return false, err
		}
		all += count
	}
	if all <= s.most || all > s.most+uint64(s.deaths) {
		return all > s.most, nil
	}
	all = 0
	for _, list := range t.tail {
		l := s.arena.pack(s.byRow(list))
		all += s.count(&l, nil)
	}
	for n, seg := range segments {
		l, e, err := s.postings(s.snap.segments[n], seg.Segment(), &s.dicts[n], t.term)
		if err != nil {
			return false, err
		}
		all += s.count(&l, e)
	}
	return all > s.most, nil
}

// length returns how many postings a term has in a segment.
func (s *search) length(info *segmentInfo, seg segment.Segment, dict *segment.TermDictionary, term string) (_ uint64, err error) {
	if e := s.index.cfg.Cache.get(info, term, allGroups); e != nil {
		return uint64(len(e.post)), nil
	}
	defer recoverCorrupt(&err)
	if *dict == nil {
		if *dict, err = seg.Dictionary(fieldText); err != nil {
			return 0, corrupt(err)
		}
	}
	list, err := (*dict).PostingsList([]byte(term), nil, s.list)
	if err != nil {
		return 0, corrupt(err)
	}
	s.list = list
	return list.Count(), nil
}
