package node

import (
	"sync"

	"github.com/cairndb/cairn/oplog"
)

// feed hands what was applied to those who subscribed, in log order. A subscriber that does not keep up
// loses its place: its channel is closed after Lost is set, and it may subscribe again from the log.
type feed struct {
	mu   sync.Mutex
	subs map[*subscription]struct{}
}

// subscription is one reader of the feed.
type subscription struct {
	C    chan oplog.Outcome // closed when the subscription ends
	feed *feed
	lost bool // guarded by feed.mu
}

// feedBuffer is how many outcomes a subscriber may be behind.
const feedBuffer = 1024

func newFeed() *feed { return &feed{subs: map[*subscription]struct{}{}} }

func (f *feed) subscribe() *subscription {
	s := &subscription{C: make(chan oplog.Outcome, feedBuffer), feed: f}
	f.mu.Lock()
	f.subs[s] = struct{}{}
	f.mu.Unlock()
	return s
}

// close ends the subscription; it may be called twice.
func (s *subscription) close() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.drop(s)
}

// fellBehind says, after C is closed, whether the reader was too slow.
func (s *subscription) fellBehind() bool {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.lost
}

func (f *feed) drop(s *subscription) {
	if _, ok := f.subs[s]; ok {
		delete(f.subs, s)
		close(s.C)
	}
}

func (f *feed) publish(outcomes []oplog.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		for _, o := range outcomes {
			select {
			case s.C <- o:
			default:
				s.lost = true
			}
			if s.lost {
				f.drop(s)
				break
			}
		}
	}
}
