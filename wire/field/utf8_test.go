package field

import "testing"

func TestUTF8NamesTheField(t *testing.T) {
	for in, want := range map[string]string{
		`{"text":"caf` + "\xc3\xa9" + `"}`:                                              "",
		`{"text":"caf` + "\xe9" + `"}`:                                                  "text: byte 12 of the JSON is not UTF-8",
		`{"a":{"b":[1,{}]},"memories":[{"text":"x"},{"k":[],"text":"` + "\xff":          "byte 59 is not UTF-8",
		`{"a":{"b":[1,{}]},"memories":[{"text":"x"},{"k":[],"text":"` + "\xff" + `"}]}`: "memories[1].text: byte 59 of the JSON is not UTF-8",
		`{"` + "\xff" + `":1}`:                                                          "byte 2 is not UTF-8",
		`["a","` + "\xed\xa0\x80" + `"]`:                                                "[1]: byte 6 of the JSON is not UTF-8",
		`"` + "\xff" + `"`:                                                              "byte 1 is not UTF-8",
		"\xff":                                                                          "byte 0 is not UTF-8",
	} {
		got := ""
		if err := UTF8([]byte(in)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
