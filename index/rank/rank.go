package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cairndb/cairn/index/exact"
	"github.com/cairndb/cairn/index/text"
)

// A Question holds the question and the statistics that weigh its words.
type Question struct {
	Text    string
	Terms   []Term
	Rows    uint64  // live rows that the statistics cover: the namespace's or the database's
	Average float64 // length of such a row in tokens
	Now     int64   // microseconds
	When    bool    // a time is asked for
	Asked   text.AskedTime
	K       int     // how many rows are wanted; 0 is all
	Least   float64 // rows that score less are left out
	List    bool    // nothing is asked: every candidate belongs to the answer, the newest first
}

// A Tally counts the rows that were looked at.
type Tally struct {
	Considered int // candidates and their neighbours
	Matched    int // of them, those with something that the question asks for
	Below      int // of those, the ones left out for scoring less than Question.Least, if the last wanted row does
}

// A Term is an analysed word of the question: how many rows contain it, and the share of its weight that counts, less
// than 1 where other words stand for it.
type Term struct {
	DF    uint64
	Share float64
	Time  bool // no word: the rows of a time that the question names have it
	Light bool // a word that says little by itself, such as "use" or "thing"
}

// A Candidate is a row that some search found. Row numbers are distinct.
type Candidate struct {
	Row       uint32
	Length    uint16   // in tokens, where words found it
	TF        []uint16 // of each of the question's terms; nil when words did not find it
	Vector    float64  // cosine; only with HasVector
	HasVector bool
	Graph     float64 // proximity, 0 to 1
	Via       string  // the entity the graph came by
}

// A Row holds what the index knows of a memory without reading it.
type Row struct {
	RID        RID
	Accessed   int64 // microseconds
	HalfLife   float64
	Created    int64 // this field and those below are read for every candidate
	Importance float64
	Length     uint32 // in tokens, as the text index counts
	Session    uint32 // 0 means none
	Speaker    string
	Asks       bool  // the text ends in a question mark
	Refers     bool  // the text names by a pronoun what an earlier one names
	Timed      bool  // the text holds a time
	SaidDay    bool  // Said is a day; else only its month and year are
	Distrust   uint8 // classes of trust that the writer is below an agent
	Said       int32 // the day that a relative date in the text means, from 1970; 0 means none
}

// A Corpus answers from columns. Every method must be O(1).
type Corpus interface {
	// Row is a row's fixed columns. The ranker only reads it.
	Row(row uint32) *Row
	// Worth returns the current Accessed, HalfLife and Importance.
	Worth(row uint32) (accessed int64, halfLife, importance float64)
	// Session returns the numbers of a session's memories, in the order in which they were stored. Number returns the
	// number of a row's memory, RowOf a memory's current row. Keep reports whether the question's filters admit a
	// row; Row is called for admitted rows only.
	Session(session uint32) []uint64
	Number(row uint32) uint64
	RowOf(number uint64) (row uint32, ok bool)
	Keep(row uint32) bool
	// Sessions counts the sessions of the question's namespace, and their mean length in tokens.
	Sessions() (n int, mean float64)
	SessionLength(session uint32) float64
}

// Parts explain a score:
//
//	r = x/(1+x), x = max(0, (Words+Passage+Around+Session)·Factor) + Lift
//	with vectors, where x without Lift is 0: r begins with at most half of the least r that is not; where all are 0: r = Vector
//	Relevance = r + Graph·(1-r)
//	composite = Relevance · Fresh · Importance · Trust, rounded to 1e-9, orders the rows
//	Score = the probability that the row answers (probability.go)
type Parts struct {
	Words, Passage, Around, Session, Factor float64
	Named                                   bool
	Solo                                    bool // no row of its exchange is next to it: Passage is its own words'
	Date                                    float64
	When                                    bool // a time is asked for, and the row holds one
	Vector, Graph                           float64
	Lift                                    float64 // by its vector, and by a neighbour's that stands out
	Relevance                               float64
	Recency, Decay                          float64
	Fresh, Importance                       float64
	Trust                                   float64 // 1, or less where the writer is trusted less than an agent
	Alike                                   float64 // to the most similar row before it, when answers are made diverse
}

// Scored is a row in its place.
type Scored struct {
	Row   uint32
	Score float64
	Parts Parts
	Why   []string // never empty
}

// Rank orders the candidates, and neighbours of those the words found, best first. What has no word of the question
// in or near it, no likeness to it and no relation to what it names is not an answer.
func (r *Ranker) Rank(q Question, set Settings, cands []Candidate, corpus Corpus) []Scored {
	r.begin(q, set, cands, corpus)
	defer r.release()
	if r.independent() {
		r.prune()
	}
	r.addCandidates()
	r.addNeighbours()
	r.relevance()
	r.fuse()
	r.dropUnmatched()
	top := r.best()
	out := make([]Scored, len(top))
	for i, c := range top {
		out[i] = Scored{Row: c.row, Score: c.score, Parts: r.parts(c)}
	}
	r.probabilities(top, out)
	if q.K > 0 && len(out) > q.K {
		top, out = top[:q.K], out[:q.K]
	}
	for n := len(out); n > 0 && !q.List && out[n-1].Score < q.Least; n-- {
		top, out = top[:n-1], out[:n-1]
		r.Tally.Below = r.Tally.Matched - len(out) // rows behind the wanted ones score no more
	}
	moved := r.movedUp(top, out)
	var places map[*entry]int
	for i, c := range top {
		out[i].Why = why(&out[i].Parts, r.cand(c), moved[i], r.q.Asked.Why, r.timeAlone(r.cand(c)))
		if c.words == 0 && c.around > 0 {
			if places == nil {
				places = placesOf(top)
			}
			if at := r.sameExchange(c, places); at > 0 {
				out[i].Why = append(out[i].Why, fmt.Sprintf("from the same conversation as #%d", at))
			}
		}
	}
	return out
}

