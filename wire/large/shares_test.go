package large

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestSharesLeaveRoom: whatever principals take and give back, each holds at most three times what is free, one who
// holds nothing gets a fortieth while three others hold all they can, and nothing is lost.
func TestSharesLeaveRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := NewShares(1024)
		type held struct {
			who     string
			n       int
			release func()
		}
		var all []held
		sum := map[string]int{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(all) > 0 && rapid.Bool().Draw(t, "give back") {
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				all[i].release()
				all[i].release() // once counts
				sum[all[i].who] -= all[i].n
				all = append(all[:i], all[i+1:]...)
				continue
			}
			h := held{who: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "who"), n: rapid.IntRange(1, 300).Draw(t, "n")}
			release, ok := s.Try(h.who, h.n)
			if !ok {
				continue
			}
			h.release = release
			all = append(all, h)
			if sum[h.who] += h.n; sum[h.who] > 3*(1024-s.Used()) {
				t.Fatalf("%s holds %d of 1024, and %d are used", h.who, sum[h.who], s.Used())
			}
		}
		if release, ok := s.Try("new", 1024/(1+3*3)/4); !ok {
			t.Fatalf("no room for a new one: %v", sum)
		} else {
			release()
		}
		for _, h := range all {
			h.release()
		}
		if s.Used() != 0 || len(s.held) != 0 {
			t.Fatalf("%d is held by %v", s.Used(), s.held)
		}
	})
}

// TestSharesWait: a request without room waits after earlier requests of its principal, and independently of those of
// others. A canceled request leaves its queue.
func TestSharesWait(t *testing.T) {
	t.Parallel()
	s := NewBudget()
	all, ok := s.Acquire(t.Context(), "a", 72<<20)
	if !ok {
		t.Fatal("no room in an empty budget")
	}
	if _, ok := s.Try("a", 1); ok {
		t.Fatal("room where there is none")
	}
	got := make(chan func(), 4)
	ask := func(ctx context.Context, who string, n int) {
		before := s.queued()
		go func() {
			release, _ := s.Acquire(ctx, who, n)
			got <- release
		}()
		suite.Eventually(t, "a request to wait", func() bool { return s.queued() == before+1 })
	}
	gone, leave := context.WithTimeout(t.Context(), time.Hour)
	ask(gone, "a", 1<<20)
	ask(t.Context(), "a", 2<<20)
	if release, ok := s.Try("b", 4<<20); !ok {
		t.Fatal("one principal keeps another out")
	} else {
		release()
	}
	leave()
	if release := suite.Receive(t, "the end of one that left", got); release != nil {
		t.Fatal("room for one that has gone")
	}
	all()
	suite.Receive(t, "room", got)()
	if s.Used() != 0 || s.turnOrder.Len() != 0 || len(s.queues) != 0 {
		t.Errorf("%d is lost, %d lines stay", s.Used(), s.turnOrder.Len())
	}
}

func (s *Shares) queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for e := s.turnOrder.Front(); e != nil; e = e.Next() {
		n += e.Value.(*waitQueue).waiting.Len()
	}
	return n
}

// TestAShareOfOne: a resource of size one can be acquired.
func TestAShareOfOne(t *testing.T) {
	t.Parallel()
	s := NewShares(1)
	for _, who := range []string{"a", "b"} {
		release, ok := s.Try(who, 1)
		if !ok {
			t.Fatalf("%s gets nothing", who)
		}
		if _, ok := s.Try("c", 1); ok {
			t.Error("two have the only one")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		waits := make(chan bool, 1)
		go func() {
			done, ok := s.Acquire(ctx, "d", 1)
			if ok {
				done()
			}
			waits <- ok
		}()
		release()
		if !<-waits {
			t.Error("who waited got nothing")
		}
		cancel()
	}
}

// TestAShareOfNothing: a share of size 0 that is released after Drain ends nothing a second time.
func TestAShareOfNothing(t *testing.T) {
	t.Parallel()
	s := NewShares(1)
	release, ok := s.Try("a", 0)
	if !ok {
		t.Fatal("no room for nothing")
	}
	s.Drain(t.Context())
	release()
}
