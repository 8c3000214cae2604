package admin

import (
	"testing"
)

// TestBoundsAreSaid: without a burst a second's worth of requests may come at once, not any number.
func TestBoundsAreSaid(t *testing.T) {
	for want, l := range map[string][2]uint32{"unbounded": {0, 5}, "7/s, 7 at once": {7, 0}, "7/s, 20 at once": {7, 20}} {
		if got := admitted(l[0], l[1]); got != want {
			t.Errorf("%v: %q, want %q", l, got, want)
		}
	}
}
