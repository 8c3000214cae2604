package wire

import (
	"math"
	"strings"
	"testing"
)

// UnpackExact rejects values out of range. Unpack accepts the same bytes, except for invalid dates.
func TestUnpackExact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"text":"x","importance":1,"valence":-1,"half_life":0.1,"certainty":0,"due_at":1600000000}`: "",
		`{"text":"x","due_at":"2020-01-01","created_at":"2020-01-01T00:00:00Z"}`:                     "",
		`{"text":"x","importance":9}`:      "importance: want a number from 0 to 1, got 9",
		`{"text":"x","half_life":-5}`:      "half_life: want a number above 0, up to 1000000, got -5",
		`{"text":"x","valence":1.5}`:       "valence: want a number from -1 to 1, got 1.5",
		`{"text":"x","certainty":2}`:       "certainty: want a number from 0 to 1, got 2",
		`{"text":"x","importanse":0.5}`:    "unknown field 'importanse': did you mean 'importance'?",
		`{"text":"x","due_at":"soon"}`:     "field `due_at`: want a date",
		`{"text":"x","due_at":true}`:       "field `due_at`: want a date",
		`{"text":"x","created_at":1.7e12}`: "field `created_at`: want a date",
		`{"text":"x","importance":"high"}`: "field `importance`: invalid type: string, expected a number",
	} {
		for _, exact := range []bool{true, false} {
			unpack := map[bool]func(Frame, Message, int) error{true: UnpackExact, false: Unpack}[exact]
			var m Remember
			err := unpack(Frame{Flags: Version | FlagJSON, Op: OpRemember, Payload: []byte(in)}, &m, MaxPlainClient)
			refused := want != "" && (exact || strings.HasPrefix(want, "field `"))
			if (err != nil) != refused || refused && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, exact %v: %v, want %q", in, exact, err, want)
			}
		}
	}
	var m Remember
	f, err := Pack(OpRemember, 1, &Remember{Text: "x", HalfLife: math.NaN()}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := UnpackExact(f, &m, MaxPlainClient); err == nil ||
		!strings.Contains(err.Error(), "half_life: want a number above 0, up to 1000000, got NaN") {
		t.Errorf("half_life NaN: %v", err)
	}
	batch := Frame{Flags: Version | FlagJSON, Op: OpRememberBatch,
		Payload: []byte(`{"memories":[{"text":"x"},{"text":"y","importance":2}]}`)}
	if err := UnpackExact(batch, &RememberBatch{}, MaxPlainClient); err == nil || !strings.Contains(err.Error(), "memories[1]") {
		t.Errorf("a batch: %v", err)
	}
	var q Recall
	recall := Frame{Flags: Version | FlagJSON, Op: OpRecall, Payload: []byte(`{"query":"x","as_of":"2020-01-01","since":"1970-01-01"}`)}
	if err := UnpackExact(recall, &q, MaxPlainClient); err != nil || q.AsOf != 1577836800 || q.Since != 1e-6 {
		t.Errorf("dates: %v %v %v", err, q.AsOf, q.Since)
	}
}
