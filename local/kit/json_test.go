package kit

import "testing"

// The members of an object keep their order at every depth, and HTML is not escaped.
func TestObject(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]any{
		`{"b":"<&>","a":[{"z":1},{}],"n":null,"o":null}`: Object{"b", "<&>", "a", []Object{{"z", 1}, {}}, "n", nil, "o", Object(nil)},
		`"<\u2028>"`: "<\u2028>",
	} {
		if got, err := JSON(v); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	if _, err := JSON(Object{"f", func() {}}); err == nil {
		t.Error("a function was written")
	}
}
