package mind

import "testing"

func TestTimesOfDay(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{"9am": true, "9:30": true, "9:30pm": true, "14h": true, "14h30": false, "5m": false,
		"10p": false, "3a": false, "9": false, "2026": false, "123am": false, "9:3": false, "am": false, "h": false} {
		if got := isClockTime(word); got != want {
			t.Errorf("%q is a time of day: %v, want %v", word, got, want)
		}
	}
}
