package text

import "slices"

// leaveOutCommon leaves out the terms that more rows have than a bound, dead rows and those of other groups counted. So
// what a search reads is bounded, however many rows there are.
func (s *search) leaveOutCommon(most int) (err error) {
	defer recoverCorrupt(&err)
	segments := s.snap.open()
	s.dicts = slices.Grow(s.dicts[:0], len(segments))[:len(segments)]
	s.terms = slices.DeleteFunc(s.terms, func(t queryTerm) bool {
		n := 0
		for _, postings := range t.tail {
			n += len(postings)
		}
		for i, seg := range segments {
			if n > most || err != nil {
				break
			}
			if s.dicts[i] == nil {
				if s.dicts[i], err = seg.Segment().Dictionary(fieldText); err != nil {
					err = corrupt(err)
					break
				}
			}
			list, failed := s.dicts[i].PostingsList([]byte(t.term), nil, s.list)
			if failed != nil {
				err = corrupt(failed)
				break
			}
			s.list = list
			n += int(list.Count())
		}
		return n > most
	})
	return err
}
