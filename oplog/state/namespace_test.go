package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairndb/cairn/oplog"
)

// TestNamespacesWithin draws prefixes and compares the walk that skips other namespaces with one over all rows.
func TestNamespacesWithin(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	parts := []string{"a", "b", "ab", "a-", "a0", "agents", "billing", "billing2"}
	var ops []oplog.Op
	for _, x := range parts {
		for _, y := range append([]string{"", "/"}, parts...) {
			space := strings.TrimSuffix(x+"/"+y, "/")
			ops = append(ops, &oplog.Remember{Content: oplog.Content{RID: fmt.Sprint(len(ops)), Text: "x", Namespace: space}})
		}
	}
	for i, e := range []oplog.Entry{{Node: 1, Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}, {Node: 1, DB: 1, Ops: ops}} {
		if _, err := s.Apply([]oplog.Record{record(oplog.Index(i+1), []oplog.Entry{e})}); err != nil {
			t.Fatal(err)
		}
	}
	walk := func(within oplog.Spaces, after string) (names []string) {
		must(t, s.Read(func(v *View) error {
			v.Namespaces(1, within, after, func(name string, n oplog.Counts) bool {
				names = append(names, name)
				return n.Active > 0
			})
			return nil
		}))
		return names
	}
	all := walk(nil, "")
	if len(all) < 60 {
		t.Fatalf("%d namespaces", len(all))
	}
	rapid.Check(t, func(t *rapid.T) {
		var within oplog.Spaces
		for range rapid.IntRange(1, 3).Draw(t, "prefixes") {
			within = append(within, strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 2).Draw(t, "prefix"), "/"))
		}
		after := rapid.SampledFrom(append([]string{""}, all...)).Draw(t, "after")
		var want []string
		for i, name := range all {
			if i > slices.Index(all, after) &&
				slices.ContainsFunc(within, func(p string) bool { return strings.HasPrefix(name+"/", p+"/") }) {
				want = append(want, name)
			}
		}
		if got := walk(within, after); !slices.Equal(got, want) {
			t.Fatalf("within %q after %q: got %q, want %q", within, after, got, want)
		}
	})
}
