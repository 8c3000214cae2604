package large

import "sync"

// Bounds of an answer's rows. An answer with more than freeRows bytes of rows takes them from the byte budget, once
// per copy, because the rows are read, encoded and sent. Without a bound, a thousand rows could have a megabyte each.
const (
	maxAnswer     = 16 << 20
	freeRows      = 64 << 10
	defaultCopies = 2
	chargeStep    = 512 << 10 // step in which the budget is taken
)

// Hold counts the bytes that a request takes from a budget until it is answered. A request that consists of several,
// such as a batch of tool calls, has a part for each. It is safe for concurrent use.
type Hold struct {
	budget       *Shares
	who          string
	most, copies int

	mu       sync.Mutex
	n        int
	starved  bool
	released bool // after Release: nothing more can be taken
	releases []func()
	parts    []*Hold
}

// NewHold returns an empty hold of a principal. A nil budget has no limit.
func NewHold(budget *Shares, who string) *Hold {
	return &Hold{budget: budget, who: who, most: maxAnswer, copies: defaultCopies}
}

// Narrow sets the maximum bytes of an answer's rows, and the number of copies that the surface makes of them. It must
// be called before the hold is used.
func (h *Hold) Narrow(most, copies int) { h.most, h.copies = most, copies }

// Part returns a hold for one answer of the request. Release of the whole releases it.
func (h *Hold) Part() *Hold {
	p := &Hold{budget: h.budget, who: h.who, most: h.most, copies: h.copies}
	h.mu.Lock()
	defer h.mu.Unlock()
	p.released = h.released
	h.parts = append(h.parts, p)
	return p
}

// Fits takes the budget for an answer with this many bytes of rows, and reports whether there was room.
func (h *Hold) Fits(rows int) bool {
	return rows <= freeRows || rows <= h.most && h.grow(h.copies*(rows+chargeStep-rows%chargeStep))
}

// FitsFirst is Fits for the first row of an answer, which may have any size. Without room the hold becomes starved.
func (h *Hold) FitsFirst(row int) bool {
	fits := row <= freeRows || h.grow(h.copies*row)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starved = h.starved || !fits
	return !h.starved
}

// Starved reports whether there was no room even for the first row of an answer. The request must then be rejected.
func (h *Hold) Starved() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.starved
}

// Takes reports whether the hold or one of its parts has taken anything from the budget.
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
	if h.released {
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
	h.n, h.releases = n, append(h.releases, give)
	return true
}

// Release returns everything to the budget. After it, nothing more can be taken. A nil Hold is allowed.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.parts {
		p.Release()
	}
	for _, give := range h.releases {
		give()
	}
	h.n, h.releases, h.parts, h.released = 0, nil, nil, true
}
