package thinking

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire/large"
)

// newTestThinker returns a Thinker over a state with an index and an empty database. Its writes are applied and
// indexed at once.
func newTestThinker(t *testing.T) (*Thinker, api.Caller) {
	t.Helper()
	st, err := statetest.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true}, statetest.NewLog())
	must(t, err)
	t.Cleanup(func() { st.Close() })
	at := oplog.Index(0)
	var x *index.Index
	write := func(ctx context.Context, c api.Caller, ops ...oplog.Op) (oplog.Index, []oplog.Result, error) {
		body, err := (&oplog.Entry{Node: 1, DB: c.DB, Ops: ops}).Encode()
		if err != nil {
			return 0, nil, err
		}
		at++
		out, err := st.Apply([]oplog.Record{{Index: at, Data: oplog.EncodeRecord(oplog.MakeHLC(uint64(at), 0, 1), body)}})
		if err == nil && x != nil {
			err = x.Follow(ctx, out)
		}
		if err == nil && out[0].Err != nil {
			err = out[0].Err
		}
		if err != nil {
			return at, nil, err
		}
		return at, out[0].Results, nil
	}
	_, _, err = write(t.Context(), api.Caller{}, &oplog.Init{Cluster: "c"})
	must(t, err)
	x, _, err = index.Open(t.Context(),
		index.Config{Dir: filepath.Join(t.TempDir(), "index"), State: st.State, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { x.Close() })
	return New(Config{Logger: slog.New(slog.DiscardHandler), State: st.State, Index: x, Rows: 10_000, Now: time.Now, Write: write,
		Recalling: func() bool { return false }, Leads: func() bool { return true }, Indexed: func() oplog.Index { return at },
		Databases: func(c api.Caller, _ string) ([]api.Caller, error) { return []api.Caller{c}, nil },
		ReadText:  func(*state.View, api.Caller, string) (uint8, []oplog.Mention, []oplog.Claim) { return 0, nil, nil },
	}), api.Caller{DB: oplog.DefaultDB, Database: "default", Hold: large.NewHold(nil, "")}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// store stores a memory with a text and entities.
func store(t *testing.T, th *Thinker, c api.Caller, text string, names ...oplog.Mention) {
	t.Helper()
	_, _, err := th.cfg.Write(t.Context(), c,
		&oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: text, Namespace: "default", Importance: .5,
			HalfLife: 604800, Type: "episodic",
			Created: oplog.At(time.Now())}, Entities: names})
	must(t, err)
}

// TestADatabaseIsThoughtAbout checks that a background round finds a contradiction and merges a duplicate, and that
// the contradiction is listed with its sides until it is resolved.
func TestADatabaseIsThoughtAbout(t *testing.T) {
	t.Parallel()
	th, c := newTestThinker(t)
	th.cfg.Consolidate = true
	alice := oplog.Mention{Name: "Alice Chen", Type: "person"}
	for _, text := range []string{"Alice Chen lives in Lisbon.", "Alice Chen lives in Berlin."} {
		store(t, th, c, text, alice)
	}
	for _, text := range []string{"Bob asked for the quarterly report on Thursday.",
		"Note that Bob asked for the quarterly report on Thursday."} {
		store(t, th, c, text)
	}
	for i := range minActive {
		store(t, th, c, fmt.Sprintf("Ticket %d is closed.", i))
	}
	must(t, th.RunBackground(t.Context(), c))
	open := func() (list *api.ConflictList) {
		t.Helper()
		must(t, th.cfg.State.Read(func(v *state.View) (err error) {
			all, _ := FindConflicts(v, c, &api.ConflictsRequest{Status: "open"})
			if n, waits := len(all), OpenConflicts(v, c.DB, oplog.Reach{}); uint64(n) != waits {
				t.Errorf("%d conflicts are listed, %d counted", n, waits)
			}
			list, err = th.Conflicts(v, c, &api.ConflictsRequest{Status: "open"})
			return err
		}))
		return list
	}
	found := open().Conflicts
	if len(found) != 1 || found[0].SideA == nil || !strings.HasPrefix(*found[0].SideA.Text, "Alice Chen lives in ") {
		t.Fatalf("conflicts: %+v", found)
	}
	a, err := th.Resolve(t.Context(), c, &api.ResolveRequest{ID: found[0].ID, Strategy: oplog.KeepB})
	must(t, err)
	if left := open().Conflicts; !a.Lost || len(left) != 0 {
		t.Errorf("resolved: %+v, left: %+v", a, left)
	}
	upkeep, err := th.MaintenanceStatus(t.Context(), c, &api.MaintenanceStatusRequest{})
	must(t, err)
	if one := upkeep.Tenants[0]; one.Thought == nil || one.Active != minActive+2 { // one of each pair is left
		t.Errorf("upkeep: %+v", one)
	}
}

// bytesHeldByRound returns the number of bytes that a round holds after it has read the database.
func bytesHeldByRound(t *testing.T, th *Thinker, c api.Caller) uint64 {
	t.Helper()
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	must(t, (&round{th: th, c: c}).gather(t.Context())) // warm up the state's cache first
	before := held()
	r := &round{th: th, c: c}
	must(t, r.gather(t.Context()))
	after := held()
	runtime.KeepAlive(r)
	return max(after, before) - before
}

