package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestAskingBetweenResults: the function of RecallEach may use the same client, however many results follow.
func TestAskingBetweenResults(t *testing.T) {
	t.Parallel()
	const results = 500
	server := serve(t, func(s *session, f wire.Frame) bool {
		switch f.Op {
		case wire.OpRecall:
			for i := range results {
				s.send(f, wire.OpRecallResult, &wire.RecallResult{RID: fmt.Sprint(i)})
			}
			s.send(f, wire.OpRecallEnd, &wire.RecallEnd{})
		case wire.OpStats:
			s.send(f, wire.OpInfoResult, &wire.Stats{ActiveMemories: 7})
		}
		return true
	})
	c := dial(t, server)
	got, began := 0, time.Now()
	_, err := c.RecallEach(suite.Context(t), wire.Recall{Query: "x"}, func(r wire.RecallResult) error {
		if r.RID != fmt.Sprint(got) {
			t.Errorf("result %s at place %d", r.RID, got)
		}
		got++
		_, err := c.Stats(suite.Context(t))
		return err
	})
	if err != nil || got != results {
		t.Errorf("%d results, %v, after %s", got, err, time.Since(began))
	}
}
