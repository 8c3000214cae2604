package index

import "github.com/cairndb/cairn/oplog"

// A Valued is a value of an attribute, as its JSON, with the memories that have it.
type Valued struct {
	Value       string
	Memories    int
	First, Last oplog.Time // when the oldest and the newest of them were made
}

// Values returns the values of an attribute that memories passing a filter have, in no order.
func (x *Index) Values(db oplog.DB, name string, f Filter) (all []Valued, _ error) {
	err := x.withQuestion(db, f, func(in *question) {
		in.d.mu.RLock()
		var values []*attributeValue
		if attr := in.d.facets.attributes.named[name]; attr != nil {
			values = *attr.values.Load()
		}
		in.d.mu.RUnlock()
		all = all[:0]
		for _, v := range values {
			if counted := in.valued(v); counted.Memories > 0 {
				all = append(all, counted)
			}
		}
	})
	return all, err
}

// valued counts the rows of a value that the question keeps.
func (in *question) valued(v *attributeValue) (counted Valued) {
	for _, row := range *v.rows.Load() {
		if !in.Keep(row) {
			continue
		}
		made := oplog.Time(in.cols.at(row).Created)
		if counted.Memories++; counted.Memories == 1 {
			counted = Valued{v.String(), 1, made, made}
		}
		counted.First, counted.Last = min(counted.First, made), max(counted.Last, made)
	}
	return counted
}
