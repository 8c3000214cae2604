package large

import (
	"context"
	"slices"
	"sync"
)

// generosity is how many times what is left free a principal may hold.
const generosity = 3

// Shares divide what a node has of one thing, such as the bytes of requests, among principals. A principal holds at most three times what it leaves
// free: one alone gets three quarters, and the next ones find room whatever it does.
type Shares struct {
	most int

	mu      sync.Mutex
	used    int
	held    map[string]int
	closed  bool          // nobody gets a share any more
	idle    chan struct{} // closed when all is given back, after that
	waiting []*waiter     // in the order in which they came
}

// waiter is one who waits for its share.
type waiter struct {
	who   string
	n     int
	given chan struct{}
}

// NewShares divides so much.
func NewShares(most int) *Shares {
	return &Shares{most: most, held: map[string]int{}, idle: make(chan struct{})}
}

// budget is how many bytes of requests and answers a node holds at once. Most that are read become garbage, which takes as much again.
const budget = 96 << 20

// NewBudget divides the bytes of large requests and answers, over all surfaces of a node: 96 MiB.
func NewBudget() *Shares { return NewShares(budget) }

// Acquire waits until a principal may have n, and returns the function that gives it back. A principal's requests get theirs in the order in which
// they came.
func (s *Shares) Acquire(ctx context.Context, who string, n int) (release func(), ok bool) {
	s.mu.Lock()
	if !s.behindOther(who) && s.fits(who, n) {
		s.take(who, n)
		s.mu.Unlock()
		return s.release(who, n), true
	}
	w := &waiter{who, n, make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	select {
	case <-w.given:
		return s.release(who, n), true
	case <-ctx.Done():
	}
	s.mu.Lock()
	i := slices.Index(s.waiting, w)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.serve() // those behind it may fit
	}
	s.mu.Unlock()
	if i < 0 { // it was given meanwhile
		s.release(who, n)()
	}
	return nil, false
}

// Try is Acquire for those who do not wait.
func (s *Shares) Try(who string, n int) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behindOther(who) || !s.fits(who, n) {
		return nil, false
	}
	s.take(who, n)
	return s.release(who, n), true
}

// Drain, called once, waits until all is given back or ctx ends. Nobody gets a share any more.
func (s *Shares) Drain(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	if s.used == 0 {
		close(s.idle)
	}
	s.mu.Unlock()
	select {
	case <-s.idle:
	case <-ctx.Done():
	}
}

// Used is how much is held.
func (s *Shares) Used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// fits says whether a principal may have n more. The lock is held.
func (s *Shares) fits(who string, n int) bool {
	return !s.closed && s.held[who]+n <= generosity*(s.most-s.used-n)
}

// behindOther says whether another request of the principal waits. The lock is held.
func (s *Shares) behindOther(who string) bool {
	return slices.ContainsFunc(s.waiting, func(w *waiter) bool { return w.who == who })
}

// take counts n in. The lock is held.
func (s *Shares) take(who string, n int) {
	s.used += n
	s.held[who] += n
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

// serve gives those who wait what fits now; of one principal nobody overtakes. The lock is held.
func (s *Shares) serve() {
	var stay []*waiter
	stuck := map[string]bool{}
	for _, w := range s.waiting {
		if stuck[w.who] || !s.fits(w.who, w.n) {
			stuck[w.who] = true
			stay = append(stay, w)
			continue
		}
		s.take(w.who, w.n)
		close(w.given)
	}
	s.waiting = stay
}
