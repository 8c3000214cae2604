package text

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// An Asked is the time that a question asks about. It is zero where none is named.
type Asked struct {
	Year  int // a day, month or year that is named by its parts; zero parts are not named
	Month time.Month
	Day   int
	// From and To are the span that is meant, in microseconds; To is not in it. A relative date is seen from the moment
	// of the question, a month without a year is the last one of that name. In UTC; weeks begin on Monday.
	From, To int64
	Since    bool   // nothing from before the span can answer
	Why      string // "from last week", "since Monday"
	Relative bool   // the time is named by how far it is from the question's own
	Between  bool   // by two dates, or as a quarter
	Rest     string // the question without the date
}

// Named says whether the question names a time.
func (a *Asked) Named() bool { return a.To > 0 }

// In says whether a moment lies in the span.
func (a *Asked) In(at int64) bool { return a.From <= at && at < a.To }

// Holds says whether a relative date, as Times has it, lies in the span. Of one that is no day only the month is
// known, which has to lie in it as a whole.
func (a *Asked) Holds(day int32, exact bool) bool {
	if day == 0 {
		return false
	}
	first := time.Unix(int64(day)*86400, 0).UTC()
	if exact {
		return a.In(first.UnixMicro())
	}
	first = first.AddDate(0, 0, 1-first.Day())
	return a.In(first.UnixMicro()) && a.In(first.AddDate(0, 1, 0).UnixMicro()-1)
}

// AskedOf reads the time that a question asks about, seen from a moment in microseconds. Of several dates the last one
// counts, or the two that bound a span, and without any the first relative date. It is a pure function.
func AskedOf(question string, now int64) (a Asked) {
	q := asking{text: question, now: time.UnixMicro(now).UTC()}
	q.today = q.now.Truncate(24 * time.Hour)
	tells, spaces := false, true
	for at, raw := range wordsOf(question) {
		w, own := askedWords[fold(raw)]
		if !own {
			w = timeWordOf(raw)
		}
		tells, spaces = tells || w.kind != noTime, spaces && !spaceless(raw)
		q.words = append(q.words, w)
		q.places = append(q.places, [2]int{at, at + len(raw)})
	}
	if !spaces && q.spaceless(&a) || !tells {
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
		q.bound(m, &a)
	}
	return a
}

// An asking is a question while its time is read.
type asking struct {
	text   string
	words  []timeWord
	places [][2]int // of the words, in bytes
	now    time.Time
	today  time.Time // its day
}

// A meant is the time that words of a question name: days from one to before another.
type meant struct {
	from, to    time.Time
	first, last int  // the words
	between     bool // two dates, in words that say so, or a quarter
	years       bool // a year, of which texts tell more than was stored in it: it is as if it were named by its number
}

func (q *asking) at(i int) timeWord {
	if i >= 0 && i < len(q.words) {
		return q.words[i]
	}
	return timeWord{}
}

func (q *asking) raw(first, last int) string { return q.text[q.places[first][0]:q.places[last][1]] }

// is says whether a word is one of those.
func (q *asking) is(i int, words ...string) bool {
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

// digits says whether a word is a number in digits.
func (q *asking) digits(i int) bool {
	r, _ := utf8.DecodeRuneInString(q.text[q.places[i][0]:])
	return unicode.IsDigit(r)
}

// relative reads the first relative date.
func (q *asking) relative() (m meant, found bool) {
	for i := range q.words {
		if m, found = q.relativeAt(i); found {
			return m, true
		}
	}
	return m, false
}

// relativeAt reads what the word at a place means together with its neighbours.
func (q *asking) relativeAt(i int) (m meant, ok bool) {
	m.first, m.last = i, i
	way := 0
	for _, by := range [...]int{-1, 1} { // last week, settimana scorsa
		if way, ok = turnOf(q.at(i + by)); ok {
			m.first, m.last = min(i, i+by), max(i, i+by)
			break
		}
	}
	w := q.words[i]
	switch w.kind {
	case fromToday:
		m.first, m.last = i, i
		days := fromTo(w, q.at(i-1), q.at(i-2))
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
			m.from, m.last = dayOf(unitOf(addUnits(q.today, 'w', way), 'w'), w), i+2
		case ofUnit:
			return m, false
		case !ok && !spans && q.at(i-1).kind < sinceWord:
			return m, false // one of any week
		case !ok:
			m.from = q.today.AddDate(0, 0, -((int(q.today.Weekday())-int(w.n))+7)%7)
		case way == 0:
			m.from = dayOf(unitOf(q.today, 'w'), w)
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

// turnOf says whether a word turns a unit, and which way.
func turnOf(w timeWord) (way int, ok bool) {
	switch w.kind {
	case lastWord:
		return -1, true
	case nextWord:
		return 1, true
	}
	return 0, w.kind == thisWord
}

// unit reads last week, three days ago, the last two months, the past few hours, the week before last.
func (q *asking) unit(i int, m meant, way int, turned bool) (meant, bool) {
	unit := q.words[i].n
	j := q.before(i, "of") - 1 // a couple of days
	if many := q.at(j); (many.kind == numeral || many.kind == fewWord) && !turned {
		n, first := int(many.n), j
		if j < i-1 {
			first = q.before(j, "a")
		}
		for _, ago := range [...]int{i + 1, first - 1, first - 2} {
			if q.at(ago).kind == agoWord && many.kind == numeral {
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
	m.from = unitOf(addUnits(q.today, unit, way), unit)
	m.to, m.years = addUnits(m.from, unit, 1), unit == 'y'
	return m, true
}

// past is the span of the last so many units, up to the end of today.
func (q *asking) past(n int, unit int16) (from, to time.Time) {
	from = q.today
	if unit == 'h' || unit == minuteUnit {
		from = q.now
	}
	return addUnits(from, unit, -n), q.today.AddDate(0, 0, 1)
}

// ago is the span that so many units ago means: that unit, and of the clock's what is near it.
func (q *asking) ago(n int, unit int16) (from, to time.Time) {
	from, _ = q.past(n, unit)
	near := map[int16]int{'h': 1, minuteUnit: 5}[unit]
	if near == 0 {
		from = unitOf(from, unit)
	}
	return addUnits(from, unit, -near), addUnits(from, unit, max(near, 1))
}

// unitOf is the first day of the week, month, quarter or year that a day is in, or the day.
func unitOf(day time.Time, unit int16) time.Time {
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

// bound makes a span of what is meant, with the word before it, and takes a relative date out of the question.
func (q *asking) bound(m meant, a *Asked) {
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
	if beside := q.at(i - 1).kind; beside == dayUnit || beside == longUnit {
		kind = noTime // the week before it is near it
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
