package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairndb/cairn/index/exact"
)

// around holds the candidates' sessions and the rows next to them.
//
// A session is laid out in runs of slots, one for each place. A run reaches 2·Reach slots to both sides of its
// candidates. Rows within Reach of a match become entries; an entry's neighbours are the slots next to its own.
type around struct {
	turns         []turn // by session and number
	conversations []conversation
	slots         []slot
}

// A turn is a candidate that belongs to a session.
type turn struct {
	session uint32
	entry   int32
	number  uint64 // of its memory
	place   int    // in the session
}

// A conversation is a session with candidates, which are turns[from:to].
type conversation struct {
	from, to int
	match    float64
}

// A slot is a place in a session. Its entry is a place in Ranker.entries, otherRow when the row has no entry, and
// emptySlot when there is no row or the question's filters reject it.
type slot struct {
	entry  int32
	row    uint32
	length uint32
	link   float64 // to the row before it: how surely the two are turns of one exchange, 0 to 1
}

const (
	otherRow  = -1
	emptySlot = -2
)

// addNeighbours sorts the candidates by session, and makes the neighbours of matching rows entries as well.
func (r *Ranker) addNeighbours() {
	slices.SortFunc(r.turns, func(a, b turn) int {
		if a.session != b.session {
			return cmp.Compare(a.session, b.session)
		}
		return cmp.Compare(a.number, b.number)
	})
	r.conversations, r.slots = r.conversations[:0], r.slots[:0]
	for from := 0; from < len(r.turns); {
		to := from + 1
		for to < len(r.turns) && r.turns[to].session == r.turns[from].session {
			to++
		}
		for _, t := range r.turns[from:to] {
			r.entries[t.entry].conversation = int32(len(r.conversations))
		}
		r.conversations = append(r.conversations, conversation{from: from, to: to})
		if r.set.Passage != 0 || r.set.Around != 0 {
			r.layOutSession(r.turns[from:to], len(r.conversations)-1)
		}
		from = to
	}
}

// layOutSession splits a session's candidates into runs and lays out each.
func (r *Ranker) layOutSession(turns []turn, conversation int) {
	members := r.corpus.Session(turns[0].session)
	for i := range turns {
		turns[i].place, _ = slices.BinarySearch(members, turns[i].number)
	}
	for from := 0; from < len(turns); {
		to := from + 1
		for to < len(turns) && turns[to].place-turns[to-1].place <= 4*r.set.Reach {
			to++
		}
		r.layOutRun(turns[from:to], members, conversation)
		from = to
	}
}

// layOutRun lays out the slots of candidates that are near each other.
func (r *Ranker) layOutRun(turns []turn, members []uint64, conversation int) {
	first, last := turns[0].place-2*r.set.Reach, turns[len(turns)-1].place+2*r.set.Reach
	from := len(r.slots)
	r.slots = slices.Grow(r.slots, last-first+1)[:from+last-first+1]
	run := r.slots[from:]
	var before *Row
	speakers := dialogue{}
	for i := range run {
		run[i] = slot{entry: emptySlot, link: 1}
		if n, ok := r.rowAt(members, first+i); ok && r.corpus.Keep(n) {
			row := r.corpus.Row(n)
			run[i] = slot{otherRow, n, row.Length, linkStrength(before, row)}
			before = row
			speakers.add(row.Speaker)
		}
	}
	if !speakers.several {
		for i := range run {
			run[i].link = 0
		}
	}
	for _, t := range turns {
		c, at := &r.entries[t.entry], t.place-first
		c.slot = int32(from + at)
		if s := &run[at]; s.entry == otherRow && s.row == c.row { // or it was replaced meanwhile
			run[at].entry = t.entry
		}
	}
	for _, t := range turns {
		if r.entries[t.entry].words == 0 {
			continue
		}
		for at := t.place - first - r.set.Reach; at <= t.place-first+r.set.Reach; at++ {
			if run[at].entry == otherRow {
				run[at].entry = int32(len(r.entries))
				c := r.add(run[at].row, -1)
				c.conversation, c.slot = int32(conversation), int32(from+at)
				r.match(c)
			}
		}
	}
}

// rowAt returns the row at a place of a session, if there is one.
func (r *Ranker) rowAt(members []uint64, place int) (row uint32, ok bool) {
	if place < 0 || place >= len(members) {
		return 0, false
	}
	return r.corpus.RowOf(members[place])
}

// Two rows are surely of one exchange up to linkedWithin after each other, and not from unlinkedAfter on.
const (
	linkedWithin  = 15 * 60 * 1e6 // microseconds
	unlinkedAfter = 24 * 3600 * 1e6
)

