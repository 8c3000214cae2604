package pause

import (
	"context"
	"testing"
	"time"
)

func TestFor(t *testing.T) {
	if err := For(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, d := range []time.Duration{0, time.Hour} {
		if For(ended, d) == nil {
			t.Fatal("a wait outlasted its context")
		}
	}
}

func TestTicks(t *testing.T) {
	done, n := make(chan struct{}), 0
	for range Ticks(done, time.Millisecond) {
		if n++; n == 3 {
			break
		}
	}
	for range Ticks(done, time.Millisecond) {
		if n++; n == 6 {
			close(done)
		}
	}
	if n < 6 {
		t.Fatal(n)
	}
}
