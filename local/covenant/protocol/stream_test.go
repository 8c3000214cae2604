package protocol

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
	if _, err := Listed(&Stream{Kind: "audit_events", Chunks: events}, "events", false); !errors.Is(err, ErrTooLong) || made > 17 {
		t.Errorf("%v after %d chunks of a MiB", err, made)
	}
	if st, err := Listed(&Stream{Kind: "audit_events", Chunks: events}, "events", true); err != nil || st.(*Stream) == nil {
		t.Errorf("a stream of any length: %v", err)
	}
}
