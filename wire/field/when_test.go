package field

import (
	"testing"
	"time"
)

// TestParseWhen reads what people write next to now, in flags and in commands.
func TestParseWhen(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2h":                   now.Add(-2 * time.Hour),
		"1h30m":                now.Add(-90 * time.Minute),
		"90m ago":              now.Add(-90 * time.Minute),
		"3d":                   now.AddDate(0, 0, -3),
		"2w":                   now.AddDate(0, 0, -14),
		"+1d":                  now.AddDate(0, 0, 1),
		"2026-01-31":           time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		"2026-01-31T12:00:00Z": time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC),
		"1772323200":           time.Unix(1772323200, 0),
	} {
		if got, err := ParseWhen(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"soon", "2 hours", "+1d ago", "-2h", "-3d", "999999w", "+-1h", ""} {
		if at, err := ParseWhen(text, now); err == nil {
			t.Errorf("%q was read as %v", text, at)
		}
	}
}
