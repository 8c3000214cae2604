package mind

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/cairndb/cairn/oplog"
)

// TestFacts runs the scripts in testdata/texts: the facts of a text, and the contradictions and duplicates among
// texts.
func TestFacts(t *testing.T) {
	datadriven.Walk(t, "testdata/texts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			switch d.Cmd {
			case "facts":
				for _, f := range facts(d.Input) {
					fmt.Fprintf(&b, "%s | %s | %s | %s single=%t denied=%t\n", f.subject, f.attr, f.value, f.kind, f.single, f.denied)
				}
			case "contradictions":
				s := &Snapshot{Minor: d.HasArg("minor")}
				for i, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
					s.Rows = append(s.Rows, Row{RID: fmt.Sprint("m", i+1), Text: line, Namespace: "default", Created: oplog.Time(i)})
				}
				found, err := Contradictions(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range found {
					fmt.Fprintf(&b, "%s %s: %s (%s, %s)\n", c.A, c.B, c.Reason, c.Type, c.Priority)
				}
			case "same":
				x, y, _ := strings.Cut(strings.TrimSpace(d.Input), "\n")
				m, n := meaningOf(x), meaningOf(y)
				fmt.Fprintln(&b, sameMeaning(&m, &n))
			}
			if b.Len() == 0 {
				return "none\n"
			}
			return b.String()
		})
	})
}

func FuzzFacts(f *testing.F) {
	f.Add("Alice's birthday is May 3, and Bob doesn't work at Acme.", "x")
	f.Fuzz(func(t *testing.T, x, y string) {
		facts(x)
		m, n := meaningOf(x), meaningOf(y)
		if sameMeaning(&m, &n) != sameMeaning(&n, &m) {
			t.Fatalf("%q and %q are the same one way only", x, y)
		}
	})
}
