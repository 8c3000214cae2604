package rank

import (
	"math"
	"strings"

	"github.com/cairndb/cairn/index/exact"
)

// evidence is what the words of a question say about rows, before vectors and graph.
type evidence struct {
	q      Question
	set    Settings
	corpus Corpus
	weight []float64 // idf^1.5 of each term
	best   float64   // their sum: a perfect match
	found  *table
	rows   []*clue

	scratch []float64 // of look, by term
}

// A clue is a row and what is known about it.
type clue struct {
	Candidate
	Row
	own   float64 // words, discounted by density
	dense float64
	parts Parts
	score float64
}

func newEvidence(q Question, set Settings, cands []Candidate, corpus Corpus) *evidence {
	e := &evidence{q: q, set: set, corpus: corpus, found: newTable(4 * len(cands))}
	for _, t := range q.Terms {
		n, df := float64(q.Rows), float64(t.DF)
		idf := exact.Ln(1 + (max(n-df, 0)+.5)/(df+.5))
		w := float64(idf * math.Sqrt(idf))
		e.weight = append(e.weight, w)
		if t.DF > 0 {
			e.best += w
		}
	}
	e.scratch = make([]float64, len(e.weight))
	rows := make([]Row, len(cands))
	for i, c := range cands { // by themselves: so close to each other the processor waits for several at once
		rows[i] = corpus.Row(c.Row)
	}
	for i, c := range cands {
		e.add(c, &rows[i])
	}
	e.widen()
	e.rows = e.found.all() // in an order that differs from replica to replica: sums over rows are exact (package exact)
	return e
}

func (e *evidence) add(c Candidate, row *Row) {
	k := e.found.put(c.Row)
	k.Candidate, k.Row, k.dense = c, *row, 1
	if len(k.TF) > len(e.weight) {
		k.TF = k.TF[:len(e.weight)]
	}
	if e.set.Density > 0 && float64(k.Length) > e.set.Density {
		k.dense = e.set.Density / float64(k.Length)
	}
	var covered float64
	for i, tf := range k.TF {
		if tf > 0 {
			covered++
			k.own += float64(e.weight[i] * e.saturate(float64(tf), float64(k.Length)))
		}
	}
	k.own = float64(e.share(k.own, covered) * math.Sqrt(k.dense))
}

// saturate is BM25's factor for a frequency in a text of that length.
func (e *evidence) saturate(tf, length float64) float64 {
	norm := float64(e.set.K1 * (1 - e.set.B + float64(e.set.B*length)/max(e.q.Average, 1)))
	return float64(tf*(e.set.K1+1)) / (tf + norm)
}

// share relates a sum of weights to a perfect match, and to how many of the terms were there.
func (e *evidence) share(sum, covered float64) float64 {
	if e.best <= 0 {
		return 0
	}
	return float64(sum/e.best) * (covered / float64(len(e.weight)))
}

// widen makes the neighbours of matching rows candidates too.
func (e *evidence) widen() {
	if e.set.Passage == 0 && e.set.Around == 0 {
		return
	}
	for _, c := range e.found.all() {
		if c.own == 0 || c.Row.Session == 0 {
			continue
		}
		for by := -e.set.Reach; by <= e.set.Reach; by++ {
			row, ok := e.corpus.Near(c.Candidate.Row, by)
			if ok && e.found.get(row) == nil {
				r := e.corpus.Row(row)
				e.add(Candidate{Row: row}, &r)
			}
		}
	}
}

// relevance fills in the parts of every row and its relevance, in [0, 1).
func (e *evidence) relevance() {
	sessions := e.sessions()
	scale := 0.0
	for _, c := range e.rows {
		c.parts.Words = c.own
		e.look(c)
		scale = max(scale, c.parts.Words+c.parts.Passage+c.parts.Around)
	}
	about := newSubject(e.q.Text)
	for _, c := range e.rows {
		p := &c.parts
		p.Session = float64(float64(e.set.Session*sessions[c.Row.Session]) * scale)
		p.Factor = e.factor(c, about)
		x := max(0, float64((p.Words+p.Passage+p.Around+p.Session)*p.Factor))
		p.Relevance = x / (1 + x)
	}
}

