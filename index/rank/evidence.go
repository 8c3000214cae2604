package rank

import (
	"math"
	"slices"

	"github.com/cairndb/cairn/index/exact"
)

// A Ranker orders answers, one at a time: one goroutine at a time may use it. It keeps its buffers for the next
// answer.
type Ranker struct {
	Tally Tally // of the last answer

	q      Question
	set    Settings
	corpus Corpus
	cands  []Candidate
	about  subject
	pruning
	weight  []float64 // idf^1.5 of each term
	perfect float64   // their sum: a perfect match
	brevity
	share   []float64 // share of a neighbour that counts, by steps away
	entries []entry
	tf      []float64 // by term, of what is looked at
	top     []*entry
	scale   float64   // the best match of a row with its neighbours
	none    Candidate // of rows that no search found
	around
	outliers
}

// brevity holds what follows from the mean length of a namespace's texts.
type brevity struct {
	longFrom      float64 // tokens from which a text's length counts against it
	step          float64 // share of a neighbour that counts, for each step away
	aroundWeight  float64 // weight of the neighbours' own words
	shortBelow    float64 // tokens below which a row is short for its namespace
	earlierFactor float64 // factor on the shares of earlier rows for a row that refers to them
}

// An entry is a row that may be in the answer, and what is known about it.
type entry struct {
	*Row
	length       float64 // copied from Row, as asks is, so that a scan of entries stays in the cache
	asks         bool
	row          uint32
	cand         int32   // its candidate; -1 for a neighbour that no search found
	conversation int32   // its session; -1 for none
	slot         int32   // its place among the neighbours; -1 for none
	words        float64 // words, discounted by density
	covered      float64 // the question's terms that it has, alone or with its exchange; a replaced term counts by its share
	density      float64
	solo         bool // no row of its exchange is next to it

	passage, around, session, factor float64 // as in Parts
	outlier, lift                    float64 // set by findOutliers and lift
	relevance, score                 float64
}

func (r *Ranker) begin(q Question, set Settings, cands []Candidate, corpus Corpus) {
	r.q, r.set, r.corpus, r.cands, r.about = q, set, corpus, cands, newSubject(q.Text)
	if q.K == 1 {
		r.q.K = 2 // the first row's score depends on its lead over the second
	}
	r.weight, r.perfect, r.share = r.weight[:0], 0, append(r.share[:0], 1)
	brief := max(0, min(2-q.Average/briefLength, 1))
	r.longFrom = float64(set.Density * (1 + brief))
	r.step = float64(set.Step * (1 + float64(.2*brief)))
	r.aroundWeight = float64(set.Around * (1 + float64(.2*brief)))
	for by := range set.Reach {
		r.share = append(r.share, float64(r.share[by]*r.step))
	}
	for _, t := range q.Terms {
		w := r.rarity(t)
		r.weight = append(r.weight, float64(w*t.Share))
		if t.DF > 0 {
			r.perfect += w
		}
	}
	r.shortBelow = min(q.Average, float64(2*set.Density)-q.Average)
	r.earlierFactor = 1 + float64(set.Refers*brief) // a long text names its subject itself
	r.tf = slices.Grow(r.tf[:0], len(r.weight))[:len(r.weight)]
	r.pruned = 0
}

// addCandidates makes the candidates entries and weighs their words.
func (r *Ranker) addCandidates() {
	r.entries, r.turns = r.entries[:0], r.turns[:0]
	for i := range r.cands { // in their own loop, so that the processor fetches several rows at once
		r.add(r.cands[i].Row, i)
	}
	for i := range r.entries {
		r.match(&r.entries[i])
	}
}

// How many rows have a word says nothing yet in a namespace of a few memories. So words are weighed as if there were
// imagined rows more, of which a share, often, has every light word.
const (
	imagined = 20.0
	often    = .2
)

// rarity returns the weight of a term: idf^1.5.
func (r *Ranker) rarity(t Term) float64 {
	n, df := float64(r.q.Rows)+imagined, float64(t.DF)
	if t.Light {
		df += float64(imagined * often)
	}
	idf := exact.Ln(1 + (max(n-df, 0)+.5)/(df+.5))
	return float64(idf * math.Sqrt(idf))
}

// release drops every reference to the question and the corpus, so that an idle ranker holds none of them.
func (r *Ranker) release() {
	clear(r.entries)
	r.q, r.corpus, r.cands, r.about = Question{}, nil, nil, subject{}
}

