package large

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// standard decodes one value with encoding/json.
func standard(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	return v, nil
}

// alike checks that JSON accepts and rejects the same texts as encoding/json, with the same values.
func alike(t *testing.T, text string) {
	t.Helper()
	want, refused := standard([]byte(text))
	got, err := JSON([]byte(text))
	if (err == nil) != (refused == nil) || !reflect.DeepEqual(got, want) {
		t.Errorf("%.80q: got %.80v, %v; want %.80v, %v", text, got, err, want, refused)
	}
}

func TestJSON(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `false`, `[]`, `{}`, `[[],{}]`, ` [ 1 , { "a" : 2 } ] `, `{"a":{"b":[1,2.50,1e400,-0]},"a":3}`,
		`{"":[null,true,false]}`,
		`0`, `-0`, `-12.50e+7`, `1E5`, `1e-5`, `12345678901234567890`, `0.0`, `""`, `"a"`, `"\\\""`,
		`"a\u00e9\ud800b\ud83d\ude00"`, `"é漢😀"`, "\"\xff\"", "\"a\xe2\x82\"", "{\"\xff\":1,\"\xfe\":2}", "\"\x7f\"",
		"[" + strings.Repeat(`{"k":[1,"x",null]},`, 5000) + `"end"]`, "[" + strings.Repeat("0,", 1023) + "0]",
		"[" + strings.Repeat("0,", 1024) + "0]", "[" + strings.Repeat("0,", 9999) + "[0]]",
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		``, ` `, `[`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{,}`, `{1:2}`,
		`{"a" 1}`, `1 2`, `[] []`, `[]]`, `]`, `}`, `,`, `nul`, `nulls`, `truefalse`, "1\x00", "\u00a01",
		`01`, `-`, `-a`, `+1`, `.5`, `1.`, `1.e5`, `1e`, `1e+`, `0x10`, `1_000`, `NaN`, `"a`, `"a\`, `"a\"`, `"\x"`,
		`"\u12"`, "\"\n\"", "\"\x00\"", `'a'`, `[1}`, `{"a":1]`,
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
		strings.Repeat(`{"a":`, 10_001) + "1" + strings.Repeat("}", 10_001), strings.Repeat("[", 1<<20), strings.Repeat("9", 1<<20),
	} {
		alike(t, text)
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":null}]}`, `[1,2,"\u0000"]`, `{"a":1}{`, `[[[`, `{"a":1,"a":2}`, `-1.5e+7`, `"é\ud83d"`} {
		f.Add(s)
	}
	f.Fuzz(alike)
}

// BenchmarkJSON compares the decoding of the widest text of a request with encoding/json.
func BenchmarkJSON(b *testing.B) {
	raw := []byte("[" + strings.Repeat("0,", 1<<20) + "0]")
	for name, read := range map[string]func([]byte) (any, error){"ours": JSON, "standard": standard} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := read(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
