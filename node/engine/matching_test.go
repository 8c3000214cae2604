package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire/field"
)

// with stores a memory with attributes.
func with(t testing.TB, n *node.Node, c api.Caller, text, attributes string) (rid string) {
	t.Helper()
	a, err := api.Remember.Do(t.Context(), n.Host(), c,
		&api.RememberRequest{Draft: api.Draft{Text: text, Attributes: field.Map(attributes)}})
	if err != nil {
		t.Fatal(err)
	}
	return a.RID
}

func replace(t testing.TB, n *node.Node, c api.Caller, rid, attributes string) error {
	t.Helper()
	_, err := api.Correct.Do(t.Context(), n.Host(), c,
		&api.CorrectRequest{RID: rid, Reason: "it changed", Attributes: field.Map(attributes)})
	return err
}

// TestRecallOfThePastFiltersByThen: a filter of a recall of the past applies to the attributes that a memory had
// then.
func TestRecallOfThePastFiltersByThen(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	was := with(t, n, c, "the harbour is closed", `{"state":"open"}`)
	is := with(t, n, c, "the harbour is dredged", `{"state":"done"}`)
	then := time.Now()
	for rid, state := range map[string]string{was: `{"state":"done"}`, is: `{"state":"open"}`} {
		if err := replace(t, n, c, rid, state); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		at   time.Time
		want string
	}{{then, was}, {time.Time{}, is}} {
		a, err := api.Recall.Do(t.Context(), n.Host(), c,
			&api.RecallRequest{AsOf: field.Date{Time: tc.at},
				Question: api.Question{Text: "harbour", K: 10, Filter: field.Map(`{"state":"open"}`)}})
		if err != nil || len(a.Results) != 1 || a.Results[0].RID != tc.want {
			t.Errorf("as of %v: %+v, %v; want %s", tc.at, a, err, tc.want)
		}
	}
}

// TestForgettingByFilter: while memories are corrected, a filter forgets only those that pass it at its place in the
// log. A memory with an acknowledged correction remains, and every other is forgotten.
func TestForgettingByFilter(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	var rids []string
	for i := range 60 {
		rids = append(rids, with(t, n, c, fmt.Sprint("a note ", i), `{"state":"old"}`))
	}
	kept := map[string]bool{}
	var correcting sync.WaitGroup
	correcting.Go(func() {
		for i := 0; i < len(rids); i += 2 {
			switch err := replace(t, n, c, rids[i], `{"state":"kept"}`); {
			case err == nil:
				kept[rids[i]] = true
			case !errors.Is(err, oplog.ErrNoMemory):
				t.Error(err)
			}
		}
	})
	forgotten := []string{}
	forget := func() *api.ForgottenMatching {
		a, err := api.ForgetMatching.Do(t.Context(), n.Host(), c,
			&api.ForgetMatchingRequest{Filter: field.Map(`{"state":"old"}`), Limit: 3})
		if err != nil && !errors.Is(err, oplog.ErrRevision) && !errors.Is(err, oplog.ErrNoMemory) { // by corrections
			t.Fatal(err)
		}
		if a != nil && err == nil {
			forgotten = append(forgotten, a.RIDs...)
		}
		return a
	}
	for range 8 {
		forget()
	}
	correcting.Wait()
	for a := forget(); a.Forgotten > 0; {
		if a.Forgotten > 3 || len(a.RIDs) != a.Forgotten {
			t.Fatalf("%+v with a limit of 3", a)
		}
		a = forget()
	}
	for _, rid := range rids {
		m, err := api.Get.Do(t.Context(), n.Host(), c, &api.GetRequest{RID: rid})
		if err != nil {
			t.Fatal(err)
		}
		if gone := m.Status == oplog.Tombstoned.String(); gone == kept[rid] || gone != slices.Contains(forgotten, rid) {
			t.Errorf("%s is %s, and its correction was acknowledged: %v", rid, m.Status, kept[rid])
		}
	}
	count, err := api.Count.Do(t.Context(), n.Host(), c, &api.CountRequest{Filter: field.Map(`{"state":"kept"}`)})
	if err != nil || count.Count != len(kept) {
		t.Errorf("%+v, %v; want %d", count, err, len(kept))
	}
}

// TestEventsByFilter: a subscriber with a filter gets events of the memories that pass it, and no others.
func TestEventsByFilter(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	sub, err := api.Events.Do(t.Context(), n.Host(), c, &api.EventsRequest{Filter: field.Map(`{"project":"atlas"}`)})
	if err != nil {
		t.Fatal(err)
	}
	with(t, n, c, "not of the project", `{"project":"borealis"}`)
	with(t, n, c, "of none", ``)
	if _, err := api.Relate.Do(t.Context(), n.Host(), c, &api.RelateRequest{Src: "a", Dst: "b", Type: "knows", Weight: 1}); err != nil {
		t.Fatal(err)
	}
	want := with(t, n, c, "of the project", `{"project":"atlas"}`)
	ctx, cancel := context.WithCancel(suite.Context(t))
	defer cancel()
	var heard []string
	if err := sub.Follow(ctx, func(e api.Event) error {
		if e.Name == "" {
			return nil
		}
		var about struct{ ID string }
		err := json.Unmarshal(e.Data, &about)
		if heard = append(heard, e.Name+" "+about.ID); about.ID == want {
			cancel()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(heard, []string{"stored " + want}) {
		t.Errorf("heard %v, want %s stored", heard, want)
	}
}
