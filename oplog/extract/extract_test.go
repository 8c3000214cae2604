package extract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestEntities runs the scripts: what a text names, one a line.
func TestEntities(t *testing.T) {
	datadriven.RunTest(t, "testdata/entities.txt", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		switch d.Cmd {
		case "entities":
			for _, e := range Entities(d.Input) {
				fmt.Fprintf(&b, "%s: %s\n", e.Type, e.Name)
			}
		case "link":
			var known []string
			d.ScanArgs(t, "known", &known)
			for _, e := range Link(d.Input, nil, func(folded string) (names []string) {
				for _, k := range known {
					if k = strings.ReplaceAll(k, "_", " "); strings.ToLower(k) == folded {
						names = append(names, k)
					}
				}
				return names
			}) {
				fmt.Fprintln(&b, e.Name)
			}
		}
		if b.Len() == 0 {
			return "none\n"
		}
		return b.String()
	})
}

func FuzzEntities(f *testing.F) {
	f.Add("Alice Chen of Acme Inc. met @bob in San Francisco on March 3, 2025 about \"blue book\" and parseHTTP().")
	f.Fuzz(func(t *testing.T, s string) {
		got := Entities(s)
		if len(got) > maxEntities {
			t.Fatalf("%d entities", len(got))
		}
		seen := map[string]bool{}
		for _, e := range got {
			if e.Name == "" || len(e.Name) > maxNameLen || seen[e.Name] {
				t.Fatalf("name %q", e.Name)
			}
			seen[e.Name] = true
		}
	})
}

func BenchmarkEntities(b *testing.B) {
	s := "Alice Chen works at Acme Corp in San Francisco and leads the migration of billing_service from MySQL to Postgres."
	for b.Loop() {
		Entities(s)
	}
}

// TestClaims runs the scripts: what a text states between the names in it.
func TestClaims(t *testing.T) {
	datadriven.RunTest(t, "testdata/claims.txt", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for _, c := range Claims(d.Input, Entities(d.Input)) {
			fmt.Fprintf(&b, "%s -%s-> %s", c.Src, c.Type, c.Dst)
			if c.Denied {
				b.WriteString(" denied")
			}
			if c.Reported {
				b.WriteString(" reported")
			}
			fmt.Fprintf(&b, " %q\n", d.Input[c.Start:c.End])
		}
		if b.Len() == 0 {
			return "none\n"
		}
		return b.String()
	})
}

func FuzzClaims(f *testing.F) {
	f.Add("Alice Chen is not the CEO of Acme Inc. and Acme's CTO, Bob Stone, speaks French.")
	f.Fuzz(func(t *testing.T, s string) {
		got := Claims(s, Entities(s))
		if len(got) > maxClaims {
			t.Fatalf("%d claims", len(got))
		}
		for _, c := range got {
			if c.Src == "" || c.Dst == "" || c.Src == c.Dst || c.Start < 0 || c.End > len(s) || c.Start >= c.End {
				t.Fatalf("%+v", c)
			}
		}
	})
}
