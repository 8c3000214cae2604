package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// TestTheLeaderTidiesUp: tiers follow the database's policies, sessions nobody ended are given up by the log's time.
func TestTheLeaderTidiesUp(t *testing.T) {
	t.Parallel()
	n, c := alone(t)
	s := n.Service()
	ctx := t.Context()
	old := time.Now().Add(-48 * time.Hour)
	drafts := []Draft{{RID: "scratch", Text: "left over scratch", Tier: TierWorking, Created: old}, {RID: "used", Text: "looked at again and again", Tier: TierWorking, Created: old}}
	for i := range minThink {
		drafts = append(drafts, Draft{RID: fmt.Sprint("n", i), Text: fmt.Sprint("note ", i), Tier: TierLongterm, Created: old})
	}
	if _, err := s.Remember(ctx, c, "", drafts...); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, c, "", &oplog.Reinforce{Hits: []oplog.Hit{{RID: "used", Count: 3, At: oplog.At(time.Now())}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetDatabaseSettings(ctx, c, oplog.Settings{WorkingTTL: dayTime, PromoteAfter: 3}); err != nil {
		t.Fatal(err)
	}
	if err := s.thinkAlone(ctx, c); err != nil {
		t.Fatal(err)
	}
	for rid, want := range map[string]string{"scratch": "tombstoned working", "used": "active episodic", "n0": "active longterm"} {
		m, err := s.Memory(ctx, c, rid, Stale)
		if err != nil || fmt.Sprint(m.Status, " ", m.Tier) != want {
			t.Errorf("%s: %+v, %v", rid, m, err)
		}
	}
	for _, x := range []oplog.SessionStart{{ID: "left", Namespace: "default", Client: "a", At: oplog.At(old)}, {ID: "open", Namespace: "default", Client: "b", At: oplog.At(time.Now())}} {
		if _, err := s.Commit(ctx, c, "", &x); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.abandon(ctx, c); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Sessions(ctx, c, SessionQuery{}, Stale)
	if err != nil || len(rows) != 2 || rows[0].Status != oplog.SessionActive || rows[1].Status != oplog.SessionAbandoned {
		t.Errorf("%+v, %v", rows, err)
	}
}
