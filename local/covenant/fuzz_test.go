package covenant

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/covenant/verbs"
	"github.com/cairndb/cairn/local/serve"
)

// FuzzRequest decodes arbitrary bodies as requests. An accepted body is valid UTF-8, an object, and of a known kind.
// It is also accepted with its keys in another order. A key in another case is ignored.
func FuzzRequest(f *testing.F) {
	for kind := range verbs.Table {
		f.Add([]byte(`{"kind":"` + kind + `","text":"x","limit":10,"before_ms":1,"tier":"working","query":"q","task":{"id":"11111111-1111-4111-8111-111111111111"}}`))
	}
	f.Add([]byte(`{"kind":"recent_memory","limit":1e1}`))
	f.Add([]byte("{\"kind\":\"ping\",\"\xff\":1}"))
	f.Add([]byte(`{"KIND":"ping"}`))
	srv := &Server{Home: home.New(Config{}), large: serve.NewLarge(1)}
	f.Fuzz(func(t *testing.T, body []byte) {
		in := srv.parse(bytes.Clone(body))
		kind := in.Text("kind")
		if in.Err != nil || verbs.Table[kind].Verb == nil {
			return
		}
		run := verbs.Table[kind].Verb(in)
		if in.Err != nil {
			return
		}
		if run == nil || !utf8.Valid(body) {
			t.Fatalf("%q was taken", body)
		}
		sorted, err := json.Marshal(in.Members)
		if err != nil {
			t.Fatal(err)
		}
		in2 := srv.parse(sorted)
		again := in2.Text("kind")
		if verbs.Table[again].Verb == nil {
			t.Fatalf("%q is another request when it is written anew: %q", body, sorted)
		}
		if verbs.Table[again].Verb(in2); in2.Err != nil {
			t.Fatalf("%q is refused when it is written anew: %v", sorted, in2.Err)
		}
	})
}
