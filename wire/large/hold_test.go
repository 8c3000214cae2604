package large

import (
	"sync"
	"testing"
)

// TestHoldsAreGivenBack: concurrent parts of a request take what their answers need, and everything is released
// exactly once, even if a part still asks after Release.
func TestHoldsAreGivenBack(t *testing.T) {
	t.Parallel()
	s := NewBudget()
	h := NewHold(s, "a")
	var parts []*Hold
	var all sync.WaitGroup
	for range 4 {
		p := h.Part()
		parts = append(parts, p)
		all.Go(func() {
			for rows := 1 << 10; rows <= 4<<20; rows *= 2 {
				p.Fits(rows)
			}
		})
	}
	all.Wait()
	if want := 4 * defaultCopies * (4<<20 + chargeStep); s.Used() != want || !h.Takes() {
		t.Errorf("%d is held, want %d", s.Used(), want)
	}
	if parts[0].Fits(maxAnswer + 1) {
		t.Error("an answer of more than its bound has room")
	}
	h.Release()
	h.Release()
	if parts[1].Fits(8<<20) || h.Part().FitsFirst(1<<20) || s.Used() != 0 || h.Takes() {
		t.Errorf("%d is held by a request that is over", s.Used())
	}
	if !h.Part().Fits(freeRows) {
		t.Error("a small answer needs a share")
	}
}

// TestAStarvedPartLeavesTheOthers: if the budget has no room for an answer's first row, only that answer is rejected.
func TestAStarvedPartLeavesTheOthers(t *testing.T) {
	t.Parallel()
	s := NewBudget()
	h := NewHold(s, "a")
	full, ok := s.Try("a", 72<<20)
	if !ok {
		t.Fatal("no room")
	}
	p := h.Part()
	if p.FitsFirst(1<<20) || !p.Starved() {
		t.Error("room where there is none")
	}
	full()
	if other := h.Part(); !other.FitsFirst(1<<20) || other.Starved() {
		t.Error("another answer is refused")
	}
	h.Release()
}
