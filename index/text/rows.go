package text

import "sync/atomic"

const (
	pageBits = 12
	pageRows = 1 << pageBits
)

// A page holds 4,096 rows of the row table, 15 bytes each, in columns: a
// filtered search reads groups only.
type page struct {
	group  [pageRows]uint32
	died   [pageRows]atomic.Uint64 // sequence of the change that deleted the row; 0 while live
	length [pageRows]uint16
	known  [pageRows]bool
}

// A rowTable remembers every row number ever seen. Its pages stay where they
// are, so that growing never moves one that a search is reading.
//
// Invariant: an entry but for died is written once, under Index.mu, before any
// view that can reach it is captured.
type rowTable struct {
	pages  []*page
	deaths uint32 // rows that died, those found dead by Open included
}

// at returns the page and place of a row that is known, or nil.
func (t *rowTable) at(row uint32) (*page, uint32) {
	if n := int(row >> pageBits); n < len(t.pages) && t.pages[n] != nil {
		if p, i := t.pages[n], row&(pageRows-1); p.known[i] {
			return p, i
		}
	}
	return nil, 0
}

// add makes a row known.
func (t *rowTable) add(row, group uint32, length uint16) (*page, uint32) {
	n := int(row >> pageBits)
	if n >= len(t.pages) {
		grown := make([]*page, n+1, max(n+1, 2*len(t.pages)))
		copy(grown, t.pages)
		t.pages = grown
	}
	if t.pages[n] == nil {
		t.pages[n] = new(page)
	}
	p, i := t.pages[n], row&(pageRows-1)
	p.group[i], p.length[i], p.known[i] = group, length, true
	return p, i
}

// live reports whether a known row has not died.
func (t *rowTable) live(row uint32) bool {
	p, i := t.at(row)
	return p != nil && p.died[i].Load() == 0
}
