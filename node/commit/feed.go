package commit

import (
	"sync"
	"sync/atomic"

	"github.com/cairndb/cairn/oplog"
)

// feed hands what was applied to its subscribers, in log order. A subscriber that does not keep up, or whose node has
// jumped ahead by a snapshot, loses its place: its channel is closed, and it may subscribe again and read what it
// missed in the log.
type feed struct {
	mu   sync.Mutex
	subs map[*Subscription]struct{}
}

// Subscription is one reader's place in what the node applies.
type Subscription struct {
	C <-chan Batch // closed when the subscription ends or its reader has lost its place

	in      chan Batch // C, for the feed
	feed    *feed
	waiting atomic.Int64 // bytes in C
}

// Batch is whole records on their way to a subscriber, which gets the outcomes from Take.
type Batch struct {
	outcomes []oplog.Outcome
	size     int // of the records
}

// How far a subscriber may be behind: in batches, and in bytes of their records. Both are small: a thousand subscribers
// wait on a node, and what one misses it reads from the log.
const (
	feedBuffer = 64
	feedBytes  = 8 << 20
)

// Take returns the outcomes of a batch that the reader received from C, which it must not change: all subscribers share
// them.
func (s *Subscription) Take(b Batch) []oplog.Outcome {
	s.waiting.Add(-int64(b.size))
	return b.outcomes
}

// Close ends the subscription; it may be called twice.
func (s *Subscription) Close() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.drop(s)
}

func newFeed() *feed { return &feed{subs: map[*Subscription]struct{}{}} }

func (f *feed) subscribe() *Subscription {
	in := make(chan Batch, feedBuffer)
	s := &Subscription{C: in, in: in, feed: f}
	f.mu.Lock()
	f.subs[s] = struct{}{}
	f.mu.Unlock()
	return s
}

func (f *feed) subscribers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs)
}

// drop is called with mu held.
func (f *feed) drop(s *Subscription) {
	if _, ok := f.subs[s]; ok {
		delete(f.subs, s)
		close(s.in)
	}
}

// dropAll ends all subscriptions: the state was restored, and only the log has the records that it jumped over.
func (f *feed) dropAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		f.drop(s)
	}
}

// publish never waits for a subscriber. All of them share the outcomes.
func (f *feed) publish(outcomes []oplog.Outcome, size int) {
	if len(outcomes) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		if n := s.waiting.Add(int64(size)); n > feedBytes && n > int64(size) {
			f.drop(s)
			continue
		}
		select {
		case s.in <- Batch{outcomes, size}:
		default:
			f.drop(s)
		}
	}
}
