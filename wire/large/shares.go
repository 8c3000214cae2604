package large

import (
	"container/list"
	"context"
	"sync"
)

// generosity limits a principal: it may hold so many times what is left free.
const generosity = 3

// Shares divide what a node has of one thing, such as the bytes of requests, among principals. A principal holds at
// most three times what it leaves free: one alone gets three quarters, and the next ones find room whatever it does.
type Shares struct {
	most int

	mu     sync.Mutex
	used   int
	held   map[string]int
	closed bool          // nobody gets a share any more
	idle   chan struct{} // closed when all is given back, after that

	// Who waits is in the line of its principal, in the order of coming; lines has a line for each principal that
	// waits.
	lines list.List                // of *line, the one that waits longest for its turn first
	by    map[string]*list.Element // of lines
}

// line queues the requests of a principal.
type line struct {
	who     string
	waiting list.List // of *waiter
}

// waiter waits for its share.
type waiter struct {
	n     int
	given chan struct{}
}

// NewShares divides so much.
func NewShares(most int) *Shares {
	return &Shares{most: most, held: map[string]int{}, idle: make(chan struct{}), by: map[string]*list.Element{}}
}

// budget limits the bytes of requests and answers that a node holds at once. Most that are read become garbage, which
// takes as much again.
const budget = 96 << 20

// NewBudget divides the bytes of large requests and answers, over all surfaces of a node: 96 MiB.
func NewBudget() *Shares { return NewShares(budget) }

// Acquire waits until a principal may have n, and returns the function that gives it back. A principal's requests get
// theirs in the order in which they came.
func (s *Shares) Acquire(ctx context.Context, who string, n int) (release func(), ok bool) {
	s.mu.Lock()
	if s.take(who, n) {
		s.mu.Unlock()
		return s.release(who, n), true
	}
	w := &waiter{n, make(chan struct{})}
	at, place := s.queue(who, w)
	s.mu.Unlock()
	select {
	case <-w.given:
		return s.release(who, n), true
	case <-ctx.Done():
	}
	s.mu.Lock()
	select {
	case <-w.given: // meanwhile
		s.mu.Unlock()
		s.release(who, n)()
		return nil, false
	default:
	}
	at.waiting.Remove(place)
	s.leaveEmpty(at)
	s.serve() // those behind it may fit
	s.mu.Unlock()
	return nil, false
}

// Try is Acquire without waiting.
func (s *Shares) Try(who string, n int) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.take(who, n) {
		return nil, false
	}
	return s.release(who, n), true
}

// Drain waits until all is given back or ctx ends. Nobody gets a share any more.
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

// Used returns how much is held.
func (s *Shares) Used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// take counts n in, if the principal may have it and nobody of it waits. The lock is held, as for all below.
func (s *Shares) take(who string, n int) bool {
	if s.by[who] != nil || !s.fits(who, n) {
		return false
	}
	s.count(who, n)
	return true
}

// fits reports whether a principal may have n more. Where nothing is held, one request may have all that there is.
func (s *Shares) fits(who string, n int) bool {
	return !s.closed && (s.held[who]+n <= generosity*(s.most-s.used-n) || s.used == 0 && n <= s.most)
}

func (s *Shares) count(who string, n int) {
	s.used += n
	s.held[who] += n
}

// queue puts a waiter at the end of its principal's line.
func (s *Shares) queue(who string, w *waiter) (at *line, place *list.Element) {
	e := s.by[who]
	if e == nil {
		e = s.lines.PushBack(&line{who: who})
		s.by[who] = e
	}
	at = e.Value.(*line)
	return at, at.waiting.PushBack(w)
}

// leaveEmpty removes a line in which nobody waits any more.
func (s *Shares) leaveEmpty(at *line) {
	if e := s.by[at.who]; at.waiting.Len() == 0 && e != nil && e.Value == at {
		s.lines.Remove(e)
		delete(s.by, at.who)
	}
}

// release returns the function that counts n out.
func (s *Shares) release(who string, n int) func() {
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used -= n
		if s.held[who] -= n; s.held[who] == 0 {
			delete(s.held, who)
		}
		if s.closed && s.used == 0 {
			close(s.idle)
		}
		s.serve()
	})
}

// serve gives what is free to the first of each line, in turn, until no first one fits. It costs one look at each
// principal that waits.
func (s *Shares) serve() {
	for left := s.lines.Len(); left > 0; left-- {
		e := s.lines.Front()
		at := e.Value.(*line)
		s.lines.MoveToBack(e)
		for first := at.waiting.Front(); first != nil; first = at.waiting.Front() {
			w := first.Value.(*waiter)
			if !s.fits(at.who, w.n) {
				break
			}
			at.waiting.Remove(first)
			s.count(at.who, w.n)
			close(w.given)
		}
		s.leaveEmpty(at)
	}
}
