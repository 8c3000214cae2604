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
		if of := in.d.facets.attributes.named[name]; of != nil {
			values = *of.values.Load()
		}
		in.d.mu.RUnlock()
		all = all[:0]
		for _, v := range values {
			if one := in.valued(v); one.Memories > 0 {
				all = append(all, one)
			}
		}
	})
	return all, err
}

// valued counts the rows of a value that the question keeps.
func (in *question) valued(v *attributeValue) (one Valued) {
	for _, row := range *v.rows.Load() {
		if !in.Keep(row) {
			continue
		}
		made := oplog.Time(in.cols.at(row).Created)
		if one.Memories++; one.Memories == 1 {
			one = Valued{v.String(), 1, made, made}
		}
		one.First, one.Last = min(one.First, made), max(one.Last, made)
	}
	return one
}
