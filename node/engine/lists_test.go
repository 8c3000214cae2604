//go:build full

package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// TestNoListEndsSilently: in a database with more rows than a list reads, every incomplete list says so, and
// following its cursor gives the complete list.
func TestNoListEndsSilently(t *testing.T) {
	t.Parallel()
	n, owner := startSingle(t)
	const rows = 100_200
	put := func(ops ...oplog.Op) {
		t.Helper()
		for len(ops) > 0 {
			some := ops[:min(len(ops), 10_000)]
			ops = ops[len(some):]
			if err := n.Service().Propose(t.Context(), owner, some...); err != nil {
				t.Fatal(err)
			}
		}
	}
	memory := func(i int, namespace string) oplog.Op {
		at := oplog.Time(1_700_000_000_000_000 + i/7*7) // seven of each time
		if i < 3 {
			at -= 2_000_000_000_000_000 // before 1970
		}
		return &oplog.Remember{Content: oplog.Content{RID: fmt.Sprintf("m%07d", i), Text: fmt.Sprint("tea ", i), Type: "semantic",
			Namespace: namespace, Created: at, Due: oplog.Time(2_000_000_000_000_000 + i/7*7), Importance: float64(i%1000) / 1000}}
	}
	var ops []oplog.Op
	for i := range 3 { // the oldest, in their own namespace
		ops = append(ops, memory(i, "old"))
	}
	for i := 3; i < rows; i++ {
		ops = append(ops, memory(i, "default"))
	}
	for i := range 20_100 {
		ops = append(ops, &oplog.SessionStart{ID: fmt.Sprintf("s%06d", i), Namespace: "n", Client: fmt.Sprint("c", i), At: oplog.Time(i + 1)},
			&oplog.Relate{ID: fmt.Sprintf("e%06d", i), Src: "hub", Dst: fmt.Sprintf("Name%06d", i), Type: "knows", Weight: 1, At: 1})
	}
	for i := range 10_100 {
		ops = append(ops, &oplog.Claim{ID: fmt.Sprintf("c%06d", i), Namespace: "n", Src: "mill", Type: "grinds", Dst: fmt.Sprint("corn", i),
			Polarity: 1, At: oplog.Time(i)})
	}
	put(ops...)
	ops = nil
	for i := range 20_100 {
		ops = append(ops, &oplog.Forget{RID: fmt.Sprintf("m%07d", 100+i), At: 1_800_000_000_000_000})
	}

	pages := func(of func(cursor string) (rids []string, next string)) map[string]int {
		seen := map[string]int{}
		for cursor := ""; ; {
			rids, next := of(cursor)
			for _, rid := range rids {
				seen[rid]++
			}
			if cursor = next; next == "" {
				return seen
			}
		}
	}
	rids := func(list []api.Memory) []string { return api.Each(list, func(m api.Memory) string { return m.RID }) }
	list := func(q *api.MemoriesRequest) *api.MemoryPage {
		t.Helper()
		a, err := api.Memories.Do(t.Context(), n.Host(), owner, q)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	filtered := []byte(`{"@namespace":"old"}`)
	for name, l := range map[string]api.Listing{"namespace": {Namespace: "old"}, "filter": {Filter: filtered}} {
		seen := pages(func(cursor string) ([]string, string) {
			a := list(&api.MemoriesRequest{Listing: l, Cursor: cursor})
			if a.NewestMemories.Next != nil {
				t.Errorf("%s: offset %d is offered, which leads nowhere", name, *a.NewestMemories.Next)
			}
			return rids(a.Items), a.Cursor
		})
		if fmt.Sprint(seen) != "map[m0000000:1 m0000001:1 m0000002:1]" {
			t.Errorf("memories by %s: %v", name, seen)
		}
	}
	for name, of := range map[string]func(cursor string) (*api.MemoryItems, error){
		"chronology": func(cursor string) (*api.MemoryItems, error) {
			return api.Chronology.Do(t.Context(), n.Host(), owner, &api.ChronologyRequest{Limit: 1000, Cursor: cursor})
		},
		"upcoming": func(cursor string) (*api.MemoryItems, error) {
			return api.Upcoming.Do(t.Context(), n.Host(), owner, &api.UpcomingRequest{Days: 36_500, Limit: 1000, Cursor: cursor})
		},
	} {
		seen := pages(func(cursor string) ([]string, string) {
			a, err := of(cursor)
			if err != nil {
				t.Fatal(name, err)
			}
			return rids(a.Items), a.Cursor
		})
		if len(seen) != rows {
			t.Errorf("%s: %d memories of %d", name, len(seen), rows)
		}
		for rid, times := range seen {
			if times != 1 {
				t.Fatalf("%s: %s comes %d times", name, rid, times)
			}
		}
		for _, beyond := range []string{"9223372036854775807.1", "0.0", "-62167219200000000.18446744073709551615"} {
			if _, err := of(beyond); err != nil {
				t.Errorf("%s: cursor %s: %v", name, beyond, err)
			}
		}
		if _, err := of("m0000001"); err == nil {
			t.Errorf("%s: a cursor of another list is accepted", name)
		}
	}
	bound := owner
	bound.Spaces = oplog.Spaces{"old"}
	for _, order := range []string{"desc", "asc"} {
		calls := 0
		seen := pages(func(cursor string) (found []string, next string) {
			calls++
			a, err := api.Records.Do(t.Context(), n.Host(), bound, &api.RecordsRequest{Listing: api.Listing{Limit: 200}, Walk: api.Walk{Since: cursor, Order: order}})
			if err != nil {
				t.Fatal(err)
			}
			if a.Next == nil {
				return api.Each(a.Records, func(r api.Record) string { return r.RID }), ""
			}
			if strings.Contains(*a.Next, "m0") && *a.Next > "m0000002" {
				t.Errorf("a cursor has an id of another namespace: %s", *a.Next)
			}
			return api.Each(a.Records, func(r api.Record) string { return r.RID }), *a.Next
		})
		if len(seen) != 3 || calls < 2 {
			t.Errorf("a bound token's records, %s: %v in %d pages", order, seen, calls)
		}
	}
	names := map[string]bool{}
	for after := ""; ; {
		a, err := api.Entities.Do(t.Context(), n.Host(), owner, &api.EntitiesRequest{Search: "9", Limit: 1000, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range a.Entities {
			names[e.Name] = true
		}
		if a.Next == nil {
			break
		}
		after = *a.Next
	}
	want := 0
	for i := range 20_100 {
		if strings.Contains(fmt.Sprint(i), "9") {
			if want++; i < 10_100 {
				want++ // one more for its corn
			}
		}
	}
	if len(names) != want {
		t.Errorf("%d names with a 9, want %d", len(names), want)
	}
	claims, err := api.Claims.Do(t.Context(), n.Host(), owner, &api.ClaimsRequest{Entity: "mill"})
	if err != nil || len(claims.Claims) != 10_000 || claims.Claims[0].ID != "c010099" || claims.Incomplete == "" {
		t.Errorf("%d claims, %q, %v", len(claims.Claims), claims.Incomplete, err)
	}
	current, err := api.Current.Do(t.Context(), n.Host(), owner, &api.CurrentRequest{Namespace: "old"})
	if err != nil || current.Record.RID != "m0000002" {
		t.Errorf("the newest of a namespace: %v, %v", current, err)
	}
	put(ops...)
	past := &api.RecallAsOfRequest{Question: api.Question{Text: "tea", K: 10}, AsOf: field.Date{Time: time.Unix(1_700_000_001, 0)}}
	for name, of := range map[string]func() (api.Bounded, error){
		"past":               bounded(api.RecallAsOf, n.Host(), owner, past, func(a *api.Recalled) api.Bounded { return a.Bounded }),
		"sorted":             func() (api.Bounded, error) { return list(&api.MemoriesRequest{Sort: "importance"}).Bounded, nil },
		"stale":              bounded(api.Stale, n.Host(), owner, &api.StaleRequest{}, func(a *api.MemoryItems) api.Bounded { return a.Bounded }),
		"sessions":           bounded(api.Sessions, n.Host(), owner, &api.SessionsRequest{Limit: 1000}, func(a *api.SessionList) api.Bounded { return a.Bounded }),
		"a client's session": bounded(api.Sessions, n.Host(), owner, &api.SessionsRequest{Namespace: "n", Limit: 10}, func(a *api.SessionList) api.Bounded { return a.Bounded }),
		"names by mentions":  bounded(api.Entities, n.Host(), owner, &api.EntitiesRequest{Sort: "mentions"}, func(a *api.EntityList) api.Bounded { return a.Bounded }),
		"relations":          bounded(api.Edges, n.Host(), owner, &api.EdgesRequest{Entity: "hub"}, func(a *api.EdgeList) api.Bounded { return a.Bounded }),
		"around":             bounded(api.Around, n.Host(), owner, &api.AroundRequest{Namespace: "old", Limit: 10}, func(a *api.MemoryList) api.Bounded { return a.Bounded }),
	} {
		if b, err := of(); err != nil || !strings.Contains(b.Incomplete, ": ") {
			t.Errorf("%s: not complete, and says %q, %v", name, b.Incomplete, err)
		}
	}
}

// bounded returns a function that requests a list and returns what the answer says about its completeness.
func bounded[Q, A any](op api.Of[Q, A], d api.Door, c api.Caller, q *Q, of func(*A) api.Bounded) func() (api.Bounded, error) {
	return func() (api.Bounded, error) {
		a, err := op.Do(context.Background(), d, c, q)
		if err != nil {
			return api.Bounded{}, err
		}
		return of(a), nil
	}
}

// TestTheQuarantineOfOthers: a page of the quarantine for which only other namespaces' memories were read is empty,
// and its cursor leads to the caller's own. A cursor names no memory, and an id is accepted as a cursor.
func TestTheQuarantineOfOthers(t *testing.T) {
	t.Parallel()
	n, owner := startSingle(t)
	const rows = 100_050
	var ops []oplog.Op
	for i := range rows {
		namespace := "other"
		if i%(rows-1) == 0 { // the first and the last
			namespace = "own"
		}
		ops = append(ops, &oplog.Remember{Held: true, Content: oplog.Content{RID: fmt.Sprintf("m%07d", i), Text: fmt.Sprint("tea ", i),
			Type: "semantic", Namespace: namespace, Created: 1_700_000_000_000_000}})
		if len(ops) == 10_000 || i == rows-1 {
			if err := n.Service().Propose(t.Context(), owner, ops...); err != nil {
				t.Fatal(err)
			}
			ops = nil
		}
	}
	for _, after := range []string{"", "m0000000", "#1"} {
		var got []string
		for next := &after; next != nil; {
			a, err := api.Quarantine.Do(t.Context(), n.Host(), owner, &api.QuarantineRequest{Namespace: "own", Limit: 1, After: *next})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range a.Memories {
				got = append(got, m.RID)
			}
			if next = a.Next; next != nil && !strings.HasPrefix(*next, "#") {
				t.Errorf("the cursor is %s", *next)
			}
		}
		want := "[m0000000 m0100049]"
		if after != "" {
			want = "[m0100049]"
		}
		if fmt.Sprint(got) != want {
			t.Errorf("from %q on: %v, want %s", after, got, want)
		}
	}
}
