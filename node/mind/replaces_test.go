package mind_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/node/mind/mindtest"
)

// TestReplaces checks pairs of an older and a newer statement: whether the newer one replaces the older, and by which
// evidence.
func TestReplaces(t *testing.T) {
	const nothing = mind.Changed + 1
	for _, c := range []struct {
		older, newer string
		how          mind.How
	}{
		{"Alice lives in Lisbon.", "Alice lives in Berlin.", mind.Stated},
		{"The user lives in Berlin.", "The user has moved to Hamburg.", mind.Stated},
		{"The staging database is on port 5432.", "The staging database listens on 5433 since the upgrade.", mind.Stated},
		{"The deadline for Project Apollo is March 3.", "The deadline for Project Apollo is April 9.", mind.Stated},
		{"Bob is allergic to nuts.", "Bob is not allergic to nuts.", mind.Stated},
		{"Travel allowance is 45 euros a day on business trips.", "Travel allowance is 52 euros a day on business trips.", mind.Stated},
		{"PIN for the printer on floor 2: 4471.", "PIN for the printer on floor 2: 9036.", nothing},
		{"Reception keeps the key of the stock room.", "Leopold keeps the key of the stock room.", mind.Reworded},
		{"Our ticket tracker is Jira, project key OPS.",
			"We moved the ticket tracker to Linear; old OPS numbers stay searchable.", mind.Changed},
		{"We keep the thermostat at 21 degrees.", "We keep the thermostat at 19.5 degrees, gas is expensive.", mind.Reworded},
		{"The indexer pod has a memory limit of 512 MiB.",
			"The indexer pod has a memory limit of 2 GiB, it kept getting killed.", mind.Reworded},
		{"We charge a deposit of 20 pounds per bicycle.", "We charge a deposit of 25 euros per bicycle.", mind.Reworded},
		{"We allow a load of 20 pounds per bicycle.", "We allow a load of 9 kilograms per bicycle.", mind.Reworded},
		{"Feature flags are kept in a YAML file.", "Feature flags moved to the database and are edited in the admin page.", mind.Changed},
		{"The dental clinic charges 60.", "The dental clinic has gone up to 74 a visit.", mind.Changed},
		{"Error reports go to Sentry.", "Our own instance collects the error reports now.", mind.Changed},

		{"Alice speaks French fluently.", "Alice speaks Portuguese fluently.", nothing},
		{"Bob knows Python well.", "Alice knows Python well.", nothing},
		{"Alice lives in Lisbon.", "Alice lives in Lisbon with her dog.", nothing},
		{"Bob lives in Lisbon.", "Amira now lives in Lisbon.", nothing},
		{"The deadline for Project Apollo is March 3.", "The deadline for Project Borealis is April 9.", nothing},
		{"The billing service is written in Java.", "The billing service runs on Azure.", nothing},
		{"Maria visited Rome in May.", "Maria visited Oslo in June.", nothing},
		{"Ticket 831 about search was closed in sprint 12.", "Ticket 832 about search was closed in sprint 13.", nothing},
		{"The lighthouse number 0065 has a keeper.", "The lighthouse number 0066 has a keeper.", nothing},
		{"compacted memory number22", "compacted memory number23", nothing},
		{"Room 4 is free on Monday.", "Room 5 is free on Monday.", nothing},
		{"Build 81 is on the staging cluster.", "Build 82 is on the staging cluster.", nothing},
		{"The api service has 3 replicas.", "The web service has 3 replicas.", nothing},
		{"Carol reviewed the login change.", "Dave reviewed the login change.", nothing},
		{"fact3 about the lighthouse", "fact4 about the lighthouse", nothing},
		{"Payments moved to the new ledger in March.", "Search moved to the new cluster in March.", nothing},
		{"The user prefers tabs.", "The user prefers short answers.", nothing},
		{"The corner room 4 seats 14 people.", "The corner room 5 seats 14 people.", nothing},
		{"The backup runs for 10 minutes on Mondays.", "The backup runs for 45 minutes on Sundays.", nothing},
		{"We carry an excess of 300 per claim.", "We carry an excess of 300 euros.", nothing},
		{"Take one pill at 8:00.", "Take one pill at 20:00.", nothing},
		{"Reserve a table for 6 people.", "Reserve a table for 2 hours.", nothing},
		{"We tried Redis for the queue.", "We tried Kafka for the queue.", nothing},
		{"Heidi owns a blue kayak.", "Sybil owns a blue kayak.", nothing},
		{"Priya owns the checkout service.", "The search service was handed to Priya.", nothing},
		{"Sentry collects the error reports of the app.", "The error reports of the gateway now go to Sentry.", nothing},
		{"Does Alice live in Lisbon?", "Alice lives in Berlin.", nothing},
		{"", "Alice lives in Berlin.", nothing},
	} {
		r, ok := mind.Read(c.newer).Replaces(c.older, mind.Relations{})
		if got := r.How; ok != (c.how != nothing) || ok && got != c.how {
			t.Errorf("%q, then %q: %+v, %t", c.older, c.newer, r, ok)
		}
	}
}

