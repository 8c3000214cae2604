package index

import "slices"

// left counts the rows of the moment that each filter leaves, in the order in which requests have them.
func (in *question) left() []Left {
	q := in.q
	type step struct {
		name   string
		set    bool
		admits func(row uint32, f *facet) bool
	}
	steps := []step{
		{"memory_type", len(q.Types) > 0, func(_ uint32, f *facet) bool { return slices.Contains(q.Types, f.kind) }},
		{"namespace", q.Namespace != "", func(_ uint32, f *facet) bool { return f.namespace == q.Namespace }},
		{"domain", q.Domain != "", func(_ uint32, f *facet) bool { return f.domain == q.Domain }},
		{"source", q.Source != "", func(_ uint32, f *facet) bool { return f.source == q.Source }},
		{"session_id", q.Session != "", func(row uint32, _ *facet) bool { return in.inSession(row) }},
		{"time_window", q.Since != 0 || q.Until != 0, func(row uint32, _ *facet) bool { return in.inWindow(row) }},
	}
	if q.Match != nil {
		for _, f := range q.Match.Parts() {
			p := in.passing(f)
			steps = append(steps, step{f.String(), true, func(row uint32, _ *facet) bool { return p.passes(row) }})
		}
	}
	steps = slices.DeleteFunc(steps, func(s step) bool { return !s.set })
	all := Filter{Consolidated: q.Consolidated, Spaces: q.Spaces, Private: q.Private, Within: q.Within}
	counts := make([]Left, len(steps))
	for i, s := range steps {
		counts[i].Filter = s.name
	}
	for row := range in.cols.n {
		f := in.d.facets.at(in.cols.facet(row).Load())
		if died := in.cols.died(row).Load(); died != 0 && died <= in.seq || in.expired[row] || !all.admits(f) {
			continue
		}
		for i, s := range steps {
			if !s.admits(row, f) {
				break
			}
			counts[i].Rows++
		}
	}
	return counts
}

// count counts the rows that the question keeps.
func (in *question) count() (n int) {
	if in.match.bits == nil {
		for row := range in.cols.n {
			if in.Keep(row) {
				n++
			}
		}
		return n
	}
	for row := range in.match.rows {
		if in.Keep(row) {
			n++
		}
	}
	return n
}
