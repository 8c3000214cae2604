package rank

import (
	"cmp"
	"slices"
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
//	Relevance without vector and graph = x/(1+x), x = max(0, (Words+Passage+Around+Session)·Factor)
//	Score = Relevance · Fresh · Importance · Valence, rounded to 1e-9
type Parts struct {
	Words, Passage, Around, Session, Factor float64
	Named                                   bool
	Date                                    float64
	Vector, Graph                           float64
	Relevance                               float64
	Recency, Decay                          float64
	Fresh, Importance, Valence              float64
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
	mood := Sentiment(q.Text)
	for _, c := range e.rows {
		e.compose(c, mood)
		p := c.parts
		c.score = round(float64(float64(p.Relevance*p.Fresh)*p.Importance) * p.Valence)
	}
	slices.SortFunc(e.rows, func(a, b *clue) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.Created, a.Created),
			cmp.Compare(a.RID, b.RID), cmp.Compare(a.Candidate.Row, b.Candidate.Row))
	})
	if q.K > 0 {
		e.rows = e.rows[:min(len(e.rows), q.K)]
	}
	out := make([]Scored, len(e.rows))
	for i, c := range e.rows {
		out[i] = Scored{Row: c.Candidate.Row, Score: c.score, Parts: c.parts, Why: why(c)}
	}
	return out
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

// Distinct takes the first k of a ranking, leaving out what says nearly the same as something better:
// similar is the cosine of two rows, and above .98 the later one goes. It looks at no more than 10·k rows.
func Distinct(ranked []Scored, k int, similar func(a, b uint32) float64) []Scored {
	var out []Scored
	for _, s := range ranked[:min(len(ranked), 10*k)] {
		if len(out) == k {
			break
		}
		if !slices.ContainsFunc(out, func(o Scored) bool { return similar(o.Row, s.Row) > .98 }) {
			out = append(out, s)
		}
	}
	return out
}
