package rank

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/index/exact"
)

// A Question is what is asked, and the statistics its words are weighed by.
type Question struct {
	Text    string
	Terms   []Term
	Rows    uint64  // live rows the statistics are of, a namespace's or the database's
	Average float64 // length of such a row in tokens
	Now     int64   // microseconds
	K       int     // how many rows are wanted; 0 is all
}

// A Term is an analysed word of the question; DF is how many rows contain it.
type Term struct{ DF uint64 }

// A Candidate is a row that some search found. Row numbers are distinct.
type Candidate struct {
	Row       uint32
	TF        []uint16 // of each of the question's terms; nil when words did not find it
	Vector    float64  // cosine; only with HasVector
	HasVector bool
	Graph     float64 // proximity, 0 to 1
	Via       string  // the entity the graph came by
}

// A Row is what the index knows of a memory without reading it.
type Row struct {
	RID                           string
	Created, Accessed             int64 // microseconds
	Importance, HalfLife, Valence float64
	Length                        uint32 // in tokens, as the text index counts
	Session                       uint32 // 0 is none
	Speaker                       string
	Asks                          bool // the text ends in a question mark
}

// A Corpus answers from columns. Every method must be O(1): Rank calls Row about once, and Near
// 2·Reach times, a candidate.
type Corpus interface {
	Row(row uint32) Row
	// Near is the row so many places later in the same session, earlier when negative. Rows that
	// the question's filters refuse must not be given.
	Near(row uint32, by int) (near uint32, ok bool)
	// Sessions counts the sessions of the question's namespace, and their mean length in tokens.
	Sessions() (n int, mean float64)
	SessionLength(session uint32) float64
}

// Parts explain a score:
//
//	r = x/(1+x), x = max(0, (Words+Passage+Around+Session)·Factor)
//	with vectors of a real embedder, in every row: r = 1/(1+e^(-(WordsZ+VectorZ)/2)); without any words r = Vector
//	with vectors of a hashed one, where r is 0: at most half of the least r that is not
//	Relevance = r + Graph·(1-r)
//	Score = Relevance · Fresh · Importance · Valence, rounded to 1e-9
type Parts struct {
	Words, Passage, Around, Session, Factor float64
	Named                                   bool
	Date                                    float64
	Vector, Graph                           float64
	WordsZ, VectorZ                         float64 // by how many deviations the row is above its list's mean; VectorZ as weighted
	Relevance                               float64
	Recency, Decay                          float64
	Fresh, Importance, Valence              float64
	Alike                                   float64 // to the most similar row before it, when answers are made diverse
}

// Scored is a row in its place.
type Scored struct {
	Row   uint32
	Score float64
	Parts Parts
	Why   []string // never empty
}

// Rank orders the candidates, and neighbours of those the words found, best first.
func Rank(q Question, set Settings, cands []Candidate, corpus Corpus) []Scored {
	e := newEvidence(q, set, cands, corpus)
	e.relevance()
	e.fuse()
	e.rows = e.leaders(Sentiment(q.Text))
	out := make([]Scored, len(e.rows))
	for i, c := range e.rows {
		out[i] = Scored{Row: c.Candidate.Row, Score: c.score, Parts: c.parts, Why: why(c)}
	}
	return out
}

// insertUpTo is how many wanted rows are kept in order as they come; for more, all are sorted at the end.
const insertUpTo = 128

// leaders composes the scores and returns the K best rows in order, or all.
func (e *evidence) leaders(mood int) []*clue {
	k := e.q.K
	if k <= 0 || k > insertUpTo || k >= len(e.rows) {
		for _, c := range e.rows {
			e.score(c, mood)
		}
		slices.SortFunc(e.rows, precedes)
		if k > 0 {
			return e.rows[:min(len(e.rows), k)]
		}
		return e.rows
	}
	top := make([]*clue, 0, k+1)
	for _, c := range e.rows {
		if len(top) == k && e.bound(c, mood) < top[k-1].score {
			continue
		}
		e.score(c, mood)
		at, _ := slices.BinarySearchFunc(top, c, precedes)
		if top = slices.Insert(top, at, c); len(top) > k {
			top = top[:k]
		}
	}
	return top
}

// bound is a score that a row cannot exceed whatever its age is: it spares most rows their exponentials.
func (e *evidence) bound(c *clue, mood int) float64 {
	b := c.parts.Relevance * (1 + max(e.set.Freshness, 0))
	if e.set.Importance {
		b *= 1 + max(0, e.set.Weights.AlphaImp*min(c.Row.Importance, 1))
	}
	if e.set.Valence {
		b *= ValenceBoost(c.Row.Valence, mood)
	}
	return b + 1e-8
}

// precedes is an answer's: score, then the newer row, then the lower rid.
func precedes(a, b *clue) int {
	switch {
	case a.score != b.score:
		return cmp.Compare(b.score, a.score)
	case a.Created != b.Created:
		return cmp.Compare(b.Created, a.Created)
	case a.RID != b.RID:
		return cmp.Compare(a.RID, b.RID)
	}
	return cmp.Compare(a.Candidate.Row, b.Candidate.Row)
}

func (e *evidence) score(c *clue, mood int) {
	e.compose(c, mood)
	p := c.parts
	c.score = exact.Round(float64(float64(p.Relevance*p.Fresh)*p.Importance) * p.Valence)
}

// compose fills in what the memory itself is worth.
func (e *evidence) compose(c *clue, mood int) {
	p, w := &c.parts, e.set.Weights
	p.Recency = Recency(float64(e.q.Now-c.Created) / 1e6)
	p.Decay = Decay(c.Row.Importance, c.HalfLife, float64(e.q.Now-c.Accessed)/1e6)
	p.Fresh, p.Importance, p.Valence = w.freshness(p.Decay, p.Recency, e.set.Freshness), 1, 1
	if e.set.Importance {
		p.Importance = w.importance(p.Relevance, c.Row.Importance, w.AlphaImp)
	}
	if e.set.Valence {
		p.Valence = ValenceBoost(c.Row.Valence, mood)
	}
}
