package index

import (
	"slices"
	"sync/atomic"

	"github.com/cairndb/cairn/index/vector"
)

// members lists the rows of a facet, so that a filter that leaves few rows does not have to scan all. One goroutine
// changes it.
type members struct {
	rows atomic.Pointer[[]uint32] // all rows with the facet, and some that had it or are dead; a row may occur twice
	live atomic.Int64             // how many rows have it
}

// membersSlack bounds a facet's list: it may hold as many rows without the facet as with it, plus this number.
const membersSlack = 64

// addToFacet gives a live row a facet, adds it to the facet's list and counts it.
func (d *database) addToFacet(rows *columnView, row, facet uint32) {
	rows.facet(row).Store(facet)
	k := rows.chunks[row/chunkRows]
	k.live++
	k.noteTimes(rows.at(row))
	m := (*d.facets.members.Load())[facet]
	m.live.Add(1)
	list := append(*m.rows.Load(), row) // searches under way have the shorter one
	if len(list) > 2*int(m.live.Load())+membersSlack {
		list = slices.DeleteFunc(slices.Clone(list), func(r uint32) bool {
			return r != row && (rows.died(r).Load() != 0 || rows.facet(r).Load() != facet)
		})
		slices.Sort(list)
		list = slices.Compact(list)
	}
	m.rows.Store(&list)
}

// removeFromFacet subtracts a row that dies, or gets another facet, from its facet's count.
func (d *database) removeFromFacet(rows *columnView, row uint32) {
	at := row / chunkRows
	if rows.chunks[at].live--; rows.chunks[at].live == 0 {
		d.emptyChunks = append(d.emptyChunks, int(at))
	}
	if m := (*d.facets.members.Load())[rows.facet(row).Load()]; m.live.Add(-1) == 0 {
		m.rows.Store(new([]uint32))
	}
}

// candidateLists returns lists of the rows that the filter may admit, and how many live rows they have: the same on
// every replica. It returns none if a filter by attributes leaves more rows than are compared one by one.
func (in *question) candidateLists() (lists [][]uint32, total int) {
	if in.match.bits != nil {
		if rows, few := in.fewRows(); few {
			return [][]uint32{rows}, len(rows)
		}
		return nil, 0
	}
	lists = [][]uint32{}
	add := func(n uint32, m *members) {
		if live := int(m.live.Load()); live > 0 && in.verdicts.passes(n) {
			lists, total = append(lists, *m.rows.Load()), total+live
		}
	}
	if in.q.Namespace == "" {
		for n, m := range *in.d.facets.members.Load() {
			add(uint32(n), m)
		}
		return lists, total
	}
	in.d.mu.RLock()
	var ofNamespace []uint32
	if ns := in.d.namespaces[in.q.Namespace]; ns != nil {
		ofNamespace = ns.facets
	}
	in.d.mu.RUnlock()
	all := *in.d.facets.members.Load()
	for _, n := range ofNamespace {
		add(n, all[n])
	}
	return lists, total
}

// fewRows returns the rows that the question keeps, if they are vector.DirectRows or fewer.
func (in *question) fewRows() (rows []uint32, few bool) {
	set := in.match.count()
	if set > vector.DirectRows && in.match.test == nil && in.q.matchAlone(in.d.facets) && set-in.dead() > vector.DirectRows {
		return nil, false
	}
	rows = make([]uint32, 0, min(set, vector.DirectRows))
	for row := range in.match.rows {
		if !in.Keep(row) {
			continue
		}
		if len(rows) == vector.DirectRows {
			return nil, false
		}
		rows = append(rows, row)
	}
	return rows, true
}

// dead counts the rows that are dead now. While rows come, it may be off by a few.
func (in *question) dead() int {
	return max(int(in.d.cols.view().n)-in.d.live(), 0)
}
