package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairndb/cairn/index/exact"
)

// around is the candidates' sessions and the rows next to them.
//
// A session's rows that matter lie in runs of spots, a spot a place: to both sides of a candidate twice as many as
// Reach. Those within Reach of a match become clues; the neighbours of every clue are the spots beside its own.
type around struct {
	turns []turn // by session and number
	talks []talk
	spots []spot
}

// A turn is a candidate that belongs to a session.
type turn struct {
	session uint32
	clue    int32
	number  uint64 // of its memory
	place   int    // in the session
}

// A talk is a session: its candidates are turns[from:to].
type talk struct {
	from, to int
	match    float64
}

// A spot is a place in a session. Its clue is otherRow where a row lies that is no clue, and emptySpot where no row
// lies, or one that the question's filters refuse.
type spot struct {
	clue   int32
	row    uint32
	length uint32
	tie    float64 // to the row before it: how far the two are turns of one exchange, 0 to 1
}

const (
	otherRow  = -1
	emptySpot = -2
)

// addNeighbours sorts the candidates by session, and makes the neighbours of matching rows clues as well.
func (r *Ranker) addNeighbours() {
	slices.SortFunc(r.turns, func(a, b turn) int {
		if a.session != b.session {
			return cmp.Compare(a.session, b.session)
		}
		return cmp.Compare(a.number, b.number)
	})
	r.talks, r.spots = r.talks[:0], r.spots[:0]
	for from := 0; from < len(r.turns); {
		to := from + 1
		for to < len(r.turns) && r.turns[to].session == r.turns[from].session {
			to++
		}
		for _, t := range r.turns[from:to] {
			r.clues[t.clue].talk = int32(len(r.talks))
		}
		r.talks = append(r.talks, talk{from: from, to: to})
		if r.set.Passage != 0 || r.set.Around != 0 {
			r.layOutSession(r.turns[from:to], len(r.talks)-1)
		}
		from = to
	}
}

// layOutSession splits a session's candidates into runs and lays out each.
func (r *Ranker) layOutSession(turns []turn, talk int) {
	line := r.corpus.Session(turns[0].session)
	for i := range turns {
		turns[i].place, _ = slices.BinarySearch(line, turns[i].number)
	}
	for from := 0; from < len(turns); {
		to := from + 1
		for to < len(turns) && turns[to].place-turns[to-1].place <= 4*r.set.Reach {
			to++
		}
		r.layOutRun(turns[from:to], line, talk)
		from = to
	}
}

// layOutRun lays out the spots of candidates that are near each other.
func (r *Ranker) layOutRun(turns []turn, line []uint64, talk int) {
	first, last := turns[0].place-2*r.set.Reach, turns[len(turns)-1].place+2*r.set.Reach
	from := len(r.spots)
	r.spots = slices.Grow(r.spots, last-first+1)[:from+last-first+1]
	spots := r.spots[from:]
	var before *Row
	voices := voices{}
	for i := range spots {
		spots[i] = spot{clue: emptySpot, tie: 1}
		if n, ok := r.rowAt(line, first+i); ok && r.corpus.Keep(n) {
			row := r.corpus.Row(n)
			spots[i] = spot{otherRow, n, row.Length, tie(before, row)}
			before = row
			voices.hear(row.Speaker)
		}
	}
	if !voices.two {
		for i := range spots {
			spots[i].tie = 0
		}
	}
	for _, t := range turns {
		c, at := &r.clues[t.clue], t.place-first
		c.spot = int32(from + at)
		if s := &spots[at]; s.clue == otherRow && s.row == c.row { // or it was replaced meanwhile
			spots[at].clue = t.clue
		}
	}
	for _, t := range turns {
		if r.clues[t.clue].own == 0 {
			continue
		}
		for at := t.place - first - r.set.Reach; at <= t.place-first+r.set.Reach; at++ {
			if spots[at].clue == otherRow {
				spots[at].clue = int32(len(r.clues))
				c := r.add(spots[at].row, -1)
				c.talk, c.spot = int32(talk), int32(from+at)
				r.match(c)
			}
		}
	}
}

// rowAt is the row at a place of a session, if there is one.
func (r *Ranker) rowAt(line []uint64, place int) (row uint32, ok bool) {
	if place < 0 || place >= len(line) {
		return 0, false
	}
	return r.corpus.RowOf(line[place])
}

// How long after a row the next one still belongs to its exchange: surely, and not at all.
const (
	atOnce = 15 * 60 * 1e6 // microseconds
	later  = 24 * 3600 * 1e6
)

// tie says how far two rows that follow each other are turns of one exchange: both were said by somebody, and shortly
// after each other.
func tie(a, b *Row) float64 {
	if a == nil || a.Speaker == "" || b.Speaker == "" {
		return 0
	}
	gap := float64(max(a.Created-b.Created, b.Created-a.Created))
	if gap <= atOnce {
		return 1
	}
	return max(0, 1-exact.Ln(gap/atOnce)/exact.Ln(later/atOnce))
}

// voices says whether several speak.
type voices struct {
	one string
	two bool
}