// TestARoundHoldsTheBeginningsOfTexts checks that a round keeps only the beginning of each memory's text and of each
// feedback query.
func TestARoundHoldsTheBeginningsOfTexts(t *testing.T) {
	suite.Full(t)
	const rows, size = 24, 512 << 10
	th, c := newTestThinker(t)
	for i := range rows {
		store(t, th, c, fmt.Sprint(i, " ", strings.Repeat("lorem ipsum ", size/12)))
	}
	if n := bytesHeldByRound(t, th, c); n > rows*size/2 {
		t.Errorf("a round over %d texts of %d bytes holds %d bytes", rows, size, n)
	}
	const questions = 200
	th, c = newTestThinker(t)
	for range questions {
		_, _, err := th.cfg.Write(t.Context(), c,
			&oplog.Feedback{Judgements: []oplog.Judgement{{Query: strings.Repeat("q", maxNote), RID: "r"}}})
		must(t, err)
	}
	if n := bytesHeldByRound(t, th, c); n > questions*maxNote/2 {
		t.Errorf("a round over %d questions of %d bytes holds %d bytes", questions, maxNote, n)
	}
}

// TestAListOfTriggersIsAsShortAsAsked checks the limit of a list with triggers of several statuses.
func TestAListOfTriggersIsAsShortAsAsked(t *testing.T) {
	t.Parallel()
	th, c := newTestThinker(t)
	at := oplog.At(time.Now())
	round := &oplog.Cognition{At: at, Last: true}
	for _, id := range []string{"a", "b"} {
		round.Triggers = append(round.Triggers,
			oplog.TriggerRow{ID: id, Type: "stale", Cooldown: id, Created: at, Expires: at + oplog.Time(time.Hour.Microseconds())})
	}
	_, _, err := th.cfg.Write(t.Context(), c, round, &oplog.TriggerMove{ID: "b", To: oplog.TriggerActed, At: at})
	must(t, err)
	for most := 1; most <= 3; most++ {
		must(t, th.cfg.State.Read(func(v *state.View) error {
			list, err := th.TriggerHistory(v, c, &api.TriggerHistoryRequest{Status: "all", TriggerFilter: api.TriggerFilter{Limit: most}})
			if err != nil || len(list.Triggers) != min(most, 2) {
				t.Errorf("at most %d: %+v, %v", most, list, err)
			}
			return nil
		}))
	}
}

// TestADeliveryPassesOverWhatIsMovedMeanwhile checks that triggers are delivered although another client acknowledges
// one of them in between.
func TestADeliveryPassesOverWhatIsMovedMeanwhile(t *testing.T) {
	t.Parallel()
	th, c := newTestThinker(t)
	at := oplog.At(time.Now())
	round := &oplog.Cognition{At: at, Last: true}
	for _, id := range []string{"a", "b"} {
		round.Triggers = append(round.Triggers,
			oplog.TriggerRow{ID: id, Type: "stale", Cooldown: id, Created: at, Expires: at + oplog.Time(time.Hour.Microseconds())})
	}
	write := th.cfg.Write
	_, _, err := write(t.Context(), c, round)
	must(t, err)
	th.cfg.Write = func(ctx context.Context, c api.Caller, ops ...oplog.Op) (oplog.Index, []oplog.Result, error) {
		th.cfg.Write = write
		_, err := th.MoveTrigger(ctx, c, &api.MoveTriggerRequest{ID: "b", Verb: "acknowledge"})
		must(t, err)
		return write(ctx, c, ops...)
	}
	if list, err := th.DeliverTriggers(t.Context(), c, &api.DeliverTriggersRequest{}); err != nil || list.Count != 1 ||
		list.Triggers[0].ID != "a" {
		t.Errorf("delivered: %+v, %v", list, err)
	}
}

// TestTriggersAreDeliveredOnce: another client receives one of two triggers between the decision and the log. This
// client gets the other one alone.
func TestTriggersAreDeliveredOnce(t *testing.T) {
	t.Parallel()
	th, c := newTestThinker(t)
	at := oplog.At(time.Now())
	round := &oplog.Cognition{At: at, Last: true}
	for i, id := range []string{"a", "b"} {
		round.Triggers = append(round.Triggers, oplog.TriggerRow{ID: id, Type: "stale", Cooldown: id,
			Created: at + oplog.Time(i), Expires: at + oplog.Time(time.Hour.Microseconds())})
	}
	write := th.cfg.Write
	_, _, err := write(t.Context(), c, round)
	must(t, err)
	deliver := func(limit int) (ids []string) {
		list, err := th.DeliverTriggers(t.Context(), c, &api.DeliverTriggersRequest{Limit: limit})
		must(t, err)
		for _, x := range list.Triggers {
			ids = append(ids, x.ID)
		}
		if list.Count != len(ids) {
			t.Errorf("count %d of %v", list.Count, ids)
		}
		return ids
	}
	var first []string
	th.cfg.Write = func(ctx context.Context, c api.Caller, ops ...oplog.Op) (oplog.Index, []oplog.Result, error) {
		th.cfg.Write = write
		first = deliver(1)
		return write(ctx, c, ops...)
	}
	if second := deliver(10); !slices.Equal(first, []string{"b"}) || !slices.Equal(second, []string{"a"}) {
		t.Errorf("delivered %v and %v", first, second)
	}
}
