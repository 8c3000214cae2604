package text

import (
	"fmt"
	"strings"
	"time"
)

// askedWords speak of time in questions alone: texts say them of too much else.
var askedWords = func() map[string]timeWord {
	m := map[string]timeWord{"couple": {numeral, 2}, "few": {fewWord, 5}}
	for kind, words := range map[timeWord]string{
		{lastWord, 0}: "past previous", {partOfDay, 0}: "morning afternoon evening",
		{longUnit, 'h'}: "hour hours", {longUnit, minuteUnit}: "minute minutes minuten minuter minutos minuti", {longUnit, 'q'}: "quarter quarters", {longUnit, 'm'}: "mes mês",
	} {
		for w := range strings.FieldsSeq(words) {
			m[fold(w)] = kind
		}
	}
	for n := range int16(4) {
		m[fmt.Sprint("q", n+1)] = timeWord{quarterName, n + 1}
	}
	return m
}()

// quarter reads the first of Q1 2024 and 2024 Q1, or two of which a span is made: from Q1 to Q2 2024.
func (q *questionParser) quarter() (m dateSpan, found bool) {
	for i := range q.words {
		first, year, ok := q.quarterAt(i)
		if !ok {
			continue
		}
		for _, at := range [...]int{first.last + 1, first.last + 2} {
			last, lastYear, ok := q.quarterAt(at)
			begins := q.is(first.first-1, spanBegins...) && q.is(last.first-1, spanGoesOn...)
			if !ok || !begins && (last.first != first.last+1 || !q.dashed(last.first)) {
				continue
			}
			first.from, last = inOrder(first.from, year, last, lastYear)
			if first.to, first.last = last.to, last.last; begins {
				first.first--
			}
			break
		}
		return first, true
	}
	return m, false
}

// quarterAt reads a quarter, and whether its year is named. Without one it is the last one that has begun.
func (q *questionParser) quarterAt(i int) (m dateSpan, named, ok bool) {
	w := q.at(i)
	if w.kind != quarterName {
		return m, false, false
	}
	m = dateSpan{first: i, last: i, between: true}
	month := time.Month(3*w.n - 2)
	year := q.today.Year()
	if month > q.today.Month() {
		year--
	}
	for _, j := range [...]int{i - 1, i + 1} {
		if neighbour := q.at(j); neighbour.kind == yearName {
			year, m.first, m.last, named = int(neighbour.n), min(i, j), max(i, j), true
		}
	}
	m.from = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	m.to = m.from.AddDate(0, 3, 0)
	return m, named, true
}

// dashed reports whether nothing but a dash stands before a word.
func (q *questionParser) dashed(i int) bool {
	if i == 0 {
		return false
	}
	between := q.text[q.places[i-1][1]:q.places[i][0]]
	return strings.Trim(between, " -–—") == "" && strings.ContainsAny(between, "-–—")
}
