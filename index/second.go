package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/text"
)

// How far a question is asked again.
const (
	secondTerms = 5       // words, the rarest
	secondRows  = 200     // rows found by them
	commonWord  = 20      // a word that more than one row in so many has is no subject,
	commonRows  = 1000    // nor is one that so many have: a question's cost must not grow with the rows
	readOfFirst = 4 << 10 // bytes of a first answer that are read
	apart       = 8       // places in a session: answers further from each other are of different passages
)

// A sharedTerm is a term that first answers have, and the word of the first of them.
type sharedTerm struct {
	term, word string
	row, at    int // which of the answers, and where in it
	col        *column
	rows       uint64
}

// second finds rows by the words that the first answers share and the question does not have: their subject.
func (in *question) second(first []uint32) (found rank.Second, _ error) {
	shared := in.sharedTerms(first)
	if len(shared) == 0 {
		return found, nil
	}
	terms := make([]string, len(shared))
	for i, s := range shared {
		terms[i] = s.term
	}
	stats, totals, err := in.d.words.TermStats(terms, in.groups(), max(commonWord, in.d.words.Totals().Rows/commonRows))
	if err != nil {
		return found, err
	}
	at := 0
	stats = slices.DeleteFunc(stats, func(s text.TermStat) bool { // both are sorted by term
		for shared[at].term != s.Term {
			at++
		}
		return s.DF <= shared[at].rows || s.DF > commonRows || s.DF*commonWord > totals.Rows
	})
	slices.SortFunc(stats, func(a, b text.TermStat) int { return cmp.Or(cmp.Compare(a.DF, b.DF), strings.Compare(a.Term, b.Term)) })
	if stats = stats[:min(len(stats), secondTerms)]; len(stats) == 0 {
		return found, nil
	}
	terms = terms[:0]
	for _, s := range stats {
		terms = append(terms, s.Term)
	}
	var rows text.Found
	err = in.d.words.Find(text.Query{Terms: terms, Exact: true, Groups: in.groups(), Keep: in.Keep, Order: in.newest, Tie: in.tie, K: secondRows}, &rows)
	if err != nil {
		return found, err
	}
	for _, t := range rows.Terms {
		i, _ := slices.BinarySearchFunc(shared, t.Term, func(s sharedTerm, term string) int { return strings.Compare(s.term, term) })
		found.Terms, found.Words = append(found.Terms, rank.Term{DF: t.DF, Share: 1}), append(found.Words, shared[i].word)
	}
	n := len(rows.Terms)
	for i, row := range rows.Rows {
		found.Cands = append(found.Cands, rank.Candidate{Row: row, TF: rows.TF[i*n : (i+1)*n]})
	}
	return found, nil
}

// sharedTerms are the terms that rows from different places have and the question does not, sorted. Rows beside each
// other share what was just talked about; words that rows from here and there share are the subject of the question.
func (in *question) sharedTerms(rows []uint32) (shared []sharedTerm) {
	asked := text.AnalyzeQuery(in.q.Text)
	slices.Sort(asked)
	var all []sharedTerm
	for i, row := range rows {
		col := in.cols.at(row)
		m, ok := in.view.MemoryAt(in.db, col.seq)
		if !ok {
			continue
		}
		if m.Weight() <= smallMemory { // others are read again, if they make the list
			in.read = append(in.read, m)
		}
		words := cut(m.Words(), readOfFirst)
		for _, t := range text.Analyze(words) {
			if _, has := slices.BinarySearch(asked, t.Term); !has {
				all = append(all, sharedTerm{term: t.Term, word: words[t.Start:t.End], row: i, at: t.Start, col: col})
			}
		}
	}
	slices.SortFunc(all, func(a, b sharedTerm) int {
		return cmp.Or(strings.Compare(a.term, b.term), cmp.Compare(a.row, b.row), cmp.Compare(a.at, b.at))
	})
	all = slices.CompactFunc(all, func(a, b sharedTerm) bool { return a.row == b.row && a.term == b.term })
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].term == all[from].term {
			to++
		}
		if spread(all[from:to]) {
			all[from].rows = uint64(to - from)
			shared = append(shared, all[from])
		}
		from = to
	}
	return shared
}

// spread says whether some two of the rows that have a term are of different passages.
func spread(terms []sharedTerm) bool {
	for i, a := range terms {
		for _, b := range terms[:i] {
			if by := a.col.place - b.col.place; a.col.Session != b.col.Session || a.col.Session == 0 || by > apart || by < -apart {
				return true
			}
		}
	}
	return false
}
