package text

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// askedWords speak of time in questions alone: texts say them of too much else.
var askedWords = func() map[string]timeWord {
	m := map[string]timeWord{"couple": {numeral, 2}, "few": {fewWord, 5}}
	for kind, words := range map[timeWord]string{
		{lastWord, 0}: "past previous", {partOfDay, 0}: "morning afternoon evening",
		{longUnit, 'h'}: "hour hours", {longUnit, 'q'}: "quarter quarters", {longUnit, 'm'}: "mes mês",
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

// spacelessUnits are spans of days in scripts without spaces, and which way they lie from today.
var spacelessUnits = []struct {
	words string
	unit  int16
	way   int
}{
	{"这周,本周,這週,本週,今週,이번주,이번 주", 'w', 0}, {"这个月,本月,這個月,今月,이번달,이번 달", 'm', 0}, {"今年,올해", 'y', 0},
	{"上个月,上個月,上月,先月,지난달,지난 달", 'm', -1}, {"去年,昨年,작년", 'y', -1},
}

// spaceless reads a time in such a script: a date with signs, a word of spacelessUnits or one of spacelessTimes.
func (q *asking) spaceless(a *Asked) bool {
	for at, r := range q.text {
		if r != '月' && r != '월' {
			continue
		}
		behind := q.text[at+len(string(r)):]
		if d, _ := signedDate(q.text[:at], behind); d.month > 0 {
			a.Year, a.Month, a.Day = d.year, time.Month(d.month), d.day
			m := q.whole(a)
			a.From, a.To, a.Why = m.from.UnixMicro(), m.to.UnixMicro(), "from "+signed(q.text, at, d)
		}
	}
	if a.Named() || q.now.UnixMicro() == 0 {
		return a.Named()
	}
	relative := func(word string, from time.Time, unit int16) {
		before, behind, _ := strings.Cut(q.text, word)
		*a = Asked{From: from.UnixMicro(), To: addUnits(from, unit, 1).UnixMicro(), Relative: unit != 'y', Why: "from " + word,
			Rest: strings.TrimSpace(before + behind)}
		if unit == 'y' { // of which texts tell more than was stored in it
			a.Year = from.Year()
		}
	}
	for _, s := range spacelessUnits {
		for word := range strings.SplitSeq(s.words, ",") {
			if strings.Contains(q.text, word) {
				relative(word, unitOf(addUnits(q.today, s.unit, s.way), s.unit), s.unit)
				return true
			}
		}
	}
	if s, ok := spacelessDate(q.text); ok {
		unit := int16('d')
		if !s.exact {
			unit = 'w'
		}
		relative(s.word, unitOf(q.today.AddDate(0, 0, s.days), unit), unit)
		return true
	}
	return false
}

// signed is the piece of a text that is a date, around the sign of its month.
func signed(text string, month int, d date) string {
	_, before := numberAtEnd(text[:month])
	if d.year > 0 {
		years, _ := cutSuffix(before, "年", "년")
		_, before = numberAtEnd(years)
	}
	_, size := utf8.DecodeRuneInString(text[month:])
	end := month + size
	if d.day > 0 {
		end += strings.IndexFunc(text[end:], func(r rune) bool { return strings.ContainsRune("日号號일", r) })
		_, size = utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return strings.TrimSpace(text[len(before):end])
}
