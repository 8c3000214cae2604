package stringd_test

import (
	"encoding/json"
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

// TestTimelineOfADatedMemory: a memory's neighbours are those by time, whenever they were stored.
func TestTimelineOfADatedMemory(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.ok("main", "/remember --at 2021-01-01 second")
	d.ok("main", "/remember --at 2022-01-01 third")
	d.ok("main", "/remember --at 2020-01-01 first")
	d.ok("main", "/remember --at 2022-01-01 fourth")
	for near, want := range map[string]string{
		"first":  "[] first [second third fourth]",
		"second": "[first] second [third fourth]",
		"third":  "[first second] third [fourth]",
		"fourth": "[first second third] fourth []",
	} {
		d.ok("main", "/recall -k 1 "+near)
		var found struct {
			Before, After []struct{ Text string }
			Near          struct{ Text string }
		}
		if err := json.Unmarshal([]byte(d.ok("main", "/timeline --json @m1")), &found); err != nil {
			t.Fatal(err)
		}
		if got := strings.NewReplacer("{", "", "}", "").Replace(fmt.Sprint(found.Before, found.Near, found.After)); got != want {
			t.Errorf("around %s: %s, want %s", near, got, want)
		}
	}
}
