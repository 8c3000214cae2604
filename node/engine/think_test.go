package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestARoundHoldsTheBeginningsOfTexts: a round of thinking holds the beginning of each memory's text, and not the whole
// of it.
func TestARoundHoldsTheBeginningsOfTexts(t *testing.T) {
	suite.Full(t)
	n, c := alone(t)
	s := n.Service()
	const rows, size = 24, 512 << 10
	for i := range rows {
		if err := s.Remember(t.Context(), c, api.Draft{Text: fmt.Sprint(i, " ", strings.Repeat("lorem ipsum ", size/12))}); err != nil {
			t.Fatal(err)
		}
	}
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	round, err := s.Gather(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	after := held()
	runtime.KeepAlive(round)
	if after > before+rows*size/2 {
		t.Errorf("a round over %d texts of %d bytes holds %d bytes", rows, size, after-before)
	}
}

// TestAListOfTriggersIsAsShortAsAsked: also where it has triggers of more statuses than one.
func TestAListOfTriggersIsAsShortAsAsked(t *testing.T) {
	t.Parallel()
	n, c := alone(t)
	s := n.Service()
	at := oplog.At(time.Now())
	round := &oplog.Cognition{At: at, Last: true}
	for _, id := range []string{"a", "b"} {
		round.Triggers = append(round.Triggers, oplog.TriggerRow{ID: id, Type: "stale", Cooldown: id, Created: at, Expires: at + oplog.Time(time.Hour.Microseconds())})
	}
	if err := s.Propose(t.Context(), c, round, &oplog.TriggerMove{ID: "b", To: oplog.TriggerActed, At: at}); err != nil {
		t.Fatal(err)
	}
	for most := 1; most <= 3; most++ {
		list, err := api.TriggerHistory.Do(t.Context(), s, c, &api.TriggerHistoryRequest{Status: "all", TriggerFilter: api.TriggerFilter{Limit: most}})
		if err != nil || len(list.Triggers) != min(most, 2) {
			t.Errorf("at most %d: %+v, %v", most, list, err)
		}
	}
}
