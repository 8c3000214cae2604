package protocol

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// A list that is too large for a frame is rejected, on the socket and over HTTP, and never truncated silently.
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
	if _, err := StreamOrList(&Stream{Kind: "audit_events", Chunks: events}, "events", false); !errors.Is(err, ErrTooLong) || made > 17 {
		t.Errorf("%v after %d chunks of a MiB", err, made)
	}
	if st, err := StreamOrList(&Stream{Kind: "audit_events", Chunks: events}, "events", true); err != nil || st.(*Stream) == nil {
		t.Errorf("a stream of any length: %v", err)
	}
}

// A chunk that is too large for a frame ends its stream with an error, after the chunks before it were sent.
func TestAChunkThatIsTooLong(t *testing.T) {
	var kinds []string
	var last []byte
	st := &Stream{Kind: "memories", Chunks: func(emit func(any) (bool, error)) error {
		for _, chunk := range []string{"short", strings.Repeat("x", MaxFrame), "never"} {
			if more, err := emit(chunk); err != nil || !more {
				return err
			}
		}
		return nil
	}}
	goesOn := st.Each(func() error { return nil }, func(kind string, frame []byte) bool {
		kinds, last = append(kinds, kind), frame
		return true
	})
	if !goesOn || strings.Join(kinds, " ") != "stream_begin stream_chunk stream_error" ||
		!strings.HasSuffix(string(last), `,"message":"chunk exceeds 8388608-byte frame limit"}`) {
		t.Errorf("%t %v %s", goesOn, kinds, last)
	}
}
