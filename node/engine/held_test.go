package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// TestWhatIsHeldIsReleasedFirst: a move, merge or split of a memory in quarantine is rejected with that reason.
func TestWhatIsHeldIsReleasedFirst(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	other := stored(t, n, c, api.Draft{Text: "tea is green"})
	distrusted := c
	distrusted.Policy.Quarantine = oplog.TrustWeb
	held := stored(t, n, distrusted, api.Draft{Text: "the boat is red", Trust: oplog.TrustWeb})
	_, move := api.Move.Do(t.Context(), n.Host(), c, &api.MoveRequest{RID: held, To: "work"})
	_, merge := api.Merge.Do(t.Context(), n.Host(), c, &api.MergeRequest{RIDs: []string{held, other}, Text: "a boat, and tea"})
	_, split := api.Split.Do(t.Context(), n.Host(), c, &api.SplitRequest{RID: held, Texts: []string{"a boat", "it is red"}})
	for name, err := range map[string]error{"move": move, "merge": merge, "split": split} {
		if err == nil || !strings.Contains(err.Error(), "waits in quarantine") {
			t.Errorf("a %s says %v", name, err)
		}
	}
}

// TestNoPastRecallHasWhatWasHeld: a memory that was forgotten or expired in quarantine is not in an answer about the
// time when it was there.
func TestNoPastRecallHasWhatWasHeld(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	distrusted := c
	distrusted.Policy.Quarantine = oplog.TrustWeb
	var forgotten []string
	for _, text := range []string{"the boat is red", "the boat is green"} {
		forgotten = append(forgotten, stored(t, n, distrusted, api.Draft{Text: text, Trust: oplog.TrustWeb}))
	}
	expires := time.Now().Add(200 * time.Millisecond)
	stored(t, n, distrusted, api.Draft{Text: "the boat is blue", Trust: oplog.TrustWeb, Expires: field.Date{Time: expires}})
	then := time.Now()
	if _, err := api.Correct.Do(t.Context(), n.Host(), c, &api.CorrectRequest{RID: forgotten[0], Text: new("the boat is black"), Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	for _, rid := range forgotten {
		if _, err := api.Forget.Do(t.Context(), n.Host(), c, &api.ForgetRequest{RID: rid}); err != nil {
			t.Fatal(err)
		}
	}
	<-time.After(time.Until(expires.Add(10 * time.Millisecond)))
	for range 2 { // before its sweep, and after it
		stored(t, n, c, api.Draft{Text: "tea is green"}) // this moves the time of the log
		a, err := api.RecallAsOf.Do(t.Context(), n.Host(), c, &api.RecallAsOfRequest{Question: api.Question{Text: "boat", K: 10},
			AsOf: field.Date{Time: then}})
		if err != nil || len(a.Results) != 0 {
			t.Errorf("recalled as of then: %+v, %v", a.Results, err)
		}
		if _, err := api.SweepNow.Do(t.Context(), n.Host(), c, &api.SweepNowRequest{Namespace: "default"}); err != nil {
			t.Fatal(err)
		}
	}
}
