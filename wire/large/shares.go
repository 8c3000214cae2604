package large

import (
	"container/list"
	"context"
	"sync"
)

// maxHeldPerFree limits what a principal may hold to this multiple of what remains free.
const maxHeldPerFree = 3

// Shares divides a limited resource of a node, such as the bytes of requests, among principals. A principal holds at
// most three times what it leaves free: a single one gets at most three quarters, so others always find room.
type Shares struct {
	most int

	mu     sync.Mutex
	used   int
	held   map[string]int
	closed bool          // no more shares are granted
	idle   chan struct{} // closed when everything is released after Drain

	// Each principal has a queue of its waiting requests in order of arrival. turnOrder contains the queue of each
	// waiting principal.
	turnOrder list.List                // of *waitQueue; the next turn first
	queues    map[string]*list.Element // elements of turnOrder, by principal
}

// waitQueue queues the requests of a principal.
type waitQueue struct {
	who     string
	waiting list.List // of *waiter
}

// waiter is a request that waits for its share.
type waiter struct {
	n       int
	granted chan struct{}
}

// NewShares returns shares of a resource of size most.
func NewShares(most int) *Shares {
	return &Shares{most: most, held: map[string]int{}, idle: make(chan struct{}), queues: map[string]*list.Element{}}
}

// budget limits the bytes of large requests and answers that a node holds at once. Garbage may take as much again.
const budget = 96 << 20

// NewBudget returns the shares of the bytes of large requests and answers, for all surfaces of a node: 96 MiB.
func NewBudget() *Shares { return NewShares(budget) }

// Acquire waits until a principal may have n, and returns the function that releases it. A principal's requests are
// served in order of arrival.
func (s *Shares) Acquire(ctx context.Context, who string, n int) (release func(), ok bool) {
	s.mu.Lock()
	if s.tryTake(who, n) {
		s.mu.Unlock()
		return s.release(who, n), true
	}
	w := &waiter{n, make(chan struct{})}
	at, place := s.queue(who, w)
	s.mu.Unlock()
	select {
	case <-w.granted:
		return s.release(who, n), true
	case <-ctx.Done():
	}
	s.mu.Lock()
	select {
	case <-w.granted: // granted meanwhile
		s.mu.Unlock()
		s.release(who, n)()
		return nil, false
	default:
	}
	at.waiting.Remove(place)
	s.removeIfEmpty(at)
	s.grantWaiting() // smaller requests after it may fit
	s.mu.Unlock()
	return nil, false
}

// Try is Acquire without waiting; ok is false if there is no room.
func (s *Shares) Try(who string, n int) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tryTake(who, n) {
		return nil, false
	}
	return s.release(who, n), true
}

// Drain stops granting shares, and waits until all are released or ctx ends.
func (s *Shares) Drain(ctx context.Context) {
	s.mu.Lock()
	if !s.closed && s.used == 0 {
		close(s.idle)
	}
	s.closed = true
	s.mu.Unlock()
	select {
	case <-s.idle:
	case <-ctx.Done():
	}
}

// Used returns the amount that is held.
func (s *Shares) Used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// tryTake grants n if the principal may have it and no request of it waits. mu is held, as for all methods below.
func (s *Shares) tryTake(who string, n int) bool {
	if s.queues[who] != nil || !s.fits(who, n) {
		return false
	}
	s.count(who, n)
	return true
}

// fits reports whether a principal may have n more. If nothing is held, one request may have everything.
func (s *Shares) fits(who string, n int) bool {
	return !s.closed && (s.held[who]+n <= maxHeldPerFree*(s.most-s.used-n) || s.used == 0 && n <= s.most)
}

func (s *Shares) count(who string, n int) {
	s.used += n
	s.held[who] += n
}

// queue adds a waiter to the end of its principal's queue.
func (s *Shares) queue(who string, w *waiter) (at *waitQueue, place *list.Element) {
	e := s.queues[who]
	if e == nil {
		e = s.turnOrder.PushBack(&waitQueue{who: who})
		s.queues[who] = e
	}
	at = e.Value.(*waitQueue)
	return at, at.waiting.PushBack(w)
}

// removeIfEmpty removes a queue without waiters.
func (s *Shares) removeIfEmpty(at *waitQueue) {
	if e := s.queues[at.who]; at.waiting.Len() == 0 && e != nil && e.Value == at {
		s.turnOrder.Remove(e)
		delete(s.queues, at.who)
	}
}

// release returns the function that releases n.
func (s *Shares) release(who string, n int) func() {
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used -= n
		if s.held[who] -= n; s.held[who] == 0 {
			delete(s.held, who)
		}
		if s.closed && s.used == 0 && n > 0 { // a share of 0 ends nothing
			close(s.idle)
		}
		s.grantWaiting()
	})
}

// grantWaiting grants free shares to the first waiters of each queue in turn, until no first waiter fits. It visits
// each waiting principal once.
func (s *Shares) grantWaiting() {
	for left := s.turnOrder.Len(); left > 0; left-- {
		e := s.turnOrder.Front()
		at := e.Value.(*waitQueue)
		s.turnOrder.MoveToBack(e)
		for first := at.waiting.Front(); first != nil; first = at.waiting.Front() {
			w := first.Value.(*waiter)
			if !s.fits(at.who, w.n) {
				break
			}
			at.waiting.Remove(first)
			s.count(at.who, w.n)
			close(w.granted)
		}
		s.removeIfEmpty(at)
	}
}
