package large

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestJSON: what is read in parts is what encoding/json reads, and what it refuses is refused.
func TestJSON(t *testing.T) {
	fill := strings.Repeat(" ", From)
	for _, text := range []string{
		`1`, `"a\u00e9\ud800b"`, `null`, `true`, `[]`, `{}`, `[[],{}]`, `{"a":{"b":[1,2.50,1e400,-0]},"a":3}`, "\"\xff\"",
		"[" + strings.Repeat(`{"k":[1,"x",null]},`, 5000) + `"end"]`, "[" + strings.Repeat("0,", 1023) + "0]", "[" + strings.Repeat("0,", 1024) + "0]",
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		``, `[`, `[1`, `[1,`, `[1,]`, `[1 2]`, `{`, `{"a"`, `{"a":`, `{"a":1,}`, `{1:2}`, `{"a" 1}`, `1 2`, `[] []`, `]`, `}`, `,`, `nul`, `01`, `"a`, "\"\n\"",
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), strings.Repeat(`{"a":`, 10_001) + "1" + strings.Repeat("}", 10_001), strings.Repeat("[", 1<<20),
	} {
		want, refused := JSON([]byte(text))
		got, err := JSON([]byte(text + fill))
		if (err == nil) != (refused == nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%.40q: got %.80v, %v; want %.80v, %v", text, got, err, want, refused)
		}
		if valid := json.Valid([]byte(text)); valid != (refused == nil) {
			t.Errorf("%.40q: valid %t, %v", text, valid, refused)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":null}]}`, `[1,2,"\u0000"]`, `{"a":1}{`, `[[[`, `{"a":1,"a":2}`} {
		f.Add(s)
	}
	fill := strings.Repeat(" ", From)
	f.Fuzz(func(t *testing.T, text string) {
		want, refused := JSON([]byte(text))
		got, err := JSON([]byte(text + fill))
		if (err == nil) != (refused == nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, %v; want %v, %v", text, got, err, want, refused)
		}
	})
}