// add makes a row's entry, which stays where it is until the next one is made.
func (r *Ranker) add(row uint32, cand int) *entry {
	c := r.corpus.Row(row)
	r.entries = append(r.entries,
		entry{Row: c, length: float64(c.Length), asks: c.Asks, row: row, cand: int32(cand), conversation: -1, slot: -1, density: 1})
	return &r.entries[len(r.entries)-1]
}

// match weighs a row's own words.
func (r *Ranker) match(c *entry) {
	if r.longFrom > 0 && c.length > r.longFrom {
		c.density = r.longFrom / c.length
	}
	if c.cand < 0 {
		return
	}
	if c.Session != 0 {
		r.turns = append(r.turns, turn{session: c.Session, number: r.corpus.Number(c.row), entry: c.cand})
	}
	var covered float64
	norm := r.norm(c.length)
	for i, tf := range r.tfs(c) {
		if tf > 0 {
			covered++
			c.covered += r.q.Terms[i].Share
			c.words += float64(r.weight[i] * r.saturate(float64(tf), norm))
		}
	}
	c.words = float64(r.matched(c.words, covered) * math.Sqrt(c.density))
}

// cand returns what a search found out about a row; r.none for a row that no search found.
func (r *Ranker) cand(c *entry) *Candidate {
	if c.cand < 0 {
		return &r.none
	}
	return &r.cands[c.cand]
}

// tfs returns the frequencies of the question's terms in a row; empty when words did not find it.
func (r *Ranker) tfs(c *entry) []uint16 {
	if c.cand < 0 {
		return nil
	}
	tf := r.cands[c.cand].TF
	return tf[:min(len(tf), len(r.weight))]
}

// norm and saturate make BM25's factor for a frequency in a text of that length.
func (r *Ranker) norm(length float64) float64 {
	return float64(r.set.K1 * (1 - r.set.B + float64(r.set.B*length)/max(r.q.Average, 1)))
}

func (r *Ranker) saturate(tf, norm float64) float64 { return float64(tf*(r.set.K1+1)) / (tf + norm) }

// matched relates a sum of weights to a perfect match, and to how many of the terms were there.
func (r *Ranker) matched(sum, covered float64) float64 {
	if r.perfect <= 0 {
		return 0
	}
	return float64(sum/r.perfect) * (covered / float64(len(r.weight)))
}

// briefLength is the mean length, in tokens, up to which a namespace's texts are brief: turns or single facts. From
// twice that length on they are not brief, and in between in part. A brief text says one thing, so its length counts
// against it later and the texts around it count more.
const briefLength = 30

// strongHit is the share of the best row's own match from which a row is a strong hit. A row without a word of the
// question counts only in the exchange of a strong hit.
const strongHit = .7

// relevance fills in what words say of every row, and the relevance, in [0, 1).
func (r *Ranker) relevance() {
	r.sessions()
	r.scale = 0
	best := 0.0
	for i := range r.entries {
		c := &r.entries[i]
		if r.set.Passage != 0 || r.set.Around != 0 {
			r.weighNeighbours(c)
		}
		r.scale = max(r.scale, c.words+c.passage+c.around)
		best = max(best, c.words)
	}
	for i := range r.entries {
		c := &r.entries[i]
		c.session = float64(float64(r.set.Session*c.session) * r.scale)
		if c.words == 0 && r.bestInExchange(c) < float64(strongHit*best) {
			c.passage, c.around, c.session, c.covered = 0, 0, 0, 0
		}
		c.factor = r.factor(c)
		x := max(0, float64((c.words+c.passage+c.around+c.session)*c.factor))
		c.relevance = x / (1 + x)
	}
}

// factor returns the number that multiplies a row's match, from its speaker, asker, date, time, kind, density and
// shortness.
func (r *Ranker) factor(c *entry) float64 {
	f := math.Sqrt(math.Sqrt(c.density))
	who := r.about.of(c.Speaker)
	if r.set.Named > 0 && who.named {
		f = float64(f * (1 + r.set.Named))
	}
	if who.asks {
		f = float64(f * (1 + r.set.Asker))
	}
	if c.asks {
		f = float64(f * (1 - r.set.Questions))
	}
	if r.q.When && c.Timed {
		f = float64(f * (1 + r.set.When))
	}
	if c.length < r.shortBelow {
		f = float64(f * (1 - float64(r.set.Short*(1-c.length/r.shortBelow))))
	}
	return float64(f * (1 + float64(r.set.Date*dateAgreement(&r.q.Asked, c.Row))))
}
