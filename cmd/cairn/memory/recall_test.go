package memory

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// TestEveryFieldHasAFlag: each field of a recall has a flag, or is listed here as one without. A flag has its field's
// meaning and default. Flags of other verbs are generated from their fields.
func TestEveryFieldHasAFlag(t *testing.T) {
	verb := recall(&cli.Streams{})
	// Given as an argument or by flags of another kind, or by programs alone.
	other := []string{"query", "time_window", "source", "session_id", "include_consolidated", "expand_entities",
		"query_embedding", "skip_reinforce", "explain"}
	for _, f := range api.Recall.Op.Takes() {
		name := ""
		for n, of := range recallFlags {
			if of == f.Name {
				name = n
			}
		}
		if name == "" {
			if !f.Idle && !slices.Contains(other, f.Name) {
				t.Errorf("field %s has no flag", f.Name)
			}
			continue
		}
		flag := verb.Flags().Lookup(name)
		if flag == nil || f.Doc == "" || flag.Usage[1:len(f.Doc)-1] != f.Doc[1:len(f.Doc)-1] {
			t.Errorf("--%s does not say what %s means: %q", name, f.Name, f.Doc)
		} else if f.Default != "" && f.Default != "{}" && flag.DefValue != f.Default {
			t.Errorf("--%s is %q by default, and the field %q", flag.Name, flag.DefValue, f.Default)
		}
	}
}

// TestAHitIsIndented: all lines of a memory's text are indented, so that none looks like another hit.
func TestAHitIsIndented(t *testing.T) {
	var out strings.Builder
	at := time.Unix(1.8e9, 0)
	printHit(&cli.Streams{Out: &out},
		hit{RID: "r1", Score: .5, Text: "Deploys\n\n0.987  They run on Monday", Created: 1.8e9, Why: []string{"keyword_match"}})
	if want := "0.500  Deploys\n\n       0.987  They run on Monday\n       r1  " + at.Format(time.DateTime) + "  same words\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestWhatIsUnlikely: below a likely hit, hits with less than a tenth of its score are unlikely. Without a likely
// hit, none are.
func TestWhatIsUnlikely(t *testing.T) {
	for _, c := range []struct {
		scores []float64
		place  int
	}{{nil, -1}, {[]float64{.9}, -1}, {[]float64{.9, .3, .09, .01}, 3}, {[]float64{.98, .018, .011}, 1},
		{[]float64{.4, .01}, -1}, {[]float64{.5, .05}, -1}} {
		hits := make([]hit, len(c.scores))
		for i, s := range c.scores {
			hits[i].Score = s
		}
		if got := unlikely(hits); got != c.place {
			t.Errorf("of %v place %d, not %d", c.scores, got, c.place)
		}
	}
}
