package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// When a question is asked again, by what its first answers have in common.
const (
	firstRows = 8   // that are read
	clearly   = 1.4 // times the relevance of the last of them: from there on the first stands out, and nothing is asked again
)

// A Second holds the rows that were found by the words that first answers share.
type Second struct {
	Terms []Term
	Words []string    // the terms, as the first answers write them
	Cands []Candidate // by row, with the frequencies of Terms
}

// second asks again where no row stands out, and raises what that finds: the first answers themselves are not raised.
func (r *Ranker) second() {
	if r.q.Second == nil || r.set.Second <= 0 {
		return
	}
	first := r.first()
	// Texts by themselves are not asked again: the gain was found on conversations, where an answer lies among others.
	if len(first) < firstRows || first[0].Session == 0 || first[0].relevance >= float64(clearly*first[firstRows-1].relevance) {
		return
	}
	rows := make([]uint32, firstRows)
	for i, c := range first {
		rows[i] = c.row
	}
	r.again = r.q.Second(rows)
	r.subjects = r.subjects[:0]
	for _, t := range r.again.Terms {
		r.subjects = append(r.subjects, r.rarity(t.DF))
	}
	slices.Sort(rows)
	known := make([]bool, len(r.again.Cands))
	for i := range r.clues {
		c := &r.clues[i]
		at, found := slices.BinarySearchFunc(r.again.Cands, c.row, func(c Candidate, row uint32) int { return int(c.Row) - int(row) })
		if !found {
			continue
		}
		known[at] = true
		if _, one := slices.BinarySearch(rows, c.row); !one {
			r.raise(c, at)
		}
	}
	for at := range known {
		if !known[at] {
			c := r.add(r.again.Cands[at].Row, -1)
			r.match(c)
			c.factor = r.factor(c)
			r.raise(c, at)
		}
	}
}

// first is the rows that match best, words among what they match by.
func (r *Ranker) first() []*clue {
	r.top = r.top[:0]
	for i := range r.clues {
		c := &r.clues[i]
		if c.own+c.passage+c.around > 0 && (len(r.top) < firstRows || c.relevance >= r.top[firstRows-1].relevance) {
			r.top = insert(r.top, c, firstRows, moreRelevant)
		}
	}
	return r.top
}

// moreRelevant orders rows by how well they match, whatever they are worth.
func moreRelevant(a, b *clue) int {
	if a.relevance != b.relevance {
		return cmp.Compare(b.relevance, a.relevance)
	}
	return newerFirst(a, b)
}

// raise adds to a row what it has of the first answers' words. Where the question names a speaker, only what that one
// said is raised.
func (r *Ranker) raise(c *clue, at int) {
	if r.set.Named > 0 && r.about.someone && !r.about.of(c.Speaker).named {
		return
	}
	var sum, all float64
	norm := r.norm(c.length)
	for i, tf := range r.again.Cands[at].TF {
		all += r.subjects[i]
		if tf > 0 {
			sum += float64(r.subjects[i] * r.saturate(float64(tf), norm))
		}
	}
	if all <= 0 {
		return
	}
	c.again = int32(at) + 1
	c.second = float64(r.set.Second * float64(sum/all) * math.Sqrt(c.dense) * r.scale * c.factor)
	x := odds(c.relevance) + c.second
	c.relevance = x / (1 + x)
}

// shared are the words of first answers that a row has.
func (r *Ranker) shared(c *clue) string {
	if c.again == 0 {
		return ""
	}
	var words []string
	for i, tf := range r.again.Cands[c.again-1].TF {
		if tf > 0 {
			words = append(words, r.again.Words[i])
		}
	}
	return strings.Join(words, ", ")
}
