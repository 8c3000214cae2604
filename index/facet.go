package index

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cairndb/cairn/oplog"
)

// A facet is the set of filterable fields that many rows share. A row holds its facet's number, so a filter decides
// once for each facet and then compares numbers only. A row whose status or tier changes gets another facet.
type facet struct {
	kind, namespace, domain, source, tier, owner, writer, dialect, agent, trust string

	status oplog.Status
}

func facetOf(m *oplog.Memory) facet {
	return facet{kind: m.Type, namespace: m.Namespace, domain: m.Domain, source: m.Source, tier: m.Tier, owner: m.Owner,
		writer: m.Writer, dialect: m.Dialect, agent: m.Agent, trust: oplog.TrustOf(m.Trust), status: m.Status}
}

// facets holds the facets by number, in the order in which they came. One goroutine adds.
type facets struct {
	number     map[facet]uint32
	list       atomic.Pointer[[]*facet]
	members    atomic.Pointer[[]*members] // of each in list
	merged     atomic.Bool                // there is, or was, a memory that was merged into another
	verdicts   sync.Pool                  // of *[]atomic.Uint32
	attributes attributes                 // the memories' own attributes; readers look names up under the database's mu
}

func newFacets() *facets {
	f := &facets{number: map[facet]uint32{}}
	f.list.Store(new([]*facet))
	f.members.Store(new([]*members))
	f.of(facet{status: oplog.Tombstoned}) // rows that were dead when a checkpoint was written have the number 0
	return f
}

// facet returns the number of a facet. The first row of a facet adds it to its namespace.
func (d *database) facet(v facet) uint32 {
	n, known := d.facets.of(v)
	if !known {
		ns := d.namespace(v.namespace)
		ns.facets = append(ns.facets, n)
	}
	return n
}

// of returns the number of a facet; known is false if it is new.
func (f *facets) of(v facet) (n uint32, known bool) {
	n, known = f.number[v]
	if !known {
		list := append(*f.list.Load(), &v)
		n = uint32(len(list) - 1)
		f.number[v] = n
		f.list.Store(&list)
		m := &members{}
		m.rows.Store(new([]uint32))
		all := append(*f.members.Load(), m)
		f.members.Store(&all)
		if v.status == oplog.Consolidated {
			f.merged.Store(true)
		}
	}
	return n, known
}

// texts returns a facet's strings in the order of a checkpoint.
func (f *facet) texts() []*string {
	return []*string{&f.kind, &f.namespace, &f.domain, &f.source, &f.tier, &f.owner, &f.writer, &f.dialect, &f.agent, &f.trust}
}

// at returns the facet of a number.
func (f *facets) at(n uint32) *facet { return (*f.list.Load())[n] }

// verdicts remembers for each facet whether a question's filter admits it. The goroutines of one search share it: a
// verdict is one atomic word, and two goroutines that compute the same one do no harm.
type verdicts struct {
	filter  *Filter
	facets  *facets
	verdict *[]atomic.Uint32 // by facet: 0 is not decided yet
}

const (
	rejected = 1
	passed   = 2
)

func newVerdicts(filter *Filter, f *facets) verdicts {
	n := len(*f.list.Load())
	v, _ := f.verdicts.Get().(*[]atomic.Uint32)
	if v == nil || cap(*v) < n {
		buffer := make([]atomic.Uint32, n+n/2)
		v = &buffer
	}
	*v = (*v)[:n]
	clear(*v)
	return verdicts{filter, f, v}
}

func (s *verdicts) release() { s.facets.verdicts.Put(s.verdict) }

// passes reports whether the filter admits the rows of a facet.
func (s *verdicts) passes(n uint32) bool {
	if int(n) >= len(*s.verdict) { // made since the question
		return s.filter.admits(s.facets.at(n))
	}
	v := &(*s.verdict)[n]
	switch v.Load() {
	case passed:
		return true
	case rejected:
		return false
	}
	if s.filter.admits(s.facets.at(n)) {
		v.Store(passed)
		return true
	}
	v.Store(rejected)
	return false
}

// admits reports whether the filter admits a facet.
func (q *Filter) admits(f *facet) bool {
	switch {
	case f.status == oplog.Consolidated && !q.Consolidated,
		len(q.Types) > 0 && !slices.Contains(q.Types, f.kind),
		!q.Reach().Has(f.namespace),
		q.Domain != "" && q.Domain != f.domain,
		q.Source != "" && q.Source != f.source,
		q.Private != "" && f.namespace != q.Within && strings.HasPrefix(f.namespace, q.Private),
		q.Tier != "" && q.Tier != f.tier,
		q.Owner != "" && q.Owner != f.owner:
		return false
	}
	return true
}

// Reach returns the namespaces that the filter admits.
func (q *Filter) Reach() oplog.Reach { return oplog.Reach{Name: q.Namespace, Within: q.Spaces} }

// everything reports whether the question has no filter at all, so that Keep need not look at facets.
func (q *Filter) everything(f *facets) bool { return q.Match == nil && q.matchAlone(f) }

// matchAlone reports whether nothing but Match filters.
func (q *Filter) matchAlone(f *facets) bool {
	return (q.Consolidated || !f.merged.Load()) && len(q.Types) == 0 && q.Reach().All() && q.Domain == "" && q.Source == "" &&
		q.Private == "" && q.Tier == "" && q.Owner == "" && !q.needsColumn()
}

// needsColumn reports whether a filter needs the row's column because its facet does not decide it.
func (q *Filter) needsColumn() bool {
	return q.Since != 0 || q.Until != 0 || q.Session != "" || q.Admit != nil
}
