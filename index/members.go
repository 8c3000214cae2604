package index

import (
	"slices"
	"sync/atomic"
)

// members are the rows of a facet, so that a filter which leaves few rows does not cost a look at all. One goroutine
// changes them.
type members struct {
	rows atomic.Pointer[[]uint32] // every row that has the facet, and some that had it or are dead; a row may be there twice
	live atomic.Int64             // how many rows have it
}

// membersSlack bounds a facet's list: it may hold as many rows without the facet as with it, and so many more.
const membersSlack = 64

// enter gives a live row its facet.
func (d *database) enter(rows *columnView, row, facet uint32) {
	rows.facet(row).Store(facet)
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

// leave takes a row that dies, or gets another facet, out of its facet's count.
func (d *database) leave(rows *columnView, row uint32) {
	(*d.facets.members.Load())[rows.facet(row).Load()].live.Add(-1)
}

// among are the lists of the rows that the filter may admit, and how many live rows these have: the same on every
// replica.
func (in *question) among() (lists [][]uint32, most int) {
	lists = [][]uint32{}
	for n, m := range *in.d.facets.members.Load() {
		if live := int(m.live.Load()); live > 0 && in.verdicts.passes(uint32(n)) {
			lists, most = append(lists, *m.rows.Load()), most+live
		}
	}
	return lists, most
}