// linkStrength returns how likely two consecutive rows are turns of one exchange: both have a speaker, and the second
// came shortly after the first.
func linkStrength(a, b *Row) float64 {
	if a == nil || a.Speaker == "" || b.Speaker == "" {
		return 0
	}
	gap := float64(max(a.Created-b.Created, b.Created-a.Created))
	if gap <= linkedWithin {
		return 1
	}
	return max(0, 1-exact.Ln(gap/linkedWithin)/exact.Ln(unlinkedAfter/linkedWithin))
}

// A dialogue notes whether several people speak.
type dialogue struct {
	first   string
	several bool
}

func (v *dialogue) add(speaker string) {
	v.several = v.several || speaker != "" && v.first != "" && speaker != v.first
	v.first = cmp.Or(v.first, speaker)
}

// weighNeighbours computes a row's passage and around parts from the rows next to it.
func (r *Ranker) weighNeighbours(c *entry) {
	tf := r.tf
	clear(tf)
	mass, length, around := 1.0, c.length, 0.0
	for i, f := range r.tfs(c) {
		tf[i] = float64(c.density * float64(f))
	}
	for _, to := range [...]int{-1, 1} {
		tied := 1.0
		for by := 1; by <= r.set.Reach && c.slot >= 0; by++ {
			s := &r.slots[int(c.slot)+to*by]
			if tied = float64(tied * r.link(c, to, by)); tied == 0 {
				break
			}
			share := float64(tied * r.share[by])
			if to < 0 && c.Refers {
				share = float64(share * r.earlierFactor)
			}
			switch s.entry {
			case emptySlot:
				continue
			case otherRow:
				mass += share
				length += float64(share * float64(s.length))
				continue
			}
			o := &r.entries[s.entry]
			inherited := float64(share/r.step) * o.words
			if to*by == -1 && o.asks {
				inherited = float64(inherited * r.set.Answer)
			}
			around += float64(inherited)
			mass += share
			length += float64(share * o.length)
			for i, f := range r.tfs(o) {
				tf[i] += float64(float64(share*o.density) * float64(f))
			}
		}
	}
	if r.set.Around > 0 {
		c.around = float64(r.aroundWeight * around)
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

// sessions sets each row's standardised match of its session, in [-3, 3]. Few sessions say little about each other:
// below ten the value shrinks.
func (r *Ranker) sessions() {
	n, mean := r.corpus.Sessions()
	if n < 2 || r.set.Session == 0 || r.perfect <= 0 {
		return
	}
	var sum, squares exact.Sum
	for i := range r.conversations {
		t := &r.conversations[i]
		clear(r.tf)
		for _, turn := range r.turns[t.from:t.to] {
			for i, f := range r.tfs(&r.entries[turn.entry]) {
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
	for i := range r.entries {
		if c := &r.entries[i]; c.conversation >= 0 && c.slot >= 0 {
			z := max(-3, min((r.conversations[c.conversation].match-avg)/sd, 3))
			c.session = float64(float64(z*min(1, float64(n)/10)) * max(r.link(c, -1, 1), r.link(c, 1, 1)))
		}
	}
}

// link returns how closely the row that is by places before (to is -1) or after (to is 1) another is tied to its
// neighbour on the side of that one.
func (r *Ranker) link(c *entry, to, by int) float64 {
	at := int(c.slot) + to*by
	if to < 0 {
		at++
	}
	return r.slots[at].link
}

// bestInExchange returns how much of the question the best row of the same exchange has in its own words.
func (r *Ranker) bestInExchange(c *entry) (own float64) {
	for _, to := range [...]int{-1, 1} {
		for by := 1; by <= r.set.Reach && c.slot >= 0 && r.link(c, to, by) > 0; by++ {
			if at := r.slots[int(c.slot)+to*by].entry; at >= 0 {
				own = max(own, r.entries[at].words)
			}
		}
	}
	return own
}

// placesOf numbers the rows of an answer, from 1.
func placesOf(top []*entry) map[*entry]int {
	at := make(map[*entry]int, len(top))
	for i, c := range top {
		at[c] = i + 1
	}
	return at
}

// sameExchange finds the best row of the answer that has words of the question and is of a row's exchange. It returns
// its place, 0 for none.
func (r *Ranker) sameExchange(c *entry, places map[*entry]int) (first int) {
	for _, to := range [...]int{-1, 1} {
		for by := 1; by <= r.set.Reach && c.slot >= 0 && r.link(c, to, by) > 0; by++ {
			if n := r.slots[int(c.slot)+to*by].entry; n >= 0 && r.entries[n].words > 0 {
				if at := places[&r.entries[n]]; at > 0 && (first == 0 || at < first) {
					first = at
				}
			}
		}
	}
	return first
}
