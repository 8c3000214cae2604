package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

func TestLifted(t *testing.T) {
	t.Parallel()
	names := []string{"project", "tags", "deep", "n", "none"}
	many := make([]string, 64)
	for i := range many {
		many[i] = fmt.Sprintf(`"a%d":1`, i)
	}
	full := "{" + strings.Join(many, ",") + "}"
	for _, c := range []struct{ attributes, metadata, want string }{
		{"", `{"project":"atlas","n":3,"other":1}`, `{"n":3,"project":"atlas"}`},
		{`{"project":"mine"}`, `{"project":"atlas","tags":["b","a"]}`, `{"project":"mine","tags":["b","a"]}`},
		{"", `{"deep":{"a":1},"n":true}`, `{"n":true}`},
		{"", `{"deep":[1],"n":null}`, ""},
		{"", `[1]`, ""},
		{`{"n":1}`, "", `{"n":1}`},
		{full, `{"project":"atlas"}`, full},
	} {
		if got := string(liftAttributes([]byte(c.attributes), []byte(c.metadata), names)); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.attributes, c.metadata, got, c.want)
		}
	}
	if got := string(liftAttributes(nil, []byte(`{"project":"atlas"}`), nil)); got != "" {
		t.Errorf("without names: %s", got)
	}
}

// TestRelifted: a merge into the metadata changes the attributes lifted from it, but not those that a client set.
func TestRelifted(t *testing.T) {
	t.Parallel()
	names := []string{"project", "n"}
	for _, c := range []struct{ attributes, metadata, merge, want string }{
		{`{"project":"atlas"}`, `{"project":"atlas"}`, `{"project":"borealis"}`, `{"project":"borealis"}`},
		{`{"project":"atlas"}`, `{"project":"atlas"}`, `{"project":null}`, ``},
		{`{"project":"atlas"}`, `{"project":"atlas"}`, `{"project":{"deep":1}}`, ``},
		{`{"project":"mine"}`, `{"project":"atlas"}`, `{"project":"borealis"}`, `{"project":"mine"}`},
		{`{"room":"attic"}`, ``, `{"n":3,"other":1}`, `{"n":3,"room":"attic"}`},
		{`{"n":1,"project":"atlas"}`, `{"n":1,"project":"atlas"}`, `{"n":2}`, `{"n":2,"project":"atlas"}`},
		{`{"n":1}`, `{"n":1}`, `{"other":2}`, `{"n":1}`},
		{`{"n":1}`, `[1]`, `{"n":2}`, `{"n":1}`},
	} {
		m := &oplog.Memory{Content: oplog.Content{Attributes: []byte(c.attributes), Metadata: []byte(c.metadata)}}
		if got := string(reliftAttributes(m, []byte(c.merge), names)); got != c.want {
			t.Errorf("%s of %s with %s: %s, want %s", c.attributes, c.metadata, c.merge, got, c.want)
		}
	}
}