// look reads the rows around c.
func (e *evidence) look(c *clue) {
	tf := e.scratch
	clear(tf)
	var length, mass, around float64
	for by := -e.set.Reach; by <= e.set.Reach; by++ {
		row, ok := c.Candidate.Row, by == 0
		if !ok && c.Row.Session != 0 {
			row, ok = e.corpus.Near(row, by)
		}
		if !ok {
			continue
		}
		o := e.found.get(row)
		var share float64 = 1
		for range max(by, -by) {
			share = float64(share * e.set.Step)
		}
		mass += share
		if o == nil {
			length += float64(share * float64(e.corpus.Row(row).Length))
			continue
		}
		length += float64(share * float64(o.Length))
		for i, f := range o.TF {
			tf[i] += float64(float64(share*o.dense) * float64(f))
		}
		if by != 0 {
			inherited := float64(share/e.set.Step) * o.own
			if by == -1 && o.Asks {
				inherited = float64(inherited * e.set.Answer)
			}
			around += float64(inherited)
		}
	}
	if e.set.Around > 0 {
		c.parts.Around = float64(e.set.Around * around)
	}
	var sum, covered float64
	for i, f := range tf {
		if f > 0 {
			sum += float64(e.weight[i] * e.saturate(f, length/mass))
			covered += min(1, f)
		}
	}
	c.parts.Passage = float64(e.set.Passage * e.share(sum, covered))
}

// sessions are the standardised matches of the sessions that have one, in [-3, 3]. Few sessions
// say little about each other: below ten the figure shrinks.
func (e *evidence) sessions() map[uint32]float64 {
	n, mean := e.corpus.Sessions()
	if n < 2 || e.set.Session == 0 || e.best <= 0 {
		return nil
	}
	tfs := map[uint32][]float64{}
	var ids []uint32
	for _, c := range e.rows {
		if c.Row.Session == 0 {
			continue
		}
		tf := tfs[c.Row.Session]
		if tf == nil {
			tf = make([]float64, len(e.weight))
			tfs[c.Row.Session], ids = tf, append(ids, c.Row.Session)
		}
		for i, f := range c.TF {
			tf[i] += float64(f)
		}
	}
	match := make(map[uint32]float64, len(ids))
	var sum, squares exact.Sum
	for _, id := range ids {
		norm := 2 * (.6 + float64(.4*e.corpus.SessionLength(id))/max(mean, 1))
		for i, f := range tfs[id] {
			if f > 0 {
				match[id] += float64(e.weight[i]*f) / (f + norm)
			}
		}
		match[id] /= e.best
		sum.Add(match[id])
		squares.Add(float64(match[id] * match[id]))
	}
	avg := sum.Value() / float64(n)
	sd := math.Sqrt(max(0, squares.Value()/float64(n)-float64(avg*avg)))
	for _, id := range ids {
		if sd < 1e-9 {
			match[id] = 0
			continue
		}
		z := max(-3, min((match[id]-avg)/sd, 3))
		match[id] = float64(z * min(1, float64(n)/10))
	}
	return match
}

// A subject is whom and when a question is about.
type subject struct {
	line  string // its words between spaces
	asker bool
	date  date
	named map[string]bool // by speaker, as far as known
}

func newSubject(question string) subject {
	s := subject{line: " " + strings.Join(words(question), " ") + " ", date: dateIn(question), named: map[string]bool{}}
	for _, w := range []string{" i ", " my ", " me ", " we ", " our "} {
		s.asker = s.asker || strings.Contains(s.line, w)
	}
	return s
}

func (s subject) names(speaker string) bool {
	named, ok := s.named[speaker]
	if !ok {
		ws := words(speaker)
		named = len(ws) > 0 && strings.Contains(s.line, " "+strings.Join(ws, " ")+" ")
		s.named[speaker] = named
	}
	return named
}

// factor is what multiplies a row's match: speaker, asker, date, kind and density.
func (e *evidence) factor(c *clue, about subject) float64 {
	f := math.Sqrt(math.Sqrt(c.dense))
	if e.set.Named > 0 && about.names(c.Speaker) {
		c.parts.Named = true
		f = float64(f * (1 + e.set.Named))
	}
	if about.asker && strings.EqualFold(c.Speaker, "user") {
		f = float64(f * (1 + e.set.Asker))
	}
	if c.Asks {
		f = float64(f * (1 - e.set.Questions))
	}
	c.parts.Date = about.date.share(c.Created)
	return float64(f * (1 + float64(e.set.Date*c.parts.Date)))
}
