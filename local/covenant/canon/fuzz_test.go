package canon

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// The canonical form is JSON with the same value, and is its own canonical form.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[1.50,-0,1e21,"é\u0000\ud83d\ude00"]}`, `{"":{"\u20ac":1,"\r":2,"\ufb33":3}}`,
		`"\ud800"`, `[]`, `1e400`, `1 2`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := JSON(in)
		if err != nil {
			return
		}
		twice, err := JSON(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q became %q, then %q (%v)", in, once, twice, err)
		}
		var a, b any
		if json.Unmarshal(in, &a) != nil || json.Unmarshal(once, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("%q says something else: %q", in, once)
		}
	})
}
