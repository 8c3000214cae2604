package past

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// TestRing checks that after thirty hours a ring holds the last twenty-four, in order, and has marks of the
// elections.
func TestRing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := New()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- r.Run(ctx, func() Values { return Values{Requests: float32(time.Since(began).Hours()), Lag: float32(math.NaN())} },
				func() Standing { return Standing{Term: 1 + uint64(time.Since(began)/(10*time.Hour)), Leader: 2} })
		}()
		time.Sleep(30*time.Hour + time.Second)
		synctest.Wait()
		s := r.Since(began, Samples)
		if len(s.At) != Samples || cap(r.ring) != Samples {
			t.Fatalf("%d points in room for %d, want %d", len(s.At), cap(r.ring), Samples)
		}
		for i := 1; i < len(s.At); i++ {
			if s.At[i]-s.At[i-1] != int64(Every/time.Second) {
				t.Fatalf("point %d at %d, after %d", i, s.At[i], s.At[i-1])
			}
		}
		if first, last := s.Values[0][Requests], s.Values[Samples-1][Requests]; first < 6 || first > 6.02 || last != 30 {
			t.Errorf("from hour %.3f to %.3f, want 6 to 30", first, last)
		}
		if !math.IsNaN(float64(s.Values[0][Lag])) {
			t.Errorf("a lag that was not known became %v", s.Values[0][Lag])
		}
		if len(s.Marks) != 5 || s.Marks[0].Kind != "start" || s.Marks[3].Term != 3 || s.Marks[3].At.Sub(began) != 20*time.Hour {
			t.Errorf("marks: %+v", s.Marks)
		}
		if few := r.Since(time.Now().Add(-2*time.Hour), 10); len(few.At) != 10 || few.At[9] != s.At[Samples-1] {
			t.Errorf("two hours in ten points: %v", few.At)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestTogether checks that a combined point has the greatest latency and the mean rate.
func TestTogether(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	v := combine([]sample{{0, Values{Requests: 2, Median: 5, Lag: nan}}, {30, Values{Requests: 4, Median: 50, Lag: nan}}})
	if v[Requests] != 3 || v[Median] != 50 || !math.IsNaN(float64(v[Lag])) {
		t.Errorf("%v", v)
	}
}

// TestTimes checks that quantiles are exact to a bucket, and that Read resets the counts.
func TestTimes(t *testing.T) {
	t.Parallel()
	var x Times
	for i := range 1000 {
		x.Took(time.Duration(i+1) * time.Millisecond)
	}
	n, q := x.Read(0.5, 0.99)
	if n != 1000 || q[0] < 500 || q[0] > 500*growth || q[1] < 990 || q[1] > 990*growth {
		t.Errorf("%d counted, quantiles %v", n, q)
	}
	x.Took(100 * time.Hour)
	if n, _ := x.Read(); n != 1 {
		t.Errorf("%d counted after it was read", n)
	}
	if n, q := x.Read(0.5); n != 0 || !math.IsNaN(float64(q[0])) {
		t.Errorf("of none: %d, %v", n, q)
	}
}
