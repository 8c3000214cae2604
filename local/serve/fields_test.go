package serve

import (
	"encoding/json"
	"testing"
)

// TestFields reads an object strictly (Fields) and leniently (Members). A member of another type is an error in the
// first case and absent in the second.
func TestFields(t *testing.T) {
	t.Parallel()
	const object = `{"s":"x","b":true,"n":7,"null":null,"list":["a","b"],"in":{"s":"y"}}`
	var m Members
	if err := json.Unmarshal([]byte(object), &m); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"s": true, "b": false, "n": false, "null": false, "none": false} {
		if s, ok := m.Text(name); ok != want || (s == "x") != want {
			t.Errorf("text %s is %q, %v", name, s, ok)
		}
		if got := m.Flag(name, false); got != (name == "b") {
			t.Errorf("flag %s is %v", name, got)
		}
	}
	f := Parse([]byte(object))
	inner := ""
	f.Object("in", func(in *Fields) { inner = in.Text("s") })
	if f.Text("s") != "x" || f.Number("n") != 7 || !f.Flag("b") || f.OptText("null") != nil || f.Count("none", 3) != 3 ||
		len(f.Texts("list")) != 2 || inner != "y" || f.Err != nil {
		t.Errorf("strictly: %v", f.Err)
	}
	for fault, read := range map[string]func(*Fields){
		"none: missing":              func(f *Fields) { f.Text("none") },
		"null: missing":              func(f *Fields) { f.Count("null", 1) },
		"n: not a string":            func(f *Fields) { f.OptText("n"); f.Text("none") }, // the first error stays
		"s: not an unsigned integer": func(f *Fields) { f.OptNumber("s") },
		"s: not a boolean":           func(f *Fields) { f.Flag("s") },
		"s: not a list":              func(f *Fields) { f.List("s") },
	} {
		f := Parse([]byte(object))
		if read(f); f.Err == nil || f.Err.Error() != fault {
			t.Errorf("fault %v, want %s", f.Err, fault)
		}
	}
	for _, bad := range []string{"", "1", "null", "{", "{\"a\":\"\xff\"}"} {
		if Parse([]byte(bad)).Err == nil {
			t.Errorf("%q is an object", bad)
		}
	}
}
