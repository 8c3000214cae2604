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
	turns []turn // by session and place
	talks []talk
	spots []spot
}

// A turn is a candidate that belongs to a session.
type turn struct {
	session uint32
	place   int
	clue    int
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
	length uint32
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
		return cmp.Compare(a.place, b.place)
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
func (r *Ranker) layOutRun(turns []turn, line []uint32, talk int) {
	first, last := turns[0].place-2*r.set.Reach, turns[len(turns)-1].place+2*r.set.Reach
	from := len(r.spots)
	r.spots = slices.Grow(r.spots, last-first+1)[:from+last-first+1]
	spots := r.spots[from:]
	for i := range spots {
		spots[i] = spot{clue: emptySpot}
		if at := first + i; at >= 0 && at < len(line) && r.corpus.Keep(line[at]) {
			spots[i] = spot{otherRow, r.corpus.Row(line[at]).Length}
		}
	}
	for _, t := range turns {
		c, at := &r.clues[t.clue], t.place-first
		c.spot = int32(from + at)
		if t.place < len(line) && line[t.place] == c.row { // or it was replaced meanwhile
			spots[at].clue = int32(t.clue)
		}
	}
	for _, t := range turns {
		if r.clues[t.clue].own == 0 {
			continue
		}
		for at := t.place - first - r.set.Reach; at <= t.place-first+r.set.Reach; at++ {
			if spots[at].clue == otherRow {
				spots[at].clue = int32(len(r.clues))
				c := r.add(line[first+at], -1)
				c.talk, c.spot = int32(talk), int32(from+at)
				r.match(c)
			}
		}
	}
}

// weighNeighbours computes a row's passage and around parts from the rows next to it.
func (r *Ranker) weighNeighbours(c *clue) {
	tf := r.tf
	clear(tf)
	var length, mass, around float64
	reach := r.set.Reach
	if c.spot < 0 {
		reach = 0
	}
	for by := -reach; by <= reach; by++ {
		o, share := c, r.share[max(by, -by)]
		if by < 0 && c.Refers {
			share = float64(share * r.earlier)
		}
		if by != 0 {
			s := &r.spots[int(c.spot)+by]
			switch s.clue {
			case emptySpot:
				continue
			case otherRow:
				mass += share
				length += float64(share * float64(s.length))
				continue
			}
			o = &r.clues[s.clue]
			inherited := float64(share/r.set.Step) * o.own
			if by == -1 && o.asks {
				inherited = float64(inherited * r.set.Answer)
			}
			around += float64(inherited)
		}
		mass += share
		length += float64(share * o.length)
		for i, f := range r.tfs(o) {
			tf[i] += float64(float64(share*o.dense) * float64(f))
		}
	}
	if r.set.Around > 0 {
		c.around = float64(r.set.Around * around)
	}
	var sum, covered float64
	norm := r.norm(length / mass)
	for i, f := range tf {
		if f > 0 {
			sum += float64(r.weight[i] * r.saturate(f, norm))
			covered += min(1, f)
		}
	}
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
		if c := &r.clues[i]; c.talk >= 0 {
			z := max(-3, min((r.talks[c.talk].match-avg)/sd, 3))
			c.session = float64(z * min(1, float64(n)/10))
		}
	}
}
