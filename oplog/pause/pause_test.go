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

func TestUntil(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	from := make(chan int, 1)
	Offer(from, 1)
	Offer(from, 2) // the channel is full
	if v, err := Until(ctx, from); v != 1 || err != nil {
		t.Fatal(v, err)
	}
	end()
	if v, err := Until(ctx, from); v != 0 || err == nil {
		t.Fatal(v, err)
	}
	close(from)
	if v, err := Until(t.Context(), from); v != 0 || err != nil {
		t.Fatal(v, err)
	}
}

func TestReceived(t *testing.T) {
	done, from, n := make(chan struct{}), make(chan int), 0
	go func() {
		for i := range 3 {
			from <- i + 1
		}
		close(done)
	}()
	for v := range Received(done, from) {
		n += v
	}
	if n != 6 {
		t.Fatal(n)
	}
}
