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

// quarter reads Q1 2024, or 2024 Q1. Without a year it is the last one that has begun.
func (q *asking) quarter() (m meant, found bool) {
	for i, w := range q.words {
		if w.kind != quarterName {
			continue
		}
		m = meant{first: i, last: i, between: true}
		month := time.Month(3*w.n - 2)
		year := q.today.Year()
		if month > q.today.Month() {
			year--
		}
		for _, j := range [...]int{i - 1, i + 1} {
			if beside := q.at(j); beside.kind == yearName {
				year, m.first, m.last = int(beside.n), min(i, j), max(i, j)
			}
		}
		m.from = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
		m.to = m.from.AddDate(0, 3, 0)
		return m, true
	}
	return m, false
}
