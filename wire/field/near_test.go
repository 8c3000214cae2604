package field

import "testing"

// TestNearest: the nearest name differs in at most two letters and half of its length. Of equally near names, the one
// with the same beginning wins.
func TestNearest(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"importanse", "importance"}, {"limt", "limit"}, {"colour", ""}, {"certain", "certainty"}, {"tep", "top"},
		{"xy", ""}, {"", ""}, {"text", "new_text"}, {"at", ""},
	} {
		if got := Nearest(c.name,
			[]string{"certainty", "created_at", "importance", "step", "top", "limit", "new_text", "at_a", "at_b"}); got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
}
