package engine

import (
	"fmt"
	"strings"
	"testing"
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
		if got := string(lifted([]byte(c.attributes), []byte(c.metadata), names)); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.attributes, c.metadata, got, c.want)
		}
	}
	if got := string(lifted(nil, []byte(`{"project":"atlas"}`), nil)); got != "" {
		t.Errorf("without names: %s", got)
	}
}
