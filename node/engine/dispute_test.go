package engine

import (
	"slices"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/oplog"
)

// TestTheNewerOfTwoAlikeComesFirst: of two statements that are the same but for one stretch and answer as well as each
// other the newer is first; others stay where they are.
func TestTheNewerOfTwoAlikeComesFirst(t *testing.T) {
	t.Parallel()
	hit := func(text string, created oplog.Time, relevance float64, session string) index.Hit {
		m := &oplog.Memory{Content: oplog.Content{RID: text, Text: text, Created: created, Session: session}}
		return index.Hit{Memory: m, Score: relevance / 2, Parts: rank.Parts{Relevance: relevance}}
	}
	const gisela, kamil, other = "School has Gisela down as the emergency contact.", "School has Kamil down as the emergency contact.", "The school is closed on Monday."
	for name, c := range map[string]struct {
		hits []index.Hit
		want []string
	}{
		"alike":               {[]index.Hit{hit(gisela, 1, .5, ""), hit(other, 3, .49, ""), hit(kamil, 2, .48, "")}, []string{kamil, gisela, other}},
		"the newer is first":  {[]index.Hit{hit(gisela, 2, .5, ""), hit(kamil, 1, .48, "")}, []string{gisela, kamil}},
		"one is meant":        {[]index.Hit{hit(gisela, 1, .5, ""), hit(kamil, 2, .3, "")}, []string{gisela, kamil}},
		"turns of a dialogue": {[]index.Hit{hit(gisela, 1, .5, "s"), hit(kamil, 2, .5, "s")}, []string{gisela, kamil}},
		"unlike":              {[]index.Hit{hit(gisela, 1, .5, ""), hit(other, 2, .5, "")}, []string{gisela, other}},
	} {
		best := c.hits[0].Score
		newerFirst(c.hits)
		var got []string
		for _, h := range c.hits {
			got = append(got, h.Memory.RID)
		}
		if !slices.Equal(got, c.want) || c.hits[0].Score != best {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
