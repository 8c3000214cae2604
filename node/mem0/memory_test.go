package mem0

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// TestTheLastDay checks that a memory may expire at the end of any day that a client can write, also of the last one,
// which clients use for never, and that the day is shown as it was given.
func TestTheLastDay(t *testing.T) {
	t.Parallel()
	for _, date := range []string{"9999-12-30", "9999-12-31"} {
		end, err := endOfDay(date)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(end); err != nil {
			t.Errorf("%s: %v", date, err)
		}
		if _, err := time.Parse(time.RFC3339, end.Format(time.RFC3339)); err != nil {
			t.Errorf("%s: %v", date, err)
		}
		if shown := lastDay(oplog.At(end).Seconds()); shown != date {
			t.Errorf("%s is shown as %s", date, shown)
		}
	}
}
