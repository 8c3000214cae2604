package text

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// An AskedTime is the time that a question asks about; zero when it names none.
type AskedTime struct {
	Year  int // parts of a date that the question names; zero: not named
	Month time.Month
	Day   int
	// The span is From ≤ time < To, in microseconds and UTC. A relative date counts from the moment of the question,
	// a month without a year is the last one of that name, and weeks begin on Monday.
	From, To int64
	Since    bool   // nothing from before the span can answer
	Why      string // "from last week", "since Monday"
	Relative bool   // the time is relative to the question's moment
	Between  bool   // the time is named by two dates, or as a quarter
	Rest     string // the question without the date
}

// Named reports whether the question names a time.
func (a *AskedTime) Named() bool { return a.To > 0 }

// Contains reports whether a moment lies in the span.
func (a *AskedTime) Contains(at int64) bool { return a.From <= at && at < a.To }

// ContainsDay reports whether the span contains a day of Times. If the day is not exact, the span has to contain its
// whole month.
func (a *AskedTime) ContainsDay(day int32, exact bool) bool {
	if day == 0 {
		return false
	}
	first := time.Unix(int64(day)*86400, 0).UTC()
	if exact {
		return a.Contains(first.UnixMicro())
	}
	first = first.AddDate(0, 0, 1-first.Day())
	return a.Contains(first.UnixMicro()) && a.Contains(first.AddDate(0, 1, 0).UnixMicro()-1)
}

// ParseAskedTime reads the time that a question asks about. now is the question's moment in microseconds. Of several
// dates the last one counts, or the two that bound a span; without a date the first relative date counts. It is a
// pure function.
func ParseAskedTime(question string, now int64) (a AskedTime) {
	q := questionParser{text: question, now: time.UnixMicro(now).UTC()}
	q.today = q.now.Truncate(24 * time.Hour)
	hasTime, spaces := false, true
	for at, raw := range wordsOf(question) {
		w, known := askedWords[fold(raw)]
		if !known {
			w = timeWordOf(raw)
		}
		hasTime, spaces = hasTime || w.kind != noTime, spaces && !Spaceless(raw)
		q.words = append(q.words, w)
		q.places = append(q.places, [2]int{at, at + len(raw)})
	}
	if !spaces && q.spaceless(&a) || !hasTime {
		return a
	}
	m, found := q.quarter()
	if !found {
		if m, found = q.date(&a); found {
			m = q.span(m, &a)
		}
	}
	if !found && now > 0 {
		m, found = q.relative()
		a.Relative = found
	}
	a.Between = m.between
	if found {
		q.applyBound(m, &a)
	}
	return a
}

// A questionParser reads the time that a question names.
type questionParser struct {
	text   string
	words  []timeWord
	places [][2]int // of the words, in bytes
	now    time.Time
	today  time.Time // its day
}

// A dateSpan is a time that a question names: the days from ≤ day < to, and the words that name it.
type dateSpan struct {
	from, to    time.Time
	first, last int  // its words
	between     bool // two dates with words that join them, or a quarter
	years       bool // a whole year: it counts as if its number were named, for many texts of other years tell of it
}

// at returns the word at a place, or the zero word outside of the question.
func (q *questionParser) at(i int) timeWord {
	if i >= 0 && i < len(q.words) {
		return q.words[i]
	}
	return timeWord{}
}

func (q *questionParser) raw(first, last int) string {
	return q.text[q.places[first][0]:q.places[last][1]]
}

// is reports whether a word is one of those.
func (q *questionParser) is(i int, words ...string) bool {
	if i < 0 || i >= len(q.words) {
		return false
	}
	raw := q.raw(i, i)
	for _, w := range words {
		if strings.EqualFold(raw, w) {
			return true
		}
	}
	return false
}

// digits reports whether a word is a number in digits.
func (q *questionParser) digits(i int) bool {
	r, _ := utf8.DecodeRuneInString(q.text[q.places[i][0]:])
	return unicode.IsDigit(r)
}

// relative reads the first relative date.
func (q *questionParser) relative() (m dateSpan, found bool) {
	for i := range q.words {
		if m, found = q.relativeAt(i); found {
			return m, true
		}
	}
	return m, false
}

// relativeAt reads what the word at a place means together with its neighbours.
func (q *questionParser) relativeAt(i int) (m dateSpan, ok bool) {
	m.first, m.last = i, i
	way := 0
	for _, by := range [...]int{-1, 1} { // last week, settimana scorsa
		if way, ok = direction(q.at(i + by)); ok {
			m.first, m.last = min(i, i+by), max(i, i+by)
			break
		}
	}
	w := q.words[i]
	switch w.kind {
	case fromToday:
		m.first, m.last = i, i
		days := dayOffset(w, q.at(i-1), q.at(i-2))
		if days != int(w.n) {
			m.first = i - 2
		}
		m.from = q.today.AddDate(0, 0, days)
		m.to = m.from.AddDate(0, 0, 1)
		return m, true
	case partOfDay: // this morning
		m.from, m.to = q.today, q.today.AddDate(0, 0, 1)
		return m, ok && way == 0
	case night:
		m.from, m.to = q.today.AddDate(0, 0, -1), q.today
		return m, ok && way < 0
	case weekday:
		spans := q.is(i-1, spanGoesOn...) && q.at(i-2).kind == weekday && q.is(i-3, spanBegins...) // from Monday to Friday
		unit := q.at(i + 2)
		ofUnit := isUnit(unit) && m.last == i+1 // Monday last week
		switch {
		case ofUnit && unit.n == 'w':
			m.from, m.last = dayOf(startOf(addUnits(q.today, 'w', way), 'w'), w), i+2
		case ofUnit:
			return m, false
		case !ok && !spans && q.at(i-1).kind < sinceWord:
			return m, false // one of any week
		case !ok:
			m.from = q.today.AddDate(0, 0, -((int(q.today.Weekday())-int(w.n))+7)%7)
		case way == 0:
			m.from = dayOf(startOf(q.today, 'w'), w)
		case way < 0:
			m.from = q.today.AddDate(0, 0, -((int(q.today.Weekday())-int(w.n)+6)%7 + 1))
		default:
			m.from = q.today.AddDate(0, 0, (int(w.n)-int(q.today.Weekday())+6)%7+1)
		}
		m.to = m.from.AddDate(0, 0, 1)
		if spans {
			m.first, m.between = i-3, true
			m.from = m.from.AddDate(0, 0, -(int(w.n)-int(q.words[i-2].n)+7)%7)
		}
		return m, true
	case dayUnit, longUnit:
		return q.unit(i, m, way, ok)
	}
	return m, false
}

