package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cairndb/cairn/oplog/suite"
)

// Conversion of JSON directly to msgpack and through a tree gives the same result.
func FuzzJSONPayload(f *testing.F) {
	for _, s := range []string{`{"text":"a","n":[1,-2,3.5,1e400,18446744073709551615,-0]}`,
		` [ true , false , null , {} , [] ] x`, `"\ud83d\ude00\ud800\u0000é\"\\"`, "\"\xff\"",
		`{"a":1,"a":2,"":{"b":[[]]}}`, strings.Repeat("[", 1025) + strings.Repeat("]", 1025), `1`, ` `, `{"a" : "b" , "c":[ ] }`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := Plain(Frame{Flags: Version | FlagJSON, Payload: in}, MaxPlainPeer)
		if err != nil && !utf8.Valid(in) {
			return
		}
		d := json.NewDecoder(bytes.NewReader(in))
		d.UseNumber()
		var x any
		if want := d.Decode(&x); (err == nil) != (want == nil) && (err == nil || !strings.Contains(err.Error(), "depth limit exceeded")) {
			t.Fatalf("%v, a tree: %v", err, want)
		}
		if err != nil {
			return
		}
		if n, err := Scan(out); err != nil || n != len(out) {
			t.Fatalf("%d of %d bytes: %v", n, len(out), err)
		}
		got, _, err := (&treeReader{left: math.MaxInt}).read(out, 0)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := (&treeReader{left: math.MaxInt}).read(appendAny(nil, x), 0)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, a tree gives %v (%v)", got, want, err)
		}
	})
}

// A text is stored unchanged or rejected.
func TestJSONThatIsNotUTF8(t *testing.T) {
	if _, err := jsonToMsgpack([]byte(`{"text":"caf` + "\xe9" + `"}`)); err == nil ||
		!strings.Contains(err.Error(), "text: byte 12 of the JSON is not UTF-8") {
		t.Errorf("got %v", err)
	}
}

// A payload with very many values takes little more memory than its bytes.
func TestWideJSONCostsItsBytes(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	text := []byte(`{"vector":[` + strings.Repeat("0,", 4<<20) + `0]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := jsonToMsgpack(text)
	runtime.ReadMemStats(&after)
	if err != nil || len(out) < 4<<20 {
		t.Fatalf("%d bytes, %v", len(out), err)
	}
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 8*uint64(len(text)) {
		t.Errorf("%d bytes of JSON cost %d", len(text), cost)
	}
}

func TestFreeFormFieldsAreNotForests(t *testing.T) {
	for n, fits := range map[int]bool{1000: true, maxValues - 1: true, maxValues: false, 4 * maxValues: false} {
		b := appendStr(appendMap(nil, 2), "text")
		b = appendStr(appendStr(b, "x"), "metadata")
		b = append(appendArray(b, n), bytes.Repeat([]byte{0xC0}, n)...)
		var m Remember
		if err := decodeAt(b, 0, &m, false); (err == nil) != fits {
			t.Errorf("metadata of %d values: %v", n, err)
		}
	}
}
