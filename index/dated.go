package index

import (
	"slices"
	"time"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/text"
)

// A time in a question, such as last week or August 2026, means rows of that time: all of them are candidates, and
// being one of them counts as one more word of the question, at least as rare as the rarest other one. A relative date
// is no word to look for. A month or a day that is named stays one, because texts name it.

// mostOfTime is the most rows of a time that are candidates by that alone: with more, as behind an import, the time
// tells little. A month or a day that is named counts for nothing then, beside its words.
const mostOfTime = 4096

const day = int64(24 * time.Hour / time.Microsecond)

// timed notes when a row was stored and the day that its text says, so that a question about a time passes over chunks
// without rows of that time. What dead rows have noted stays.
func (k *chunk) timed(c *column) {
	for _, at := range [...]int64{c.Created, int64(c.Said) * day} {
		if at > 0 {
			if first := k.times[0].Load(); first == 0 || at < first {
				k.times[0].Store(at)
			}
			k.times[1].Store(max(k.times[1].Load(), at))
		}
	}
}

// reaches says whether rows of a chunk may be of the time that a question asks about.
func (k *chunk) reaches(a *text.Asked) bool {
	first, last := k.times[0].Load(), k.times[1].Load()
	return last >= a.From && first < a.To
}

// spanned finds the rows of the time that a relative date of the question means, and returns the words to look for:
// without the date where there are such rows.
func (in *question) spanned() string {
	in.span = nil
	if !in.asked.Relative && in.asked.Month == 0 && !in.asked.Between {
		return in.q.Text
	}
	for at, k := range in.cols.chunks {
		if !k.reaches(&in.asked) {
			continue
		}
		from := uint32(at) * chunkRows
		for row := from; row < min(from+chunkRows, in.cols.n); row++ {
			c := in.cols.at(row)
			if !in.asked.In(c.Created) && !in.asked.Holds(c.Said, c.SaidDay) || !in.Keep(row) {
				continue
			}
			if in.span = append(in.span, row); len(in.span) > mostOfTime && !in.asked.Relative {
				in.span = nil
				return in.q.Text
			}
		}
	}
	switch {
	case !in.asked.Relative:
		return in.q.Text
	case len(in.span) == 0: // the date is seen from another time
		in.asked = text.Asked{}
		return in.q.Text
	case text.StopsAlone(in.asked.Rest):
		return ""
	}
	return in.asked.Rest
}

// bySpan makes the time one more term of the question, which the rows of that time have, and these rows candidates.
func (in *question) bySpan(q *rank.Question, cands []rank.Candidate) []rank.Candidate {
	n, df := len(q.Terms), uint64(len(in.span))
	for _, t := range q.Terms {
		if t.DF > 0 {
			df = min(df, t.DF)
		}
	}
	q.Terms = append(q.Terms, rank.Term{DF: df, Share: 1, Time: true})
	tf := make([]uint16, 0, (n+1)*(len(cands)+depth))
	extend := func(own []uint16, in uint16) []uint16 {
		at := len(tf)
		tf = append(append(tf, own...), in)
		return tf[at:len(tf):len(tf)]
	}
	for i := range cands {
		c, has := &cands[i], uint16(0)
		if _, there := slices.BinarySearch(in.span, c.Row); there {
			has = 1
		}
		c.TF = extend(c.TF, has)
	}
	if len(in.span) > mostOfTime {
		return cands
	}
	found := in.found.Rows // sorted
	rest := slices.DeleteFunc(in.span, func(row uint32) bool {
		_, there := slices.BinarySearch(found, row)
		return there
	})
	slices.SortFunc(rest, in.tie)
	none := make([]uint16, n)
	for _, row := range rest[:min(len(rest), max(depth, in.q.K))] {
		cands = append(cands, in.candidate(row, extend(none, 1)))
	}
	return cands
}

// candidate is a row that the text index did not find, with frequencies of terms that it does not know.
func (in *question) candidate(row uint32, tf []uint16) rank.Candidate {
	return rank.Candidate{Row: row, Length: uint16(min(in.cols.at(row).Length, 1<<16-1)), TF: tf}
}
