package text

import "sync/atomic"

const (
	pageBits = 12
	pageRows = 1 << pageBits
)

// A rowInfo is what is remembered of every row number ever seen: 16 bytes.
type rowInfo struct {
	died   atomic.Uint64 // sequence of the change that deleted it; 0 while live
	group  uint32
	length uint16
	known  bool
}

// liveAt says whether a known row is live as of a sequence number.
func (r *rowInfo) liveAt(seq uint64) bool {
	d := r.died.Load()
	return d == 0 || d > seq
}

type page [pageRows]rowInfo

// A rowTable holds rowInfos by row number in pages, so that growing never moves
// one that a search is reading.
//
// Invariant: an entry but for died is written once, under Index.mu, before any
// view that can reach it is captured.
type rowTable struct {
	pages  []*page
	deaths uint32 // rows that died since Open
}

func (t *rowTable) find(row uint32) *rowInfo {
	if p := int(row >> pageBits); p < len(t.pages) && t.pages[p] != nil {
		if r := &t.pages[p][row&(pageRows-1)]; r.known {
			return r
		}
	}
	return nil
}

// add makes room for a row and returns its entry.
func (t *rowTable) add(row uint32) *rowInfo {
	p := int(row >> pageBits)
	if p >= len(t.pages) {
		grown := make([]*page, p+1, max(p+1, 2*len(t.pages)))
		copy(grown, t.pages)
		t.pages = grown
	}
	if t.pages[p] == nil {
		t.pages[p] = new(page)
	}
	return &t.pages[p][row&(pageRows-1)]
}
