package text

import (
	"slices"

	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// dropCommonTerms drops the terms that more than maxDF rows have, counting dead rows and rows of other groups. It
// bounds the postings that a search reads, however many rows there are.
func (s *search) dropCommonTerms(maxDF int) (err error) {
	defer recoverCorrupt(&err)
	s.terms = slices.DeleteFunc(s.terms, func(t queryTerm) bool {
		n := 0
		for _, postings := range t.tail {
			n += len(postings)
		}
		for i := 0; i < len(s.dicts) && n <= maxDF && err == nil; i++ {
			var dict segment.TermDictionary
			var list segment.PostingsList
			if dict, err = s.dict(i); err == nil {
				list, err = dict.PostingsList([]byte(t.term), nil, s.list)
			}
			if err == nil {
				s.list = list
				n += int(list.Count())
			}
		}
		return n > maxDF
	})
	if err != nil {
		return corrupt(err)
	}
	return nil
}
