package large

import (
	"context"
	"testing"
	"time"
)

// Large frames take turns: the bytes read of them at once are bounded over all senders, and those that never come to
// their end give their place to others in time.
func TestRoomForLargeFrames(t *testing.T) {
	t.Parallel()
	r := NewBudget().Acquire
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	all, ok := r(ctx, 256<<20)
	if !ok {
		t.Fatal("no room in an empty budget")
	}
	got := make(chan bool)
	go func() { _, ok := r(ctx, 1<<20); got <- ok }()
	go func() { _, ok := r(ctx, 1<<20); got <- ok }()
	select {
	case <-got:
		t.Fatal("room where there is none")
	case <-time.After(20 * time.Millisecond):
	}
	all()
	for range 2 {
		if !<-got {
			t.Error("room was not given back")
		}
	}
	half, ok := r(ctx, 254<<20)
	if !ok {
		t.Fatal("no room")
	}
	go func() { _, ok := r(ctx, 2<<20); got <- ok }()
	cancel()
	if <-got {
		t.Error("room for one that has gone")
	}
	half()
	if back, ok := r(t.Context(), 254<<20); !ok {
		t.Error("half a place is lost")
	} else {
		back()
	}
}
