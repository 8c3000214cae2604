package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAMillionHitsAreFewEntries: reinforcement goes through the log in batches, and every hit counts once.
func TestAMillionHitsAreFewEntries(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	s := n.Service()
	const rows, hits = 2000, 1_000_000
	var drafts []api.Draft
	var answer []index.Hit
	for i := range rows {
		rid := fmt.Sprintf("m%d", i)
		drafts = append(drafts, api.Draft{RID: rid, Text: "memory " + rid, HalfLife: 1})
		answer = append(answer, index.Hit{Memory: &oplog.Memory{Content: oplog.Content{RID: rid}}})
	}
	if err := s.Remember(t.Context(), c, drafts...); err != nil {
		t.Fatal(err)
	}
	before := s.Applied()
	now := time.Now()
	for i := 0; i < hits; i += 10 {
		at := i % rows
		s.Returned(c.DB, answer[at:at+10], now)
	}
	var counted uint64
	suite.Eventually(t, fmt.Sprint(hits, " hits to be counted"), func() bool {
		if err := s.WaitIndexed(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Flush()
		counted = 0
		if err := n.State().Read(func(v *state.View) error {
			v.Memories(c.DB, 0, func(m *oplog.Memory) bool {
				counted += m.Accesses
				return true
			})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return counted >= hits
	})
	if entries := s.Applied() - before; counted != hits || entries >= 2000 {
		t.Errorf("%d hits counted in %d entries", counted, entries)
	} else {
		t.Logf("%d hits in %d entries", counted, entries)
	}
}