func (v *voices) hear(speaker string) {
	v.two = v.two || speaker != "" && v.one != "" && speaker != v.one
	v.one = cmp.Or(v.one, speaker)
}

// weighNeighbours computes a row's passage and around parts from the rows next to it.
func (r *Ranker) weighNeighbours(c *clue) {
	tf := r.tf
	clear(tf)
	mass, length, around := 1.0, c.length, 0.0
	for i, f := range r.tfs(c) {
		tf[i] = float64(c.dense * float64(f))
	}
	for _, to := range [...]int{-1, 1} {
		tied := 1.0
		for by := 1; by <= r.set.Reach && c.spot >= 0; by++ {
			s := &r.spots[int(c.spot)+to*by]
			if tied = float64(tied * r.tie(c, to, by)); tied == 0 {
				break
			}
			share := float64(tied * r.share[by])
			if to < 0 && c.Refers {
				share = float64(share * r.earlier)
			}
			switch s.clue {
			case emptySpot:
				continue
			case otherRow:
				mass += share
				length += float64(share * float64(s.length))
				continue
			}
			o := &r.clues[s.clue]
			inherited := float64(share/r.step) * o.own
			if to*by == -1 && o.asks {
				inherited = float64(inherited * r.set.Answer)
			}
			around += float64(inherited)
			mass += share
			length += float64(share * o.length)
			for i, f := range r.tfs(o) {
				tf[i] += float64(float64(share*o.dense) * float64(f))
			}
		}
	}
	if r.set.Around > 0 {
		c.around = float64(r.nearby * around)
	}
	var sum, covered, evident float64
	norm := r.norm(length / mass)
	for i, f := range tf {
		if f > 0 {
			sum += float64(r.weight[i] * r.saturate(f, norm))
			covered += min(1, f)
			evident += float64(min(1, f) * r.q.Terms[i].Share)
		}
	}
	c.covered, c.solo = max(c.covered, evident), mass == 1
	c.passage = float64(r.set.Passage * r.matched(sum, covered))
}

// sessions gives every row the standardised match of its session, in [-3, 3]. Few sessions
// say little about each other: below ten the figure shrinks.
func (r *Ranker) sessions() {
	n, mean := r.corpus.Sessions()
	if n < 2 || r.set.Session == 0 || r.perfect <= 0 {
		return
	}
	var sum, squares exact.Sum
	for i := range r.talks {
		t := &r.talks[i]
		clear(r.tf)
		for _, turn := range r.turns[t.from:t.to] {
			for i, f := range r.tfs(&r.clues[turn.clue]) {
				r.tf[i] += float64(f)
			}
		}
		norm := 2 * (.6 + float64(.4*r.corpus.SessionLength(r.turns[t.from].session))/max(mean, 1))
		for i, f := range r.tf {
			if f > 0 {
				t.match += float64(r.weight[i]*f) / (f + norm)
			}
		}
		t.match /= r.perfect
		sum.Add(t.match)
		squares.Add(float64(t.match * t.match))
	}
	avg := sum.Value() / float64(n)
	sd := math.Sqrt(max(0, squares.Value()/float64(n)-float64(avg*avg)))
	if sd < 1e-9 {
		return
	}
	for i := range r.clues {
		if c := &r.clues[i]; c.talk >= 0 && c.spot >= 0 {
			z := max(-3, min((r.talks[c.talk].match-avg)/sd, 3))
			c.session = float64(float64(z*min(1, float64(n)/10)) * max(r.tie(c, -1, 1), r.tie(c, 1, 1)))
		}
	}
}

// tie says how far the row that lies so many places before or after another is tied to the one between them.
func (r *Ranker) tie(c *clue, to, by int) float64 {
	at := int(c.spot) + to*by
	if to < 0 {
		at++
	}
	return r.spots[at].tie
}

// besideOf returns how much of the question the best row of the same exchange has in words of its own.
func (r *Ranker) besideOf(c *clue) (own float64) {
	for _, to := range [...]int{-1, 1} {
		for by := 1; by <= r.set.Reach && c.spot >= 0 && r.tie(c, to, by) > 0; by++ {
			if at := r.spots[int(c.spot)+to*by].clue; at >= 0 {
				own = max(own, r.clues[at].own)
			}
		}
	}
	return own
}

// placesOf numbers the rows of an answer, from 1.
func placesOf(top []*clue) map[*clue]int {
	at := make(map[*clue]int, len(top))
	for i, c := range top {
		at[c] = i + 1
	}
	return at
}

// sameExchange finds the best row of the answer that has words of the question and is of a row's exchange. It returns
// its place, 0 for none.
func (r *Ranker) sameExchange(c *clue, places map[*clue]int) (first int) {
	for _, to := range [...]int{-1, 1} {
		for by := 1; by <= r.set.Reach && c.spot >= 0 && r.tie(c, to, by) > 0; by++ {
			if n := r.spots[int(c.spot)+to*by].clue; n >= 0 && r.clues[n].own > 0 {
				if at := places[&r.clues[n]]; at > 0 && (first == 0 || at < first) {
					first = at
				}
			}
		}
	}
	return first
}
