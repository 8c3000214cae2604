package index

import (
	"slices"
	"time"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/text"
)

// A question that names a time, such as last week or August 2026, is about rows of that time. All of these are
// candidates, and the time counts as one more word of the question, at least as rare as the rarest other one. A
// relative date is cut from the words to search for. A named month or day stays, because texts name it as well.

// maxTimeRows bounds the rows that are candidates by their time alone. With more, as after an import, the time tells
// little, and a named month or day counts by its words only. The bound does not apply to a question about nothing but
// the time, such as "what did we do last week": its candidates are the newest of these rows.
const maxTimeRows = 4096

const day = int64(24 * time.Hour / time.Microsecond)

// noteTimes extends the chunk's range of times by when a row was stored and the day that its text says, so that a
// question about a time skips chunks without rows of that time. Dead rows stay in the range.
func (k *chunk) noteTimes(c *column) {
	for _, at := range [...]int64{c.Created, int64(c.Said) * day} {
		if at > 0 {
			if first := k.times[0].Load(); first == 0 || at < first {
				k.times[0].Store(at)
			}
			k.times[1].Store(max(k.times[1].Load(), at))
		}
	}
}

// mayHaveTime reports whether rows of the chunk may be of the time that a question asks about.
func (k *chunk) mayHaveTime(a *text.AskedTime) bool {
	first, last := k.times[0].Load(), k.times[1].Load()
	return last >= a.From && first < a.To
}

// findTimeRows finds the rows of the time that the question names, and returns the words to search for: without a
// relative date if there are such rows.
func (in *question) findTimeRows() string {
	in.timeRows = nil
	if !in.asked.Relative && in.asked.Month == 0 && !in.asked.Between {
		return in.q.Text
	}
	bounded := !in.asked.Relative && !in.asksTimeAlone()
	for at, k := range in.cols.chunks {
		if !k.mayHaveTime(&in.asked) {
			continue
		}
		from := uint32(at) * chunkRows
		for row := from; row < min(from+chunkRows, in.cols.n); row++ {
			c := in.cols.at(row)
			if !in.asked.Contains(c.Created) && !in.asked.ContainsDay(c.Said, c.SaidDay) || !in.Keep(row) {
				continue
			}
			if in.timeRows = append(in.timeRows, row); len(in.timeRows) > maxTimeRows && bounded {
				in.timeRows = nil
				return in.q.Text
			}
		}
	}
	switch {
	case !in.asked.Relative:
		return in.q.Text
	case len(in.timeRows) == 0: // the date may be relative to another time
		in.asked = text.AskedTime{}
		return in.q.Text
	case text.StopsAlone(in.asked.Rest):
		return ""
	}
	return in.asked.Rest
}

// addTimeTerm adds a term to the question that the rows of its time have, and makes these rows candidates.
func (in *question) addTimeTerm(q *rank.Question, cands []rank.Candidate) []rank.Candidate {
	n, df := len(q.Terms), uint64(len(in.timeRows))
	for _, t := range q.Terms {
		if t.DF > 0 {
			df = min(df, t.DF)
		}
	}
	q.Terms = append(q.Terms, rank.Term{DF: df, Share: 1, Time: true})
	tf := make([]uint16, 0, (n+1)*(len(cands)+depth))
	extend := func(before []uint16, in uint16) []uint16 {
		at := len(tf)
		tf = append(append(tf, before...), in)
		return tf[at:len(tf):len(tf)]
	}
	for i := range cands {
		c, inTime := &cands[i], uint16(0)
		if _, there := slices.BinarySearch(in.timeRows, c.Row); there {
			inTime = 1
		}
		c.TF = extend(c.TF, inTime)
	}
	if len(in.timeRows) > maxTimeRows && !in.asksTimeAlone() {
		return cands
	}
	found := in.found.Rows // sorted
	onlyByTime := slices.DeleteFunc(in.timeRows, func(row uint32) bool {
		_, there := slices.BinarySearch(found, row)
		return there
	})
	zeros := make([]uint16, n)
	for _, row := range in.newestOf(onlyByTime, max(depth, in.q.K)) {
		cands = append(cands, in.candidate(row, extend(zeros, 1)))
	}
	return cands
}

// asksTimeAlone reports whether a question that names a time has no other words that carry meaning.
func (in *question) asksTimeAlone() bool {
	return text.StopsAlone(in.asked.Rest) ||
		!slices.ContainsFunc(text.AnalyzeQuery(in.asked.Rest), func(term string) bool { return !text.Light(term) })
}

// newestOf returns the first rows in the order of tie, at most limit.
func (in *question) newestOf(rows []uint32, limit int) []uint32 {
	best := make([]uint32, 0, min(len(rows), limit)+1)
	for _, row := range slices.Backward(rows) { // the newest come last
		if len(best) == limit && in.tie(row, best[limit-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, row, in.tie)
		if best = slices.Insert(best, at, row); len(best) > limit {
			best = best[:limit]
		}
	}
	return best
}

// candidate returns a candidate that the text index did not find, with the frequencies of the question's terms.
func (in *question) candidate(row uint32, tf []uint16) rank.Candidate {
	return rank.Candidate{Row: row, Length: uint16(min(in.cols.at(row).Length, 1<<16-1)), TF: tf}
}
