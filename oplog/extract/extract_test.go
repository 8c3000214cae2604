package extract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestEntities runs the scripts that list the entities of a text.
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

// TestClaims runs the scripts that list the claims of a text about its names.
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

// TestNamesAndOrdinaryWords: a word that only begins a sentence, a bullet or a label is not a name, but a person,
// place or thing at the beginning is.
func TestNamesAndOrdinaryWords(t *testing.T) {
	for text, want := range map[string]string{
		"Alice leads the payments team":                                "Alice",
		"Bob is on call this week and Carol the week after":            "Bob, Carol",
		"Dave prefers a runbook before an alarm":                       "Dave",
		"Oslo is cold in winter":                                       "Oslo",
		"Springfield has two schools":                                  "Springfield",
		"Erin was at the Lisbon office":                                "Erin, Lisbon",
		"Frank wants more tests. Grace will write them.":               "Frank, Grace",
		"Heidi began with the tests":                                   "Heidi",
		"Maria moved to Springfield":                                   "Maria, Springfield",
		"James went home":                                              "James",
		"Carlos has two cats":                                          "Carlos",
		"Lantern shares photos of a trip":                              "Lantern",
		"Kimberly sings, and Beverly plays":                            "Kimberly, Beverly",
		"Alfred finished the report":                                   "Alfred",
		"Ben, Al and Per are late":                                     "Ben, Al, Per",
		"Caroline: Hey Mel! Good to see you.":                          "Caroline, Mel",
		"Standup: Alice began with invoices":                           "Alice",
		"- Alice will book it\n- Bob will pay":                         "Alice, Bob",
		"Alice's manager is Erin":                                      "Alice, Erin",
		"Bob's the best":                                               "Bob",
		"New York is loud":                                             "New York",
		"El Paso is hot. Le Mans is a race. De Niro acts.":             "El Paso, Le Mans, De Niro",
		"Search is slow. We asked Search why.":                         "Search",
		"Search Platform owns it":                                      "Search Platform",
		"Renew Netflix before May":                                     "Netflix",
		"Email Bob the file":                                           "Bob",
		"Series A closed":                                              "Series A",
		"Tests run on Android 12":                                      "Android",
		"She moved to Beijing":                                         "Beijing",
		"Beijing is far":                                               "Beijing",
		"We write it in Rust":                                          "Rust",
		"Die Bahn kommt":                                               "Bahn",
		"En Madrid vive Ana":                                           "Madrid, Ana",
		"Search answers in 67 milliseconds":                            "",
		"Photos are resized to four widths":                            "",
		"Widgets are blue":                                             "",
		"Payments are in euros, dollars and francs":                    "",
		"Renew the domain before the end of the month":                 "",
		"Polish your shoes":                                            "",
		"Renamed from billing to invoices":                             "",
		"Standup: The test suite takes 11 minutes":                     "",
		"Decision: use flags":                                          "",
		"Note: it rains":                                               "",
		"Incident: Checkout failed for 40 minutes":                     "",
		"Incident: Albums took four seconds to open":                   "",
		"Standup 103: nothing new":                                     "",
		"See the notes of Standup 103 and Incident 7":                  "",
		"- Search the archive\n* Photos of the trip\n1. Invite people": "",
		"Invitations went to spam":                                     "",
		"Running late again. Apparently it rains.":                     "",
		"Uploads from phones failed":                                   "",
		"Support answers within four hours":                            "",
		"She keeps her desk until spring, and how did they react?":     "",
		"La casa es grande. El perro duerme. Para comer hay pan.":      "",
		"Der ist gut. Das war schön. Wir gehen heute.":                 "",
		"Les enfants jouent. Le chat dort. Dans ce cas, oui.":          "",
		"Gli amici. Della casa. Het is koud. Och nu?":                  "",
		"You're right. They’ve left. Haven't you? Hope you sleep.":     "",
		"### Next Steps\n- **Ensure** it works. We ask Ensure.":        "Ensure",
		"- **Payments**: Ensure it (always). Search it.":               "",
		"Uh Yeah Mel, um, right. Mm-hmm. Yeah":                         "Mel",
		"Search's answers are slow":                                    "",
	} {
		var got []string
		for _, e := range Entities(text) {
			got = append(got, e.Name)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%q names %q, want %q", text, s, want)
		}
	}
}

// TestNamesOfTheSample: the most frequent names in the sample data are its people, places and products.
func TestNamesOfTheSample(t *testing.T) {
	rows, err := os.ReadFile("../../cmd/cairn/sample/team.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	known := set("Alice Bob Carol Dave Erin Frank Grace Heidi Lantern Lisbon Oslo Portuguese Postgres Android")
	times := map[string]int{}
	for line := range strings.Lines(string(rows)) {
		var row struct{ Text string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		for _, e := range Entities(row.Text) {
			times[e.Name]++
		}
	}
	names := slices.SortedFunc(maps.Keys(times),
		func(a, b string) int { return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a, b)) })
	for _, name := range names[:10] {
		if !known[name] {
			t.Errorf("%d rows name %q", times[name], name)
		}
	}
	for _, name := range strings.Fields("Standup Search Renew Photos Incident Checkout Albums Payments Support spring") {
		if times[name] > 0 {
			t.Errorf("%d rows name %q", times[name], name)
		}
	}
}

// TestLinkMergesCase: if a name is known in one spelling only, other cases of it are the same entity.
func TestLinkMergesCase(t *testing.T) {
	for _, tc := range []struct {
		text  string
		known []string
		want  string
	}{
		{"ALICE met Bob", []string{"Alice"}, "Alice Bob"},
		{"the Ledger of Bob", []string{"ledger"}, "ledger Bob"},
		{"the Ledger of Bob", []string{"LEDGER", "ledger"}, "Ledger Bob LEDGER ledger"},
		{"the Ledger of Bob", []string{"LEDGER", "Ledger"}, "Ledger Bob LEDGER"},
		{"call parseTree of Bob", []string{"parsetree"}, "parseTree Bob parsetree"},
	} {
		var got []string
		for _, e := range Link(tc.text, Entities(tc.text), func(folded string) (same []string) {
			for _, k := range tc.known {
				if strings.ToLower(k) == folded {
					same = append(same, k)
				}
			}
			return same
		}) {
			got = append(got, e.Name)
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%q names %q, want %q", tc.text, s, tc.want)
		}
	}
}
