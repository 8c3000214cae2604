package process

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/cairndb/cairn/local/serve"
)

// Every line is parsed as a request, or rejected with an answer of one line.
func FuzzParse(f *testing.F) {
	for _, l := range []string{`{"jsonrpc":"2.0","id":1,"method":"server.ping","auth":"t"}`, `null`, `[]`,
		`{"id":{"b":1,"a":[1.0]},"auth":"t"}`,
		`{"jsonrpc":"2.0","method":"files.stat","params":{"path":"/"},"auth":"t"}`, "{\"method\":\"a\\u2028.b\",\"auth\":\"x\"}", "\xff"} {
		f.Add([]byte(l))
	}
	s := &Server{cfg: Config{Token: "t"}, Work: serve.NewWork(nil), methods: methods()}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, e := s.parse(in)
		if e == nil {
			_, e = s.lookupMethod(r.Method)
		}
		out := encodeAnswer(r.ID, nil, e)
		if !json.Valid(out) || bytes.IndexByte(out, '\n') != len(out)-1 {
			t.Fatalf("%q", out)
		}
	})
}

func FuzzBind(f *testing.F) {
	f.Add([]byte(`{"id":"a","command":"b","args":["c"],"env":{"d":null},"fromSeq":1}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, e := range []error{bound[spawnParams](in), bound[stdinParams](in), bound[killParams](in),
			bound[waitParams](in), bound[reattachParams](in),
			bound[pathParams](in), bound[gitParams](in), bound[tarParams](in)} {
			if e != nil && e != errParams {
				t.Fatal(e)
			}
		}
	})
}

func bound[T any](in []byte) error {
	_, e := bind[T](in)
	return e
}
