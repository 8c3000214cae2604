package wire

import (
	"testing"

	"github.com/cairndb/cairn/wire/field"
)

// TestPositionsAreTakenAsTheyWereGiven: a log position is read from bytes, from a list of numbers as JSON clients
// send it, from a string as over HTTP, and from a number as the oldest clients send it.
func TestPositionsAreTakenAsTheyWereGiven(t *testing.T) {
	const at = field.Token(1<<40 + 7)
	b, err := AppendPack(nil, OpStats, 1, &Fresh{MinIndex: at}, false)
	if err != nil {
		t.Fatal(err)
	}
	frames := []Frame{{Op: OpStats, Flags: b[4], Payload: b[headLen:]}}
	for _, said := range []string{`{"min_index":1099511627783}`, `{"min_index":"1099511627783"}`, `{"min_index":[0,0,1,0,0,0,0,7]}`} {
		frames = append(frames, Frame{Op: OpStats, Flags: Version | FlagJSON, Payload: []byte(said)})
	}
	for _, f := range frames {
		var m Fresh
		if err := Unpack(f, &m, MaxPlainClient); err != nil || m.MinIndex != at {
			t.Errorf("%q: %d, %v", f.Payload, m.MinIndex, err)
		}
	}
	for _, said := range []string{`{"min_index":-1}`, `{"min_index":"soon"}`, `{"min_index":[1,2]}`} {
		var m Fresh
		if err := Unpack(Frame{Op: OpStats, Flags: Version | FlagJSON, Payload: []byte(said)}, &m, MaxPlainClient); err == nil {
			t.Errorf("%s is taken as %d", said, m.MinIndex)
		}
	}
}
