package engine

import (
	"slices"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/node/prompt"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Bounds of the comparison of rows in an answer.
const (
	maxCompared       = 8  // rows: an agent reads the first ones
	minRelevanceRatio = .7 // of a row's relevance: another row with so much answers the question about as well
	minOddsRatio      = .4 // of the better match: with less a row has the question's subject, and says something else of it
	maxDistance       = 5  // places behind it
	maxSimilar        = 2  // other rows about the same: with more, they are a list of like things, none of which is news
)

// sameAccount is the time within which memories belong to one account, such as the lines of a file: none of them
// counts as newer.
const sameAccount = oplog.Time(10 * time.Second / time.Microsecond)

// markOutdated looks for statements that a newer row of the answer is about. The newer one moves right before the
// older one, with its score, if it answers the question about as well and is trusted as much. The older one is marked
// as perhaps outdated. Because the two may be about different things, nothing is stored or left out. It compares
// neither turns of a session nor rows that are known to be superseded or to contradict the newer one.
func markOutdated(question string, hits []index.Hit) {
	hits = hits[:min(len(hits), maxCompared)]
	gists, asked := gistsOf(hits), mind.GistOf(question)
	outdates := func(newer, older int) float64 {
		m := hits[newer].Memory
		if !mayReplace(&hits[newer], &hits[older]) || !sameQuestion(&hits[newer], &hits[older]) ||
			slices.ContainsFunc(hits[older].Against, func(a index.Against) bool { return a.RID == m.RID }) {
			return 0
		}
		return gists[older].Likeness(gists[newer], asked)
	}
	for i := range hits {
		for j := i + 1; j < min(i+1+maxDistance, len(hits)); j++ {
			if hits[j].Parts.Relevance >= minRelevanceRatio*hits[i].Parts.Relevance && outdates(j, i) > 0 &&
				oplog.TrustBelow(hits[j].Memory.Trust, hits[i].Memory.Trust) == 0 {
				newer, gist := hits[j], gists[j]
				newer.Score = hits[i].Score
				copy(hits[i+1:j+1], hits[i:j])
				copy(gists[i+1:j+1], gists[i:j])
				hits[i], gists[i] = newer, gist
			}
		}
	}
	for i := range hits {
		most := 0.0
		for j := range hits {
			if like := outdates(j, i); like > most {
				m := hits[j].Memory
				most, hits[i].Later = like, index.Against{RID: m.RID, Seq: m.Seq, Age: "newer"}
			}
		}
		if h := &hits[i]; most > 0 {
			h.Why = append(slices.Clip(h.Why), prompt.Outdated(h.Later.RID))
		}
	}
}

// sameQuestion reports whether two rows match the question about equally well. A row that matches much worse has only
// its subject in common.
func sameQuestion(a, b *index.Hit) bool {
	x, y := relevanceOdds(a), relevanceOdds(b)
	return min(x, y) >= minOddsRatio*max(x, y)
}

// relevanceOdds turns a row's relevance x/(1+x) back into x.
func relevanceOdds(h *index.Hit) float64 { return h.Parts.Relevance / (1 - h.Parts.Relevance) }

// gistsOf returns the gists of rows; a gist is empty if the row cannot be a statement or its replacement.
func gistsOf(hits []index.Hit) []mind.Gist {
	gists, kin := make([]mind.Gist, len(hits)), make([]int, len(hits))
	for i, h := range hits {
		if h.Memory.Session == "" && h.By.RID == "" {
			gists[i] = mind.GistOf(h.Memory.Text)
		}
		for j := range i {
			if sameQuestion(&hits[i], &hits[j]) && gists[i].Likeness(gists[j], nil) > 0 {
				kin[i], kin[j] = kin[i]+1, kin[j]+1
			}
		}
	}
	for i, n := range kin {
		if n == 0 || n > maxSimilar {
			gists[i] = nil
		}
	}
	return gists
}

// mayReplace reports whether a row is newer than another of the same place, and its writer trusted as much, or as an
// agent: what an agent was told may be news of what an operator wrote, though it does not come before it.
func mayReplace(newer, old *index.Hit) bool {
	m, older := newer.Memory, old.Memory
	return statedAt(newer) > statedAt(old)+sameAccount && m.Namespace == older.Namespace && m.Owner == older.Owner &&
		oplog.TrustBelow(m.Trust, oplog.LowestTrust(older.Trust, oplog.TrustAgent)) == 0
}

// statedAt returns the time at which a row's text was stored or last corrected: a correction holds from then on.
func statedAt(h *index.Hit) oplog.Time { return max(h.Memory.Created, h.Corrected) }

// addCorrectionTimes notes when the texts of rows were corrected.
func (s *Service) addCorrectionTimes(c api.Caller, hits []index.Hit) error {
	if !slices.ContainsFunc(hits, func(h index.Hit) bool { return h.Memory.Revision > 0 }) {
		return nil
	}
	return s.state.Read(func(v *state.View) error {
		for i := range hits {
			hits[i].Corrected = v.Corrected(c.DB, hits[i].Memory)
		}
		return nil
	})
}