// TestReplacesByADatabasesRelations checks that a database's settings decide which relations have one value at a
// time.
func TestReplacesByADatabasesRelations(t *testing.T) {
	older, newer := "Bob works at Acme.", "Bob works at Globex."
	if _, ok := mind.Read(newer).Replaces(older, mind.Relations{Several: []string{"works_at"}}); ok {
		t.Error("a relation with several values is replaced")
	}
	older, newer = "Bob is allergic to nuts.", "Bob is allergic to milk."
	if _, ok := mind.Read(newer).Replaces(older, mind.Relations{}); ok {
		t.Error("a relation with several values by default is replaced")
	}
	if r, ok := mind.Read(newer).Replaces(older, mind.Relations{Single: []string{"allergic_to"}}); !ok || r.How != mind.Stated {
		t.Errorf("a relation that a database calls single-valued: %+v, %t", r, ok)
	}
}

// TestReplacesFindsPlantedTruth compares each row of a generated corpus with the three earlier rows that share most
// of its words.
func TestReplacesFindsPlantedTruth(t *testing.T) {
	c := mindtest.New(1)
	words := make([][]string, len(c.Rows))
	right, wrong := 0, 0
	for i, r := range c.Rows {
		words[i] = mind.Words(r.Text)
		near := make([]int, i)
		for j := range near {
			near[j] = j
		}
		slices.SortStableFunc(near, func(a, b int) int {
			return cmp.Compare(mind.Share(words[i], words[b]), mind.Share(words[i], words[a]))
		})
		for place, j := range near[:min(i, 3)] {
			if found, ok := mind.Read(r.Text).Replaces(c.Rows[j].Text, mind.Relations{}); !ok || place > 0 && found.How == mind.Changed {
				continue
			}
			if c.Conflicts[mindtest.Pair(r.RID, c.Rows[j].RID)] {
				right++
			} else if wrong++; true {
				t.Logf("%q does not replace %q", r.Text, c.Rows[j].Text)
			}
			break
		}
	}
	if right < 28 || wrong > 2 {
		t.Errorf("%d of %d found, %d wrong", right, len(c.Conflicts), wrong)
	}
}

// TestLongTextsAreNotReworded checks that a text longer than MaxRead replaces nothing by its wording, because its
// unread part may differ too.
func TestLongTextsAreNotReworded(t *testing.T) {
	t.Parallel()
	const older, newer, more = "Rudolph keeps the key of the stock room", "Leopold keeps the key of the stock room", " and every team can borrow it for a week"
	short, long := strings.Repeat(more, 3), strings.Repeat(more, 1+mind.MaxRead/len(more))
	if r, ok := mind.Read(newer+short).Replaces(older+short, mind.Relations{}); !ok || r.How != mind.Reworded {
		t.Fatalf("short: %+v, %v", r, ok)
	}
	if r, ok := mind.Read(newer+long+" in Hamburg.").Replaces(older+long+" in Bremen.", mind.Relations{}); ok {
		t.Errorf("%+v", r)
	}
}
