package main

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/memory"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
)

// TestEveryFieldHasAFlag: a field of a request that the command line can carry has a flag, or stands here with those that have none. A flag
// says what its field means and has its default.
func TestEveryFieldHasAFlag(t *testing.T) {
	a := &app{}
	for _, tc := range []struct {
		op    *api.Op
		verb  *cobra.Command
		flags map[string]string
		other []string // given as arguments or by flags of another kind, or by programs alone
	}{
		{api.Remember.Op, a.remember(), rememberFlags, []string{"text", "certainty", "emotional_state", "embedding", "temporal_kind", "tier"}},
		{api.Recall.Op, a.recall(), recallFlags, []string{"query", "time_window", "source", "session_id", "include_consolidated", "expand_entities", "query_embedding", "skip_reinforce", "explain"}},
		{api.Relate.Op, a.relate(), relateFlags, []string{"entity", "target", "relationship"}},
		{api.Forget.Op, a.forget(), nil, []string{"rid", "reason"}},
	} {
		for _, f := range tc.op.Takes() {
			name := ""
			for n, of := range tc.flags {
				if of == f.Name {
					name = n
				}
			}
			if name == "" {
				if !f.Idle && !slices.Contains(tc.other, f.Name) {
					t.Errorf("%s: field %s has no flag", tc.op.Name, f.Name)
				}
				continue
			}
			flag := tc.verb.Flags().Lookup(name)
			if flag == nil || f.Doc == "" || flag.Usage[1:len(f.Doc)-1] != f.Doc[1:len(f.Doc)-1] {
				t.Errorf("%s: --%s does not say what %s means: %q", tc.op.Name, name, f.Name, f.Doc)
			} else if f.Default != "" && f.Default != "{}" && flag.DefValue != f.Default {
				t.Errorf("%s: --%s is %q by default, and the field %q", tc.op.Name, flag.Name, flag.DefValue, f.Default)
			}
		}
	}
}

// TestDefaultsOfMessages: what a message has before any flag is given is what the request has by default.
func TestDefaultsOfMessages(t *testing.T) {
	var none wire.Remember
	preset := memory.Given{}
	for _, of := range rememberFlags {
		if f := api.Remember.Op.Takes().Named(of); f.Default != "" {
			preset[f.Name] = []string{f.Default}
		}
	}
	if err := preset.Into(api.Remember.Op.Takes(), &none); err != nil {
		t.Fatal(err)
	}
	if want := wire.NewRemember(""); none.Importance != want.Importance || none.HalfLife != want.HalfLife || none.MemoryType != want.MemoryType || none.Source != want.Source {
		t.Errorf("got %+v, want %+v", none, want)
	}
}
