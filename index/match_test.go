package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"pgregory.net/rapid"
)

// passing returns the active memories that pass a filter, read from the state one by one.
func (r *replica) passing(f *filter.Filter) (rids []string) {
	must(r.t, r.state.Read(func(v *state.View) error {
		v.Memories(1, 0, func(m *oplog.Memory) bool {
			if m.Status == oplog.Active && !m.Unsearchable && m.Passes(f) {
				rids = append(rids, m.RID)
			}
			return true
		})
		return nil
	}))
	slices.Sort(rids)
	return rids
}

// checkFilter compares answers with the state: a list must have exactly the memories that pass the filter, and a
// question in words all of those that have its words.
func (r *replica) checkFilter(raw string) error {
	f := parsed(r.t, raw)
	want := r.passing(f)
	rids := func(q index.Query) (list []string) {
		q.K = index.MaxK
		for _, h := range r.ask(q) {
			if q.Text == "" || slices.Contains(h.Why, "keyword_match") {
				list = append(list, h.Memory.RID)
			}
		}
		slices.Sort(list)
		return list
	}
	if got := rids(index.Query{Filter: index.Filter{Match: f}}); !slices.Equal(got, want) {
		return fmt.Errorf("%s lists %d rows, want %d:\n%v\n%v", raw, len(got), len(want), got, want)
	}
	all := rids(index.Query{Text: "garden river violin"})
	some := rids(index.Query{Text: "garden river violin", Filter: index.Filter{Match: f}})
	all = slices.DeleteFunc(all, func(rid string) bool { return !slices.Contains(want, rid) })
	if !slices.Equal(some, all) {
		return fmt.Errorf("%s finds %v, want %v", raw, some, all)
	}
	for _, h := range r.ask(index.Query{Vector: make([]float32, dim), Text: "harbor", K: 50, Expand: true,
		Filter: index.Filter{Match: f}}) {
		if !slices.Contains(want, h.Memory.RID) {
			return fmt.Errorf("%s lets %s pass", raw, h.Memory.RID)
		}
	}
	return nil
}

// checkValues compares the values of an attribute with the state, and the pages of a list with the whole list.
func (r *replica) checkValues(name string) error {
	want := map[string]index.Valued{}
	must(r.t, r.state.Read(func(v *state.View) error {
		v.Memories(1, 0, func(m *oplog.Memory) bool {
			list, _ := filter.Attributes(m.Attributes)
			for _, a := range list {
				if a.Name != name || m.Status != oplog.Active || m.Unsearchable || m.Namespace != "alpha" {
					continue
				}
				one, known := want[a.Value.String()]
				if !known {
					one = index.Valued{Value: a.Value.String(), First: m.Created, Last: m.Created}
				}
				one.Memories++
				one.First, one.Last = min(one.First, m.Created), max(one.Last, m.Created)
				want[one.Value] = one
			}
			return true
		})
		return nil
	}))
	got, err := r.index.Values(1, name, index.Filter{Namespace: "alpha"})
	if err != nil || len(got) != len(want) {
		return fmt.Errorf("%s has %d values, want %d: %v\n%v\n%v", name, len(got), len(want), err, got, want)
	}
	for _, one := range got {
		if one != want[one.Value] {
			return fmt.Errorf("%s: %+v, want %+v", name, one, want[one.Value])
		}
	}
	f := index.Filter{Match: parsed(r.t, `{"`+name+`":{"exists":true}}`)}
	var rids []string
	for more := true; more; {
		hits := r.ask(index.Query{K: 7, Skip: len(rids), Filter: f})
		for _, h := range hits {
			rids = append(rids, h.Memory.RID)
		}
		more = len(hits) == 7
	}
	slices.Sort(rids)
	if all := r.passing(f.Match); !slices.Equal(rids, all) {
		return fmt.Errorf("pages of those with %s: %d rows, want %d", name, len(rids), len(all))
	}
	return nil
}

