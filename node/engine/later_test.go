package engine

import (
	"slices"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/node/prompt"
	"github.com/cairndb/cairn/oplog"
)

// TestTheNewerOfTwoAboutTheSame: of two statements about the same subject with similar scores, the newer is first and
// the older is marked. Other memories keep their places, unmarked.
func TestTheNewerOfTwoAboutTheSame(t *testing.T) {
	t.Parallel()
	const day = oplog.Time(24 * 3600 * 1e6)
	hit := func(text string, created oplog.Time, relevance float64, session string) index.Hit {
		m := &oplog.Memory{Content: oplog.Content{RID: text, Text: text, Created: created, Session: session}}
		return index.Hit{Memory: m, Score: relevance / 2, Parts: rank.Parts{Relevance: relevance}}
	}
	const (
		gisela = "School has Gisela down as the emergency contact."
		kamil  = "The emergency contact at school is Kamil now."
		other  = "The school is closed on Monday."
		one    = "Server db1 runs Postgres 15 in rack 4."
		two    = "Server db2 runs Postgres 17 in rack 4."
	)
	operators := hit(gisela, day, .5, "")
	operators.Memory.Trust = oplog.TrustOperator
	tools := hit(kamil, 2*day, .5, "")
	tools.Memory.Trust = oplog.TrustTool
	corrected := hit(gisela, day, .5, "")
	corrected.Corrected = 3 * day
	past := hit(gisela, day, .5, "")
	past.By.RID = kamil
	for name, c := range map[string]struct {
		question string
		hits     []index.Hit
		want     []string
		outdated string
	}{
		"alike": {"",
			[]index.Hit{hit(gisela, day, .5, ""), hit(other, 3*day, .49, ""), hit(kamil, 2*day, .4, "")},
			[]string{kamil, gisela, other}, gisela},
		"the newer is first":                     {"", []index.Hit{hit(kamil, 2*day, .5, ""), hit(gisela, day, .48, "")}, []string{kamil, gisela}, gisela},
		"one answers better":                     {"", []index.Hit{hit(gisela, day, .5, ""), hit(kamil, 2*day, .3, "")}, []string{gisela, kamil}, gisela},
		"one has the subject alone":              {"", []index.Hit{hit(gisela, day, .5, ""), hit(kamil, 2*day, .2, "")}, []string{gisela, kamil}, ""},
		"an agent's is newer than an operator's": {"", []index.Hit{operators, hit(kamil, 2*day, .5, "")}, []string{gisela, kamil}, gisela},
		"a tool's is newer":                      {"", []index.Hit{hit(gisela, day, .5, ""), tools}, []string{gisela, kamil}, ""},
		"corrected since":                        {"", []index.Hit{corrected, hit(kamil, 2*day, .5, "")}, []string{gisela, kamil}, kamil},
		"one is named":                           {"what runs on db1", []index.Hit{hit(one, day, .5, ""), hit(two, 2*day, .5, "")}, []string{one, two}, ""},
		"none is named": {"which Postgres runs in rack 4", []index.Hit{hit(one, day, .5, ""), hit(two, 2*day, .5, "")},
			[]string{two, one}, one},
		"turns of a dialogue": {"", []index.Hit{hit(gisela, day, .5, "s"), hit(kamil, 2*day, .5, "s")}, []string{gisela, kamil}, ""},
		"stored at once":      {"", []index.Hit{hit(gisela, day, .5, ""), hit(kamil, day+1000, .5, "")}, []string{gisela, kamil}, ""},
		"known to be past":    {"", []index.Hit{past, hit(kamil, 2*day, .5, "")}, []string{gisela, kamil}, ""},
		"a list of such": {"",
			[]index.Hit{hit(one, day, .5, ""), hit(two, 2*day, .5, ""),
				hit("Server db3 runs Postgres 17 in rack 5.", 3*day, .5, ""), hit("Server db4 runs Postgres 16 in rack 5.", 4*day, .5, "")},
			[]string{one, two, "Server db3 runs Postgres 17 in rack 5.", "Server db4 runs Postgres 16 in rack 5."}, ""},
		"unlike": {"", []index.Hit{hit(gisela, day, .5, ""), hit(other, 2*day, .5, "")}, []string{gisela, other}, ""},
	} {
		best := c.hits[0].Score
		markOutdated(c.question, c.hits)
		var got []string
		for _, h := range c.hits {
			got = append(got, h.Memory.RID)
			if marked := h.Later.RID != "" && slices.Contains(h.Why, prompt.Outdated(h.Later.RID)); marked != (h.Memory.RID == c.outdated) {
				t.Errorf("%s: %q is marked: %v", name, h.Memory.Text, marked)
			}
		}
		if !slices.Equal(got, c.want) || c.hits[0].Score != best {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func BenchmarkLater(b *testing.B) {
	hits := make([]index.Hit, 10)
	for i := range hits {
		text := make([]byte, 300)
		for j := range text {
			text[j] = byte('a' + (i*7919+j*j*31+j*i*17)%26)
			if j%7 == 6 {
				text[j] = ' '
			}
		}
		hits[i] = index.Hit{Memory: &oplog.Memory{Content: oplog.Content{Text: string(text), Created: oplog.Time(i) * 1e9}}}
	}
	for b.Loop() {
		markOutdated("what is it", hits)
	}
}
