package text

import (
	"cmp"
	"slices"
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
	Relative bool   // the time is named by how far it is from the question's own, or by two dates at most a year apart
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
// counts, and without any the first relative date. It is a pure function.
func AskedOf(question string, now int64) (a Asked) {
	q := asking{text: question, today: time.UnixMicro(now).UTC().Truncate(24 * time.Hour)}
	tells := false
	for at, raw := range wordsOf(question) {
		w := timeWordOf(raw)
		tells = tells || w.kind != noTime
		q.words = append(q.words, w)
		q.places = append(q.places, [2]int{at, at + len(raw)})
	}
	if !tells {
		return a
	}
	m, found := q.date(&a)
	if found {
		m = q.span(m, &a)
		a.Relative = m.between && m.to.Before(m.from.AddDate(1, 0, 1))
	}
	if !found && now > 0 {
		m, found = q.relative()
		a.Relative = found
	}
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
	today  time.Time
}

// A meant is the time that words of a question name: days from one to before another.
type meant struct {
	from, to    time.Time
	first, last int  // the words
	between     bool // two dates, in words that say so
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

// date reads the last date that is named by its parts.
func (q *asking) date(a *Asked) (m meant, found bool) {
	for i := 0; i < len(q.words); i++ {
		if i+2 < len(q.words) && q.digits(i) {
			raw := q.raw(i, i+2)
			if date := dateIn(raw); date != "" { // there may be a time of day behind it
				raw = date
			}
			if d := numericDates(raw); len(d) == 1 {
				a.Year, a.Month, a.Day, found = d[0].year, time.Month(d[0].month), d[0].day, true
				m.first, m.last = i, i+2
				i += 2
				continue
			}
		}
		switch w := q.words[i]; {
		case w.kind == yearName:
			if a.Year = int(w.n); !found || q.before(i, "de", "del") != m.last+1 || q.at(m.last).kind == yearName {
				m.first = i
			}
			m.last, found = i, true
		case (w.kind == plainMonth || w.kind == monthName && q.yearBehind(i)) && !(i == 0 && q.is(i, "may")):
			if a.Year == 0 || m.last != i-1 {
				m.first = i
			}
			a.Month, a.Day, m.last, found = time.Month(w.n), 0, i, true
			for _, j := range [...]int{q.before(i, "of", "de") - 1, i + 1} {
				if n := q.at(j); n.kind == numeral && n.n <= 31 && q.digits(j) {
					a.Day, m.first, m.last = int(n.n), min(m.first, j), max(m.last, j)
				}
			}
		}
	}
	if !found {
		return m, false
	}
	year := q.year(a)
	month, day := max(a.Month, 1), max(a.Day, 1)
	m.from = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	switch {
	case a.Day > 0:
		m.to = m.from.AddDate(0, 0, 1)
	case a.Month > 0:
		m.to = m.from.AddDate(0, 1, 0)
	default:
		m.to = m.from.AddDate(1, 0, 0)
	}
	return m, true
}

// Words before the first of two dates, and between them.
var (
	spanBegins = strings.Fields("between from zwischen von vom entre desde de du del tra dal da från mellan van tussen между с от")
	spanGoesOn = strings.Fields("and to until till through und bis y e et a au à hasta al och till en tot и до по")
)

// span reads the date before the one that was found, where both bound what is meant: from 3 to 5 March, between May and
// July 2021, March–May.
func (q *asking) span(m meant, a *Asked) meant {
	end := m.first
	dash := end > 0 && strings.Trim(q.text[q.places[end-1][1]:q.places[end][0]], " -–—") == "" &&
		strings.ContainsAny(q.text[q.places[end-1][1]:q.places[end][0]], "-–—")
	if !dash {
		if end = q.before(end, "the") - 1; !q.is(end, spanGoesOn...) {
			return m
		}
	}
	early := asking{text: q.text, words: q.words[:max(end, 0)], places: q.places[:max(end, 0)], today: q.today}
	var b Asked
	one, found := early.date(&b)
	switch n := early.at(end - 1); {
	case found && one.last == end-1:
		one.from, m = inOrder(one.from, b.Year > 0, m, a.Year > 0 && q.named(m))
	case a.Day > 0 && n.kind == numeral && int(n.n) < a.Day && q.digits(end-1):
		one.first, one.from = end-1, m.from.AddDate(0, 0, int(n.n)-a.Day)
	default:
		return m
	}
	if begins := q.before(one.first, "the") - 1; q.is(begins, spanBegins...) {
		one.first = begins
	} else if !dash {
		return m
	}
	if one.from.Before(m.to) {
		m.from, m.first, m.between = one.from, one.first, true
		a.Year, a.Month, a.Day = 0, 0, 0
	}
	return m
}

// before is the place of the first of those words that stand before a place, or the place.
func (q *asking) before(i int, words ...string) int {
	for q.is(i-1, words...) {
		i--
	}
	return i
}

// named says whether the year of a date is among its words.
func (q *asking) named(m meant) bool {
	return m.last-m.first > 1 && q.digits(m.first) && q.digits(m.first+1) || // 2024-03-05
		slices.ContainsFunc(q.words[m.first:m.last+1], func(w timeWord) bool { return w.kind == yearName })
}

// inOrder gives that of two dates whose year is not named a year in which they are in order.
func inOrder(from time.Time, fromYear bool, m meant, toYear bool) (time.Time, meant) {
	switch {
	case !fromYear:
		if from = from.AddDate(m.from.Year()-from.Year(), 0, 0); from.After(m.from) {
			from = from.AddDate(-1, 0, 0)
		}
	case !toYear:
		years := from.Year() - m.from.Year()
		if m.from.AddDate(years, 0, 0).Before(from) {
			years++
		}
		m.from, m.to = m.from.AddDate(years, 0, 0), m.to.AddDate(years, 0, 0)
	}
	return from, m
}

// year is the year of a date. Without one it is the last that had the date; a day that the month never has is not
// meant.
func (q *asking) year(a *Asked) (year int) {
	lacks := func(year int) bool { return a.Day > time.Date(year, a.Month+1, 0, 0, 0, 0, 0, time.UTC).Day() }
	const leap = 2000
	if year = a.Year; lacks(cmp.Or(year, leap)) {
		a.Day = 0
	}
	if year > 0 {
		return year
	}
	if year = q.today.Year(); a.Month > q.today.Month() || a.Month == q.today.Month() && a.Day > q.today.Day() {
		year--
	}
	for lacks(year) {
		year--
	}
	return year
}

// yearBehind says whether a year follows a word: march 2024, mayo de 2024.
func (q *asking) yearBehind(i int) bool {
	if q.is(i+1, "de", "del") {
		i++
	}
	return q.at(i+1).kind == yearName
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
	case night:
		m.from, m.to = q.today.AddDate(0, 0, -1), q.today
		return m, ok && way < 0
	case weekday:
		unit := q.at(i + 2)
		ofUnit := isUnit(unit) && m.last == i+1 // Monday last week
		switch {
		case ofUnit && unit.n == 'w':
			m.from, m.last = dayOf(unitOf(addUnits(q.today, 'w', way), 'w'), w), i+2
		case ofUnit:
			return m, false
		case !ok && q.at(i-1).kind < sinceWord:
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

// unit reads last week, three days ago, the last two months.
func (q *asking) unit(i int, m meant, way int, turned bool) (meant, bool) {
	unit, many := q.words[i].n, q.at(i-1)
	if many.kind == numeral && !turned {
		n := int(many.n)
		for _, ago := range [...]int{1, -2, -3} {
			if q.at(i+ago).kind == agoWord {
				m.first, m.last = min(i-1, i+ago), max(i, i+ago)
				m.from = unitOf(addUnits(q.today, unit, -n), unit)
				m.to, m.years = addUnits(m.from, unit, 1), unit == 'y'
				return m, true
			}
		}
		if q.at(i-2).kind == lastWord {
			m.first, m.last = i-2, i
			m.from, m.to = addUnits(q.today, unit, -n), q.today.AddDate(0, 0, 1)
			return m, true
		}
		return m, false
	}
	if !turned || unit == 'd' {
		return m, false
	}
	if way < 0 && q.is(m.first-1, "the") {
		m.from, m.to = addUnits(q.today, unit, -1), q.today.AddDate(0, 0, 1)
		return m, true
	}
	m.from = unitOf(addUnits(q.today, unit, way), unit)
	m.to, m.years = addUnits(m.from, unit, 1), unit == 'y'
	return m, true
}

// unitOf is the first day of the week, month or year that a day is in, or the day.
func unitOf(day time.Time, unit int16) time.Time {
	switch unit {
	case 'w':
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case 'm':
		return day.AddDate(0, 0, 1-day.Day())
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
	if a.Why = q.raw(m.first, m.last); !m.between {
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