// TestFiltersAgreeWithTheState: an answer with a filter equals a scan of the state, whatever happened to the rows,
// also after restarts, from a checkpoint and when made from the state.
func TestFiltersAgreeWithTheState(t *testing.T) {
	suite.NotShort(t, "many records, one after the other")
	t.Parallel()
	rows := suite.Count(200, 600, 600)
	l, r := history(t, rows), openReplica(t)
	check := func(when string) {
		t.Helper()
		for _, raw := range filters {
			if err := r.checkFilter(raw); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		for _, name := range []string{"project", "tags", "none"} {
			if err := r.checkValues(name); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
	}
	for part := range slices.Chunk(l.records, rows/2) {
		r.apply(part, 11)
		check("as it grows")
		r.reopen()
		check("opened again")
	}
	end := len(l.records)
	for i := range 5000 { // more than is swept after
		rid := fmt.Sprint("changing", i%40)
		if i < 40 {
			m := remember(rid, "a river of its own")
			m.Attributes = []byte(`{"turn":0}`)
			l.add(1, m)
		}
		l.add(1, &oplog.Correct{RID: rid, Attributes: fmt.Appendf(nil, `{"project":"p%d","turn":%d}`, i%7, i), At: oplog.At(now)})
	}
	r.apply(l.records[end:], 500)
	check("after corrections")
	if got, want := index.AttributeEntries(r.index, 1), 6*index.SweptAfter; got > want {
		t.Errorf("%d entries are kept after 5000 corrections, want %d at most", got, want)
	}
	for i := range 40 {
		if err := r.checkFilter(fmt.Sprintf(`{"turn":{"gte":%d}}`, 4960+i)); err != nil {
			t.Error(err)
		}
	}
	r.settle()
	r.reopen()
	check("from the checkpoint")
	_, err := r.index.Rebuild(t.Context())
	must(t, err)
	check("rebuilt")
}

// TestRandomFilters checks random combinations of the filters above with "and", "or" and "not".
func TestRandomFilters(t *testing.T) {
	t.Parallel()
	r := openReplica(t)
	r.apply(history(t, 400).records, 50)
	leaf := rapid.SampledFrom(filters)
	var tree func(depth int) *rapid.Generator[string]
	tree = func(depth int) *rapid.Generator[string] {
		if depth == 0 {
			return leaf
		}
		return rapid.Custom(func(t *rapid.T) string {
			of := rapid.SliceOfN(tree(depth-1), 1, 3).Draw(t, "of")
			switch op := rapid.SampledFrom([]string{"and", "or", "not"}).Draw(t, "op"); op {
			case "not":
				return fmt.Sprintf(`{"not":%s}`, of[0])
			default:
				return fmt.Sprintf(`{%q:[%s]}`, op, strings.Join(of, ","))
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		if err := r.checkFilter(tree(3).Draw(t, "filter")); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAListFindsFewRowsAnywhere: a list finds the rows that its filters leave behind any number of newer ones.
func TestAListFindsFewRowsAnywhere(t *testing.T) {
	t.Parallel()
	l, r := newLog(t), openReplica(t)
	first := remember("first", "the oldest")
	first.Attributes = []byte(`{"kept":true}`)
	first.Namespace, first.Session = "quiet", "s1"
	first.Created = oplog.At(now.AddDate(-1, 0, 0))
	l.add(1, first)
	for i := range 24 {
		var ops []oplog.Op
		for k := range 500 {
			ops = append(ops, remember(fmt.Sprint("m", i, "-", k), "later"))
		}
		l.add(1, ops...)
	}
	r.apply(l.records, 5)
	for name, f := range map[string]index.Filter{
		"attribute": {Match: parsed(t, `{"kept":true}`)},
		"namespace": {Namespace: "quiet"},
		"bound":     {Spaces: oplog.Spaces{"quiet"}},
		"session":   {Session: "s1"},
		"time":      {Until: first.Created},
		"admit":     {Admit: func(f index.Facts) bool { return f.Created == first.Created }},
	} {
		if hits := r.ask(index.Query{K: 5, Filter: f}); len(hits) != 1 || hits[0].Memory.RID != "first" {
			t.Errorf("%s: %+v", name, hits)
		}
		if hits := r.ask(index.Query{K: 5, Skip: 1, Filter: f}); len(hits) != 0 {
			t.Errorf("%s, the second page: %+v", name, hits)
		}
	}
	if hits := r.ask(index.Query{K: 5,
		Filter: index.Filter{Match: parsed(t, `{"@importance":{"gte":0},"not":{"@created_at":{"gt":"2000-01-01"}}}`)}}); len(hits) != 0 {
		t.Errorf("%+v", hits)
	}
}
