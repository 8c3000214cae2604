package stringd_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestAListSaysWhatItLeavesOut: a truncated list says that there is more, and how to get it. A complete list does
// not.
func TestAListSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for i := range 9 {
		d.ok("main", fmt.Sprintf("/remember the heron %d stands in the pond", i))
	}
	has(t, d.ok("main", "/recent"), "Recent 8", "there are older ones: /recent -n returns up to 100")
	for _, cmd := range []string{"/recent -n 9", "/recent -n 10", "/open mem:recent", "/open mem:search?q=heron"} {
		if got := d.ok("main", cmd); strings.Contains(got, "...") || strings.Count(got, "stands in the pond") != 9 {
			t.Errorf("%s: %s", cmd, got)
		}
	}
	for i := range 12 {
		d.ok("main", fmt.Sprintf("/remember the heron %d flies over the pond", i))
	}
	has(t, d.ok("main", "/open mem:recent"), "there are older ones")
	has(t, d.ok("main", "/open mem:search?q=heron"), "1 more match: /recall -k returns up to 100")
	for i := range 101 {
		d.ok("main", fmt.Sprintf("/relate heron eats frog%d", i))
	}
	if got := d.ok("main", "/edges heron"); strings.Count(got, "-eats->") != 100 || !strings.Contains(got, "there are more than 100") {
		t.Errorf("edges: %s", got)
	}
}
