package commit

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestARecordFitsAFrame: entries share a record while it is short enough to be sent. The entry that would make it too
// long begins the next record.
func TestARecordFitsAFrame(t *testing.T) {
	t.Parallel()
	p := newProposer(nil, nil, nil)
	for _, n := range []int{maxRecordBytes - 1, 10 << 20, 1} {
		p.queue <- proposal{body: make([]byte, n)}
	}
	for _, want := range []int{maxRecordBytes - 1, 10 << 20, 1} {
		if batch := p.gather(p.awaitFirst(t.Context())); len(batch) != 1 || len(batch[0].body) != want {
			t.Errorf("%d entries, the first of %d bytes, want %d", len(batch), len(batch[0].body), want)
		}
	}
}

// TestAProposerThatHasEndedRejects: an entry that comes when the proposer's task has ended is rejected at once.
func TestAProposerThatHasEndedRejects(t *testing.T) {
	t.Parallel()
	m := startLeader(t, nil)
	p := newProposer(m.raft, m.clock, m.opts.Disk)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.run(ended); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	body, err := remember("late").Encode()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := p.propose(ctx, body); !errors.Is(err, api.ErrStopping) {
		t.Errorf("got %v", err)
	}
}

// TestEntriesShareARecord: an entry that arrives alone becomes its own record at once. Entries that arrive while
// records are being committed share one record, and are one batch of the state, one step of the index and one batch
// for subscribers.
func TestEntriesShareARecord(t *testing.T) {
	t.Parallel()
	m := startLeader(t, nil)
	first := m.propose(t, remember("first"))
	sub := m.Subscribe()
	defer sub.Close()
	// step waits for the next batch of outcomes that begins at record from or later. The index gets the same batch.
	step := func(from oplog.Index) []oplog.Outcome {
		for b := range sub.C {
			if list := sub.Take(b); list[0].Index >= from {
				return list
			}
		}
		t.Fatal("the subscription ended")
		return nil
	}
	for _, rid := range []string{"a", "b", "c"} { // nothing else is proposed, so an entry that waited for another would wait for ever
		o := m.propose(t, remember(rid))
		if list := step(first.Index + 1); len(list) != 1 || list[0].Index != o.Index {
			t.Errorf("%s shares a step with %d others", rid, len(list)-1)
		}
		first = o
	}
	const many = 64
	for range recordsInFlight {
		m.proposer.slots <- struct{}{}
	}
	outcomes := make([]oplog.Outcome, many)
	var proposed sync.WaitGroup
	for i := range many {
		proposed.Go(func() { outcomes[i] = m.propose(t, remember(oplog.NewID())) })
	}
	suite.Eventually(t, "entries that wait", func() bool { return len(m.proposer.queue) >= many-1 }) // one is in the next record
	for range recordsInFlight {
		<-m.proposer.slots
	}
	proposed.Wait()
	places := map[int]bool{}
	for _, o := range outcomes {
		places[o.Number] = true
		if o.Index != outcomes[0].Index {
			t.Errorf("entries in records %d and %d", o.Index, outcomes[0].Index)
		}
	}
	if list := step(first.Index + 1); len(places) != many || len(list) != many {
		t.Errorf("%d places in the record, and a step of %d entries, want %d", len(places), len(list), many)
	}
}