// dropUnmatched drops the entries that do not match the question.
func (r *Ranker) dropUnmatched() {
	r.Tally = Tally{Considered: len(r.entries) + r.pruned}
	n := 0
	for i := range r.entries {
		keep := r.q.List || r.matches(&r.entries[i])
		if at := r.entries[i].slot; at >= 0 && r.slots[at].entry == int32(i) {
			r.slots[at].entry = otherRow
			if keep {
				r.slots[at].entry = int32(n)
			}
		}
		if !keep {
			continue
		}
		if n != i {
			r.entries[n] = r.entries[i]
		}
		n++
	}
	clear(r.entries[n:]) // release clears r.entries only
	r.entries = r.entries[:n]
	r.Tally.Matched = n + r.pruned
}

func (r *Ranker) matches(c *entry) bool {
	if c.words+c.passage+c.around > 0 {
		return true
	}
	if v, ok := r.vector(c); ok && v >= r.set.Near && (r.set.Vector > 0 || r.set.Fill) {
		return true
	}
	return r.set.Graph > 0 && r.cand(c).Graph > 0
}

// insertUpTo is the largest number of wanted rows that are kept in order as they come; for more, all are sorted at
// the end.
const insertUpTo = 128

// best composes the scores and returns the K best rows in order, or all.
func (r *Ranker) best() []*entry {
	k := r.q.K
	top := r.top[:0]
	if k <= 0 || k > insertUpTo || k >= len(r.entries) {
		for i := range r.entries {
			r.score(&r.entries[i])
			top = append(top, &r.entries[i])
		}
		slices.SortFunc(top, precedes)
		if k > 0 {
			top = top[:min(len(top), k)]
		}
		r.top = top
		return top
	}
	for i := range r.entries {
		c := &r.entries[i]
		if len(top) == k && r.bound(c, top[k-1].score) < top[k-1].score {
			continue
		}
		r.score(c)
		top = insert(top, c, k, precedes)
	}
	r.top = top
	return top
}

// insert puts a row into its place among the best k.
func insert(top []*entry, c *entry, k int, order func(a, b *entry) int) []*entry {
	at, _ := slices.BinarySearchFunc(top, c, order)
	if top = slices.Insert(top, at, c); len(top) > k {
		top = top[:k]
	}
	return top
}

// bound returns a score that a row cannot exceed, whatever its age.
func (r *Ranker) bound(c *entry, last float64) float64 {
	importance := 0.0
	if r.set.Importance {
		_, _, importance = r.corpus.Worth(c.row)
	}
	return r.boundOf(c.relevance, importance, last)
}

// boundOf returns a score that no row of this relevance and importance exceeds. A result below last may be a looser
// bound: that saves most rows the exponential. math.Exp differs in its last bits between machines; the added 1e-8
// makes up for that.
func (r *Ranker) boundOf(relevance, importance, last float64) float64 {
	b := relevance*(1+max(r.set.Freshness, 0)) + 1e-8
	if !r.set.Importance {
		return b
	}
	w := r.set.Weights
	boost := max(0, w.AlphaImp*min(importance, 1))
	if b*(1+boost) < last {
		return b * (1 + boost)
	}
	return b * (1 + boost/(1+math.Exp(-12*(relevance-w.GateTau))) + 1e-8)
}

// precedes orders an answer: by score, then the newer row, then the lower rid.
func precedes(a, b *entry) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return newerFirst(a, b)
}

// newerFirst orders rows of equal score: the newer row, then the lower rid.
func newerFirst(a, b *entry) int {
	if a.Created != b.Created {
		return cmp.Compare(b.Created, a.Created)
	}
	return cmp.Or(a.RID.Compare(b.RID), cmp.Compare(a.row, b.row))
}

func (r *Ranker) score(c *entry) {
	var p Parts
	r.compose(c, &p)
	p.Relevance = c.relevance
	c.score = exact.Round(p.composite())
}

// compose fills in the factors that depend on the memory alone: age, importance and trust.
func (r *Ranker) compose(c *entry, p *Parts) {
	w := r.set.Weights
	accessed, halfLife, importance := r.corpus.Worth(c.row)
	p.Recency = recency(float64(r.q.Now-c.Created) / 1e6)
	p.Decay = decay(importance, halfLife, float64(r.q.Now-accessed)/1e6)
	p.Fresh, p.Importance, p.Trust = w.freshness(p.Decay, p.Recency, r.set.Freshness), 1, r.set.trust(c.Distrust)
	if r.set.Importance {
		p.Importance = w.importance(c.relevance, importance)
	}
}

// parts explains a row's score.
func (r *Ranker) parts(c *entry) Parts {
	p := Parts{Words: c.words, Passage: c.passage, Around: c.around, Session: c.session, Factor: c.factor, Solo: c.solo,
		Named: r.about.of(c.Speaker).named,
		When:  r.q.When && c.Timed && r.set.When > 0, Lift: c.lift, Relevance: c.relevance}
	if r.set.Named <= 0 {
		p.Named = false
	}
	if r.set.Date > 0 {
		p.Date = dateAgreement(&r.q.Asked, c.Row)
	}
	p.Vector, _ = r.vector(c)
	if g := r.cand(c).Graph; g > 0 && r.set.Graph > 0 {
		p.Graph = float64(r.set.Graph * min(g, 1))
	}
	r.compose(c, &p)
	return p
}