// direction returns which way a word such as last or next turns a unit; ok is false for other words.
func direction(w timeWord) (way int, ok bool) {
	switch w.kind {
	case lastWord:
		return -1, true
	case nextWord:
		return 1, true
	}
	return 0, w.kind == thisWord
}

// unit reads last week, three days ago, the last two months, the past few hours, the week before last.
func (q *questionParser) unit(i int, m dateSpan, way int, turned bool) (dateSpan, bool) {
	unit := q.words[i].n
	j := q.before(i, "of") - 1 // a couple of days
	if count := q.at(j); (count.kind == numeral || count.kind == fewWord) && !turned {
		n, first := int(count.n), j
		if j < i-1 {
			first = q.before(j, "a")
		}
		for _, ago := range [...]int{i + 1, first - 1, first - 2} {
			if q.at(ago).kind == agoWord && count.kind == numeral {
				m.first, m.last = min(first, ago), max(i, ago)
				m.from, m.to = q.ago(n, unit)
				m.years = unit == 'y'
				return m, true
			}
		}
		if q.at(j-1).kind == lastWord {
			m.first, m.last = j-1, i
			m.from, m.to = q.past(n, unit)
			return m, true
		}
		return m, false
	}
	if q.is(i+1, "before") && q.at(i+2).kind == lastWord {
		turned, way, m.last = true, -2, i+2
	}
	switch {
	case !turned || unit == 'd' || unit == minuteUnit || unit == 'h' && way >= 0: // the last minutes of a meeting
		return m, false
	case way == -1 && q.is(m.first-1, "the") && !q.is(m.first, "previous") || unit == 'h':
		m.from, m.to = q.past(-way, unit)
		return m, true
	}
	m.from = startOf(addUnits(q.today, unit, way), unit)
	m.to, m.years = addUnits(m.from, unit, 1), unit == 'y'
	return m, true
}

// past returns the span of the last n units, up to the end of today.
func (q *questionParser) past(n int, unit int16) (from, to time.Time) {
	from = q.today
	if unit == 'h' || unit == minuteUnit {
		from = q.now
	}
	return addUnits(from, unit, -n), q.today.AddDate(0, 0, 1)
}

// ago returns the span that "n units ago" means: that unit, or for hours and minutes the time around that moment.
func (q *questionParser) ago(n int, unit int16) (from, to time.Time) {
	from, _ = q.past(n, unit)
	margin := map[int16]int{'h': 1, minuteUnit: 5}[unit]
	if margin == 0 {
		from = startOf(from, unit)
	}
	return addUnits(from, unit, -margin), addUnits(from, unit, max(margin, 1))
}

// startOf returns the first day of the week, month, quarter or year that a day is in, or the day.
func startOf(day time.Time, unit int16) time.Time {
	switch unit {
	case 'w':
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case 'm':
		return day.AddDate(0, 0, 1-day.Day())
	case 'q':
		return day.AddDate(0, -(int(day.Month())-1)%3, 1-day.Day())
	case 'y':
		return day.AddDate(0, 1-int(day.Month()), 1-day.Day())
	}
	return day
}

// applyBound applies the word before a span (since, before, until, after) and sets the result. It cuts the words of
// the time out of the rest of the question.
func (q *questionParser) applyBound(m dateSpan, a *AskedTime) {
	i := m.first - 1
	for q.is(i, "the", "of") {
		i--
	}
	if a.Relative && q.is(m.first-1, "the") {
		m.first--
	}
	if a.Why = q.raw(m.first, m.last); !m.between || !q.is(m.first, spanBegins...) {
		a.Why = "from " + a.Why
	}
	kind := q.at(i).kind
	if preceding := q.at(i - 1).kind; preceding == dayUnit || preceding == longUnit {
		kind = noTime // "the week before it" is a time near it, not all time before
	}
	switch {
	case kind == sinceWord:
		m.to, a.Since = lastDay, true
	case kind == afterWord:
		m.from, m.to = m.to, lastDay
	case kind == beforeWord:
		m.from, m.to = time.Unix(0, 0), m.from
	case kind == untilWord:
		m.from = time.Unix(0, 0)
	default:
		i = m.first
	}
	if m.years {
		a.Relative, a.Year = false, m.from.Year()
	}
	if i != m.first {
		m.first = i
		a.Why = q.raw(m.first, m.last)
		a.Year, a.Month, a.Day = 0, 0, 0
	}
	a.From, a.To = max(m.from.UnixMicro(), 0), max(m.to.UnixMicro(), 0)
	a.Rest = strings.TrimSpace(strings.TrimSpace(q.text[:q.places[m.first][0]]) + " " + strings.TrimSpace(q.text[q.places[m.last][1]:]))
}

// lastDay ends a span that has no end.
var lastDay = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
