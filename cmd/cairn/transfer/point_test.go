package transfer

import (
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// TestAPointIncludesItsSecond: a restore up to a second includes everything written within that second.
func TestAPointIncludesItsSecond(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 7, 0, time.UTC)
	for typed, want := range map[string]time.Time{
		"2026-03-01T12:00:07Z":       at.Add(time.Second - time.Microsecond),
		"2026-03-01T13:00:07+01:00":  at.Add(time.Second - time.Microsecond),
		"2026-03-01T12:00:07.25Z":    at.Add(250 * time.Millisecond),
		"2026-03-01T12:00:07.00001Z": at.Add(10 * time.Microsecond),
	} {
		if to, err := parsePoint(typed); err != nil || to.Time != oplog.At(want) || to.Index != 0 {
			t.Errorf("%s: %v at index %d, %v", typed, to.Time.Time(), to.Index, err)
		}
	}
	if to, err := parsePoint("1767182400"); err != nil || to.Index != 1767182400 || to.Time != 0 {
		t.Errorf("a number: %+v, %v", to, err)
	}
	if _, err := parsePoint("soon"); err == nil || strings.Contains(err.Error(), "Unix") {
		t.Errorf("a number is an index, and the error says %v", err)
	}
}
