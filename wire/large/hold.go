package large

// An answer holds 16 MiB of rows at most: a thousand may have a megabyte each. What it holds beyond free comes out of the byte budget, and again for its
// copies, for it is read, encoded and sent.
const (
	maxAnswer = 16 << 20
	free      = 64 << 10
	copies    = 2
	charge    = 512 << 10 // is taken at once
)

// Hold is what one request takes of a budget while it is worked on and answered. One goroutine at a time uses it.
type Hold struct {
	budget       *Shares
	who          string
	most, copies int
	n            int
	starved      bool
	gives        []func()
}

// NewHold is a hold of a principal that takes nothing yet.
func NewHold(budget *Shares, who string) *Hold {
	return &Hold{budget: budget, who: who, most: maxAnswer, copies: copies}
}

// Narrow has answers hold at most so many bytes of rows, of which their surface makes so many copies.
func (h *Hold) Narrow(most, copies int) { h.most, h.copies = most, copies }

// Fits takes what an answer with so many bytes of rows needs, or says that there is no room for it.
func (h *Hold) Fits(rows int) bool {
	return rows <= free || rows <= h.most && h.grow(h.copies*(rows+charge-rows%charge))
}

// Starved says that not even the first row of the answer had room: it must be refused.
func (h *Hold) Starved() bool { return h.starved }

// FitsFirst is Fits for the first row of an answer, which may be as large as it is. Without room the hold is starved.
func (h *Hold) FitsFirst(row int) bool {
	h.starved = h.starved || row > free && !h.grow(h.copies*row)
	return !h.starved
}

// Takes says whether it has taken anything.
func (h *Hold) Takes() bool { return h.n > 0 }

func (h *Hold) grow(n int) bool {
	if n <= h.n {
		return true
	}
	give, ok := h.budget.Try(h.who, n-h.n)
	if !ok {
		return false
	}
	h.n, h.gives = n, append(h.gives, give)
	return true
}

// Release gives all back; nil has nothing.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	for _, give := range h.gives {
		give()
	}
	h.n, h.gives = 0, nil
}
