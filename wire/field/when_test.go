package field

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// TestParseWhen parses dates and durations relative to now.
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

// TestFormsOfNumbers: parameters and fields accept whole numbers in all forms of JSON, and invalid numbers are never
// ignored.
func TestFormsOfNumbers(t *testing.T) {
	t.Parallel()
	type request struct {
		Limit int       `json:"limit" default:"20" doc:"A limit."`
		Guard *uint32   `json:"guard" doc:"A guard."`
		Some  []uint32  `json:"some" doc:"Some numbers."`
		Parts []float64 `json:"parts" doc:"Parts."`
	}
	three, zero := uint32(3), uint32(0)
	for _, c := range []struct {
		name, said string
		want       request
	}{
		{"limit", "5.0", request{Limit: 5}}, {"limit", "1e2", request{Limit: 100}}, {"limit", "-0.0", request{}},
		{"limit", "7", request{Limit: 7}},
		{"guard", "3.0", request{Limit: 20, Guard: &three}}, {"guard", "+3", request{Limit: 20, Guard: &three}},
		{"guard", "-0", request{Limit: 20, Guard: &zero}}, {"guard", "-0.0", request{Limit: 20, Guard: &zero}},
		{"guard", "-0e-1", request{Limit: 20, Guard: &zero}},
		{"some", "1,2.0,-0", request{Limit: 20, Some: []uint32{1, 2, 0}}}, {"parts", "0.5,1", request{Limit: 20, Parts: []float64{0.5, 1}}},
	} {
		var got request
		if err := Of(reflect.TypeFor[request]()).DecodeText(&got, map[string][]string{c.name: {c.said}}, false); err != nil ||
			!reflect.DeepEqual(got, c.want) {
			t.Errorf("%s=%s: %+v, %v; want %+v", c.name, c.said, got, err, c.want)
		}
		in := json.RawMessage(c.said)
		if c.name == "some" || c.name == "parts" {
			in = json.RawMessage("[" + c.said + "]")
		}
		var sent request
		if err := Of(reflect.TypeFor[request]()).Decode(&sent, map[string]json.RawMessage{c.name: in}, false); json.Valid(in) &&
			(err != nil || !reflect.DeepEqual(sent, c.want)) {
			t.Errorf("{%q:%s}: %+v, %v; want %+v", c.name, in, sent, err, c.want)
		}
	}
	for name, said := range map[string]string{"limit": "5.5", "guard": "-3", "some": "1,x", "parts": "1,NaN"} {
		if err := Of(reflect.TypeFor[request]()).DecodeText(&request{}, map[string][]string{name: {said}}, false); err == nil {
			t.Errorf("%s=%s was taken", name, said)
		}
	}
}
