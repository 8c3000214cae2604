package node

import (
	"sync"
	"sync/atomic"

	"github.com/cairndb/cairn/oplog"
)

// feed hands what was applied to those who subscribed, in log order. A subscriber that does not keep up, or whose node has jumped
// ahead by a snapshot, loses its place: its channel is closed, and it may subscribe again and read what it missed in the log.
type feed struct {
	mu   sync.Mutex
	subs map[*subscription]struct{}
}

// subscription is one reader of the feed.
type subscription struct {
	C       chan fed // closed when the subscription ends or its reader has lost its place
	feed    *feed
	waiting atomic.Int64 // bytes in C
}

// fed is a batch of whole records on its way to a subscriber, who gets its outcomes by taking it.
type fed struct {
	outcomes []oplog.Outcome
	size     int // of the records
}

// How far a subscriber may be behind: in batches, and in bytes of their records. Both are small: a thousand subscribers wait on a
// node, and what one misses it reads from the log.
const (
	feedBuffer = 64
	feedBytes  = 8 << 20
)

// take is what a reader of C calls with what it read.
func (s *subscription) take(b fed) []oplog.Outcome {
	s.waiting.Add(-int64(b.size))
	return b.outcomes
}

func newFeed() *feed { return &feed{subs: map[*subscription]struct{}{}} }

func (f *feed) subscribe() *subscription {
	s := &subscription{C: make(chan fed, feedBuffer), feed: f}
	f.mu.Lock()
	f.subs[s] = struct{}{}
	f.mu.Unlock()
	return s
}

func (f *feed) readers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs)
}

// close ends the subscription; it may be called twice.
func (s *subscription) close() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.drop(s)
}

func (f *feed) drop(s *subscription) {
	if _, ok := f.subs[s]; ok {
		delete(f.subs, s)
		close(s.C)
	}
}

// skip ends all subscriptions: the state was restored, and what it jumped over is in its log alone.
func (f *feed) skip() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		f.drop(s)
	}
}

// publish never waits: the batch is shared, and nobody may change it.
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
		case s.C <- fed{outcomes, size}:
		default:
			f.drop(s)
		}
	}
}
