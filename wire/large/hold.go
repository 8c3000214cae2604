package large

import "sync"

// An answer holds 16 MiB of rows at most: a thousand may have a megabyte each. What it holds beyond free comes out of
// the byte budget, and again for its copies, for it is read, encoded and sent.
const (
	maxAnswer = 16 << 20
	free      = 64 << 10
	copies    = 2
	charge    = 512 << 10 // is taken at once
)

// Hold counts what a request takes of a budget while it is worked on and answered. A request that consists of
// several, such as a model's batch, has a part for each. It may be used from any goroutine.
type Hold struct {
	budget       *Shares
	who          string
	most, copies int

	mu      sync.Mutex
	n       int
	starved bool
	over    bool // it was given back: nothing is taken any more
	gives   []func()
	parts   []*Hold
}

// NewHold is a hold of a principal that takes nothing yet. Without a budget it has room for everything.
func NewHold(budget *Shares, who string) *Hold {
	return &Hold{budget: budget, who: who, most: maxAnswer, copies: copies}
}

// Narrow has answers hold at most so many bytes of rows, of which their surface makes so many copies. It is called
// before the hold is used.
func (h *Hold) Narrow(most, copies int) { h.most, h.copies = most, copies }

// Part is a hold for one answer of the request. It is given back with the whole.
func (h *Hold) Part() *Hold {
	p := &Hold{budget: h.budget, who: h.who, most: h.most, copies: h.copies}
	h.mu.Lock()
	defer h.mu.Unlock()
	p.over = h.over
	h.parts = append(h.parts, p)
	return p
}

// Fits takes what an answer with so many bytes of rows needs, or says that there is no room for it.
func (h *Hold) Fits(rows int) bool {
	return rows <= free || rows <= h.most && h.grow(h.copies*(rows+charge-rows%charge))
}

// FitsFirst is Fits for the first row of an answer, which may be as large as it is. Without room the hold is starved.
func (h *Hold) FitsFirst(row int) bool {
	fits := row <= free || h.grow(h.copies*row)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starved = h.starved || !fits
	return !h.starved
}

// Starved says that not even the first row of the answer had room: it must be rejected.
func (h *Hold) Starved() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.starved
}

// Takes reports whether the hold or a part of it has taken anything.
func (h *Hold) Takes() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.parts {
		if p.Takes() {
			return true
		}
	}
	return h.n > 0
}

func (h *Hold) grow(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n <= h.n {
		return true
	}
	if h.over {
		return false
	}
	if h.budget == nil {
		h.n = n
		return true
	}
	give, ok := h.budget.Try(h.who, n-h.n)
	if !ok {
		return false
	}
	h.n, h.gives = n, append(h.gives, give)
	return true
}

// Release gives all back; nil has nothing. What is worked on still gets no more.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.parts {
		p.Release()
	}
	for _, give := range h.gives {
		give()
	}
	h.n, h.gives, h.parts, h.over = 0, nil, nil, true
}
