package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/node/mind/mindtest"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// TestALeaderThatFallsWhileThinking stops a thinking leader, or cuts it off. Its decisions are applied once or not at
// all, acknowledged writes stay, and the next leader continues.
func TestALeaderThatFallsWhileThinking(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	t.Run("stopped", func(t *testing.T) {
		c := start(t, 3)
		lead := c.leader()
		checkThinking(t, c, lead, func() int { c.stop(lead); return c.leader() }, func() { c.open(lead) })
	})
	t.Run("cut off", func(t *testing.T) {
		net := newNetwork()
		c := startWith(t, 3, func(i int, cfg *node.Config) {
			net.owner[cfg.Addresses.Cluster], cfg.Seams.Dial = i+1, net.dialer(i+1)
		})
		lead := c.leader()
		checkThinking(t, c, lead, func() (next int) {
			net.cut(lead + 1)
			suite.Eventually(t, "the rest elects another", func() bool {
				next = slices.IndexFunc(c.nodes, func(n *node.Node) bool {
					return n != c.nodes[lead] && n.Service().Cluster().Status(t.Context()).AcceptsWrites
				})
				return next >= 0
			})
			return next
		}, func() { net.cut(0) })
	})
}

// checkThinking runs rounds on the leader until it falls, and on the next one until all is read.
func checkThinking(t *testing.T, c *cluster, lead int, falls func() (next int), comesBack func()) {
	s, caller := c.local(lead)
	corpus := mindtest.New(7)
	store(t, s, caller, corpus)
	all := &api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true, Conflicts: true}, Limit: 40}
	began := make(chan struct{})
	var thinking sync.WaitGroup
	var merged, found uint32 // as acknowledged by the old leader
	thinking.Go(func() {
		var once sync.Once
		defer once.Do(func() { close(began) })
		for i := range 50 { // each round reads a part of the memories
			if i == 3 {
				once.Do(func() { close(began) })
			}
			a, err := api.Think.Do(context.Background(), s, caller, all)
			if err != nil {
				return // the leader is gone
			}
			merged, found = merged+a.Merged, found+a.Conflicts
		}
	})
	<-began
	next := falls()
	thinking.Wait()
	s, caller = c.local(next)
	all.Limit = len(corpus.Rows)
	a, err := api.Think.Do(t.Context(), s, caller, all)
	if err != nil {
		t.Fatal(err)
	}
	merged, found = merged+a.Merged, found+a.Conflicts
	comesBack()
	c.agree()
	made := map[string][]string{}
	for _, r := range corpus.Rows {
		m := memory(t, s, caller, r.RID)
		if m.Into != nil {
			made[*m.Into] = append(made[*m.Into], m.RID)
		} else if m.Status != oplog.Active.String() {
			t.Errorf("%s is %s and nothing stands for it", m.RID, m.Status)
		}
	}
	for rid, sources := range made {
		if m := memory(t, s, caller, rid); m.Status != oplog.Active.String() || len(m.Sources) != len(sources) {
			t.Errorf("%s was made of %d, %d say so", rid, len(m.Sources), len(sources))
		}
	}
	open, err := api.Conflicts.Do(t.Context(), s, caller, &api.ConflictsRequest{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	rows := open.Conflicts
	seen := map[[2]string]bool{}
	for _, r := range rows {
		if p := mindtest.Pair(r.A, r.B); seen[p] {
			t.Errorf("%v is in two conflicts", p)
		} else {
			seen[p] = true
		}
	}
	// A round with an unknown outcome may have been applied as well.
	if len(made) < max(32, int(merged)) || len(rows) < max(24, int(found)) {
		t.Errorf("%d merges and %d conflicts, %d and %d were answered", len(made), len(rows), merged, found)
	}
}

// TestTheNextLeaderThinksOn cuts off a leader while it runs rounds of a database larger than a round. The log has its
// progress, and the next leader continues there.
func TestTheNextLeaderThinksOn(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	net := newNetwork()
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		net.owner[cfg.Addresses.Cluster], cfg.Seams.Dial = i+1, net.dialer(i+1)
		cfg.Background = engine.Background{NoThink: true, ThinkRows: 100}
	})
	lead := c.leader()
	corpus := mindtest.New(7)
	s, caller := c.local(lead)
	store(t, s, caller, corpus)
	left, began := len(corpus.Rows), make(chan struct{})
	var thinking sync.WaitGroup
	thinking.Go(func() {
		var once sync.Once
		defer once.Do(func() { close(began) })
		for i := 0; left > 0; i++ {
			a, err := thinkOn(s, caller)
			if err != nil {
				return // the leader is gone
			}
			if left = *a.Remaining; i == 2 {
				once.Do(func() { close(began) })
			}
		}
	})
	<-began
	net.cut(lead + 1)
	next := -1
	suite.Eventually(t, "the rest elects another", func() bool {
		next = slices.IndexFunc(c.nodes, func(n *node.Node) bool {
			return n != c.nodes[lead] && n.Service().Cluster().Status(t.Context()).AcceptsWrites
		})
		return next >= 0
	})
	thinking.Wait()
	s, caller = c.local(next)
	for before := left; before > 0; {
		a, err := thinkOn(s, caller)
		if err != nil {
			t.Fatal(err)
		}
		if *a.Remaining >= before {
			t.Fatalf("%d memories were left, and after a round of the next leader %d", before, *a.Remaining)
		}
		before = *a.Remaining
	}
	net.cut(0)
	c.agree()
	found, err := api.Conflicts.Do(t.Context(), s, caller, &api.ConflictsRequest{Status: "open", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for _, r := range found.Conflicts {
		if corpus.Conflicts[mindtest.Pair(r.A, r.B)] {
			right++
		}
	}
	if 10*right < 8*len(corpus.Conflicts) {
		t.Errorf("%d of %d contradictions found", right, len(corpus.Conflicts))
	}
}

// thinkOn runs a round that only searches for contradictions, so that it adds no memories.
func thinkOn(s *engine.Service, c api.Caller) (*api.Thought, error) {
	return api.Think.Do(context.Background(), s, c,
		&api.ThinkRequest{ThinkParts: api.ThinkParts{Conflicts: true}, Limit: 1, Progress: true})
}

func episodic(text string) wire.Remember {
	m := wire.NewRemember(text)
	m.MemoryType = "episodic"
	return m
}

// TestEventsOfTheMind checks that conflicts, merges and triggers are events with their own names, live and for
// clients that resume with a cursor.
func TestEventsOfTheMind(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	cl := c.dial(0)
	ctx := suite.Context(t)
	for _, text := range []string{"Alice lives in Lisbon.", "Alice lives in Berlin.",
		"Bob asked for the quarterly report on Thursday.", "Note that Bob asked for the quarterly report on Thursday.",
		"one", "two", "three", "four", "five", "six"} {
		if _, err := cl.Remember(ctx, episodic(text)); err != nil {
			t.Fatal(err)
		}
	}
	stop := errors.New("enough")
	watch := func(m wire.Subscribe, want ...string) (heard []string) {
		err := cl.Subscribe(ctx, m, func(e wire.Event) error {
			var d struct{ ID string }
			if err := json.Unmarshal(e.Data, &d); err != nil {
				return err
			}
			if e.EventType == "subscribed" && m.Cursor == 0 {
				_, err := cl.Think(ctx, wire.Think{RunConflictScan: true, RunConsolidation: true, ConsolidationLimit: 100})
				return err
			}
			if e.EventType == "subscribed" {
				return nil
			}
			heard = append(heard, e.EventType+" "+d.ID)
			want = slices.DeleteFunc(want, func(w string) bool { return w == e.EventType })
			if len(want) == 0 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) {
			t.Errorf("waiting for %v: %v, heard %v", want, err, heard)
		}
		return heard
	}
	live := watch(wire.Subscribe{Events: []string{"conflict", "consolidated", "trigger"}}, "conflict", "consolidated", "trigger")
	later := watch(wire.Subscribe{Events: []string{"conflict", "consolidated", "trigger"}, Cursor: 1}, "conflict",
		"consolidated", "trigger")
	if strings.Join(live, ",") != strings.Join(later, ",") {
		t.Errorf("live %v, later %v", live, later)
	}
}

// TestTheMindOverTime checks stale and upcoming memories, chronology, profiles, sessions, revisions and past beliefs.
func TestTheMindOverTime(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	s, caller := c.local(0)
	ctx := t.Context()
	now := time.Now()
	old := now.Add(-40 * 24 * time.Hour)
	if _, err := remember(ctx, s, caller, "",
		api.Draft{RID: "old", Text: "Alice Chen keeps bees in Lisbon", Importance: .9, Created: field.Date{Time: old},
			Domain: "home", Valence: .5},
		api.Draft{RID: "dull", Text: "Alice Chen bought stamps", Importance: .1, Created: field.Date{Time: old}},
		api.Draft{RID: "due", Text: "call Alice Chen back", Importance: .5, Due: field.Date{Time: now.Add(36 * time.Hour)}},
		api.Draft{RID: "far", Text: "renew the passport", Importance: .5, Due: field.Date{Time: now.Add(9000 * time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	rids := func(list *api.MemoryItems, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, m := range list.Items {
			out = append(out, m.RID)
		}
		return strings.Join(out, " ")
	}
	if got := rids(api.Stale.Do(ctx, s, caller, &api.StaleRequest{Days: 30, Limit: 10})); got != "old" {
		t.Errorf("stale: %q", got)
	}
	if got := rids(api.Upcoming.Do(ctx, s, caller, &api.UpcomingRequest{Days: 7, Limit: 10})); got != "due" {
		t.Errorf("upcoming: %q", got)
	}
	if got := rids(api.Chronology.Do(ctx, s, caller, &api.ChronologyRequest{Entity: "Alice Chen"})); got != "old dull due" {
		t.Errorf("chronology: %q", got)
	}
	p, err := api.Profile.Do(ctx, s, caller, &api.ProfileRequest{Name: "Alice Chen"})
	if err != nil || p.Memories != 3 || p.Type != "person" || p.Depth <= 0 || p.Depth > 1 {
		t.Errorf("%+v, %v", p, err)
	}
	then := time.Now()
	text := "Alice Chen keeps bees in Porto"
	if _, err := api.Correct.Do(ctx, s, caller, &api.CorrectRequest{RID: "old", Text: &text, Reason: "she moved"}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Forget.Do(ctx, s, caller, &api.ForgetRequest{RID: "due"}); err != nil {
		t.Fatal(err)
	}
	a, err := api.RecallAsOf.Do(ctx, s, caller,
		&api.RecallAsOfRequest{Question: api.Question{Text: "where does Alice Chen keep bees", K: 2}, AsOf: field.Date{Time: then}})
	if err != nil || len(a.Results) == 0 || a.Results[0].Text != "Alice Chen keeps bees in Lisbon" {
		t.Errorf("as of then: %+v, %v", a.Results, err)
	}
	a, err = api.RecallAsOf.Do(ctx, s, caller,
		&api.RecallAsOfRequest{Question: api.Question{Text: "call Alice Chen back", K: 1}, AsOf: field.Date{Time: then}})
	if err != nil || len(a.Results) != 1 || a.Results[0].RID != "due" {
		t.Errorf("what was forgotten since: %+v, %v", a.Results, err)
	}
	a, err = api.RecallAsOf.Do(ctx, s, caller,
		&api.RecallAsOfRequest{Question: api.Question{Text: "bees", K: 5}, AsOf: field.Date{Time: old.Add(-time.Hour)}})
	if err != nil || len(a.Results) != 0 {
		t.Errorf("before all: %d hits, %v", len(a.Results), err)
	}
	started, err := api.StartSession.Do(ctx, s, caller, &api.StartSessionRequest{Client: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remember(ctx, s, caller, "", api.Draft{RID: "in", Text: "Bob said hello"}); err != nil {
		t.Fatal(err)
	}
	client := "x"
	listed, err := api.Sessions.Do(ctx, s, caller, &api.SessionsRequest{Client: &client})
	if err != nil || listed.Count != 1 || listed.Sessions[0].ID != started.ID || listed.Sessions[0].Memories != 1 {
		t.Errorf("%+v, %v", listed, err)
	}
	history, err := api.SessionHistory.Do(ctx, s, caller, &api.SessionHistoryRequest{ID: started.ID})
	if err != nil || len(history.List) != 1 || history.List[0].RID != "in" {
		t.Errorf("history: %+v, %v", history, err)
	}
	purged, err := api.Purge.Do(ctx, s, caller, &api.PurgeRequest{Before: field.Date{Time: now.Add(-time.Hour)}})
	if err != nil || purged.Count != 2 {
		t.Errorf("%+v purged, %v", purged, err)
	}
	if a, err := recall(ctx, s, caller, index.Query{Text: "bees in Porto", K: 5}, commit.Stale); err != nil || len(a.Hits) != 0 {
		t.Errorf("purged and found: %+v, %v", a.Hits, err)
	}
}
