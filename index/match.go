package index

import (
	"math/bits"
	"slices"

	"github.com/cairndb/cairn/oplog/filter"
)

// A filter is evaluated before the scans: each test once for each distinct value of its attribute, or each facet. The
// rows of values that pass are bits, which the scans test. Tests that need a row's column, such as its time, run on
// the rows whose bits are set.

// A part holds the rows that pass a part of a filter: a row passes if its bit is set and test returns true. Nil bits
// count as all set, and a nil test admits every row.
type part struct {
	bits []uint64
	test func(row uint32) bool
}

// has reports whether a row's bit is set. The row is below the row count of the question's moment.
func (p *part) has(row uint32) bool { return p.bits == nil || p.bits[row/64]>>(row%64)&1 != 0 }

func (p *part) passes(row uint32) bool { return p.has(row) && (p.test == nil || p.test(row)) }

// rows yields the rows whose bits are set.
func (p *part) rows(yield func(row uint32) bool) {
	for i, word := range p.bits {
		for ; word != 0; word &= word - 1 {
			if !yield(uint32(i*64 + bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}

// count counts the bits that are set.
func (p *part) count() (n int) {
	for _, word := range p.bits {
		n += bits.OnesCount64(word)
	}
	return n
}

// bitmaps holds the bit buffers for the parts of one question. The next question reuses them.
type bitmaps struct {
	buffers [][]uint64
	used    int
}

// take returns an empty bitmap of n rows.
func (b *bitmaps) take(n uint32) []uint64 {
	words := int(n+63) / 64
	if b.used == len(b.buffers) {
		b.buffers = append(b.buffers, nil)
	}
	bitmap := &b.buffers[b.used]
	b.used++
	if cap(*bitmap) < words {
		*bitmap = make([]uint64, words, words+words/4)
	}
	*bitmap = (*bitmap)[:words]
	clear(*bitmap)
	return *bitmap
}

// facetFields are the fields of a memory that its facet has, by their names in a filter.
var facetFields = map[string]func(*facet) string{
	"@memory_type": func(f *facet) string { return f.kind },
	"@namespace":   func(f *facet) string { return f.namespace },
	"@domain":      func(f *facet) string { return f.domain },
	"@source":      func(f *facet) string { return f.source },
	"@tier":        func(f *facet) string { return f.tier },
	"@writer":      func(f *facet) string { return f.writer },
	"@dialect":     func(f *facet) string { return f.dialect },
	"@agent":       func(f *facet) string { return f.agent },
	"@trust":       func(f *facet) string { return f.trust },
}

// passing finds the rows that pass a filter; nil lets all pass.
func (in *question) passing(f *filter.Filter) part {
	switch {
	case f == nil:
		return part{}
	case f.Op == filter.All:
		return in.passingAll(f.Of)
	case f.Op == filter.Any:
		return in.passingAny(f.Of)
	case f.Op == filter.Not:
		return in.passingNot(in.passing(f.Of[0]))
	}
	if field := facetFields[f.Name]; field != nil {
		return in.passingFacets(f, field)
	}
	switch f.Name {
	case "@created_at":
		return part{test: func(row uint32) bool { return f.Holds(filter.Time(in.cols.at(row).Created)) }}
	case "@updated_at":
		return part{test: func(row uint32) bool { return f.Holds(filter.Time(in.cols.at(row).changed())) }}
	case "@importance":
		return part{test: func(row uint32) bool { return f.Holds(filter.Number(in.cols.at(row).row().Importance)) }}
	case "@session_id":
		return part{test: func(row uint32) bool {
			var id string
			if n := in.cols.at(row).Session; n != 0 {
				id = in.sessions[n].session
			}
			return f.Holds(filter.TextOrNone(id))
		}}
	}
	return in.passingValues(f)
}

func (in *question) passingAll(filters []*filter.Filter) (p part) {
	var tests []func(uint32) bool
	for _, f := range filters {
		next := in.passing(f)
		switch {
		case next.bits == nil:
		case p.bits == nil:
			p.bits = next.bits
		default:
			for i, word := range next.bits {
				p.bits[i] &= word
			}
		}
		if next.test != nil {
			tests = append(tests, next.test)
		}
	}
	if len(tests) > 0 {
		p.test = func(row uint32) bool {
			return !slices.ContainsFunc(tests, func(test func(uint32) bool) bool { return !test(row) })
		}
	}
	return p
}

func (in *question) passingAny(filters []*filter.Filter) part {
	parts, bitsOnly := make([]part, len(filters)), true
	for i, f := range filters {
		parts[i] = in.passing(f)
		if parts[i].bits == nil && parts[i].test == nil {
			return part{}
		}
		bitsOnly = bitsOnly && parts[i].test == nil
	}
	if !bitsOnly {
		return part{test: func(row uint32) bool {
			return slices.ContainsFunc(parts, func(p part) bool { return p.passes(row) })
		}}
	}
	for _, p := range parts[1:] {
		for i, word := range p.bits {
			parts[0].bits[i] |= word
		}
	}
	return parts[0]
}

func (in *question) passingNot(p part) part {
	if p.test != nil {
		return part{test: func(row uint32) bool { return !p.passes(row) }}
	}
	if p.bits == nil {
		return part{bits: in.take(in.cols.n)}
	}
	for i := range p.bits {
		p.bits[i] = ^p.bits[i]
	}
	if extra := in.cols.n % 64; extra != 0 {
		p.bits[len(p.bits)-1] &= 1<<extra - 1
	}
	return p
}

// passingFacets decides about each facet by one of its fields.
func (in *question) passingFacets(f *filter.Filter, field func(*facet) string) part {
	set := in.take(in.cols.n)
	list := *in.d.facets.list.Load()
	for n, m := range *in.d.facets.members.Load() {
		if n < len(list) && f.Holds(filter.TextOrNone(field(list[n]))) {
			for _, row := range *m.rows.Load() {
				if row < in.cols.n && in.cols.facet(row).Load() == uint32(n) {
					set[row/64] |= 1 << (row % 64)
				}
			}
		}
	}
	return part{bits: set}
}

// passingValues decides about each value of an attribute, or looks up the few that can pass.
func (in *question) passingValues(f *filter.Filter) part {
	set := in.take(in.cols.n)
	add := func(v *attributeValue) {
		for _, row := range *v.rows.Load() {
			if row < in.cols.n {
				set[row/64] |= 1 << (row % 64)
			}
		}
	}
	in.d.mu.RLock()
	attr := in.d.facets.attributes.named[f.Name]
	var exact []*attributeValue
	found := false
	if attr != nil && !attr.lists.Load() {
		var forms []string
		forms, found = f.Exactly()
		for _, form := range forms {
			if n, ok := attr.number[form]; ok {
				exact = append(exact, (*attr.values.Load())[n])
			}
		}
	}
	in.d.mu.RUnlock()
	switch {
	case attr == nil:
	case found:
		for _, v := range exact {
			add(v)
		}
	default:
		for _, v := range *attr.values.Load() {
			if f.Holds(v.Value) {
				add(v)
			}
		}
	}
	return part{bits: set}
}
