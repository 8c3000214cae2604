package covenant

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// A list that fits no frame is refused, on the socket and over HTTP, and never cut off in silence.
func TestAListThatIsTooLong(t *testing.T) {
	event := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	made := 0
	events := func(emit func(any) (bool, error)) error {
		for range 64 {
			made++
			if more, err := emit(event); err != nil || !more {
				return err
			}
		}
		return nil
	}
	if _, err := listed(&stream{kind: "audit_events", chunks: events}, "events", false); !errors.Is(err, errOutput) || made > 17 {
		t.Errorf("%v after %d chunks of a MiB", err, made)
	}
	if st, err := listed(&stream{kind: "audit_events", chunks: events}, "events", true); err != nil || st.(*stream) == nil {
		t.Errorf("a stream of any length: %v", err)
	}
}
