package text

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// date reads the last date of the question.
func (q *questionParser) date(a *AskedTime) (m dateSpan, found bool) {
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
	whole := q.spanOf(a)
	m.from, m.to = whole.from, whole.to
	return m, true
}

// spanOf returns the day, month or year of a date as a span.
func (q *questionParser) spanOf(a *AskedTime) (m dateSpan) {
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
	return m
}

// Words before the first of two dates, and between them.
var (
	spanBegins = strings.Fields("between from zwischen von vom entre desde de du del tra dal da från mellan van tussen между с от")
	spanGoesOn = strings.Fields("and to until till through und bis y e et a au à hasta al och till en tot и до по")
)

// span reads the date before the one that was found, if the two bound a span: from 3 to 5 March, between May and July
// 2021, March–May.
func (q *questionParser) span(m dateSpan, a *AskedTime) dateSpan {
	end := m.first
	dash := q.dashed(end)
	if !dash {
		if end = q.before(end, "the") - 1; !q.is(end, spanGoesOn...) {
			return m
		}
	}
	earlier := questionParser{text: q.text, words: q.words[:max(end, 0)], places: q.places[:max(end, 0)], today: q.today}
	var b AskedTime
	first, found := earlier.date(&b)
	original := m
	switch n := earlier.at(end - 1); {
	case found && first.last == end-1:
		first.from, m = inOrder(first.from, b.Year > 0, m, a.Year > 0 && q.named(m))
	case a.Day > 0 && n.kind == numeral && int(n.n) < a.Day && q.digits(end-1):
		first.first, first.from = end-1, m.from.AddDate(0, 0, int(n.n)-a.Day)
	default:
		return m
	}
	if begins := q.before(first.first, "the") - 1; q.is(begins, spanBegins...) {
		first.first = begins
	} else if !dash {
		return original
	}
	if !first.from.Before(m.to) {
		return original
	}
	m.from, m.first, m.between = first.from, first.first, true
	a.Year, a.Month, a.Day = 0, 0, 0
	return m
}

// before returns the place of the first of the given words that directly precede a place, or the place itself.
func (q *questionParser) before(i int, words ...string) int {
	for q.is(i-1, words...) {
		i--
	}
	return i
}

// named reports whether a date names its year.
func (q *questionParser) named(m dateSpan) bool {
	return m.last-m.first > 1 && q.digits(m.first) && q.digits(m.first+1) || // 2024-03-05
		slices.ContainsFunc(q.words[m.first:m.last+1], func(w timeWord) bool { return w.kind == yearName })
}

// inOrder sets the year of the one of two dates that has none, so that the two are in order.
func inOrder(from time.Time, fromYear bool, m dateSpan, toYear bool) (time.Time, dateSpan) {
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
		days := m.to.Sub(m.from)
		m.from = m.from.AddDate(years, 0, 0)
		m.to = m.from.Add(days)
	}
	return from, m
}

// year returns the year of a date. A date without one is of the last year that had it. A day that the month never has
// is dropped.
func (q *questionParser) year(a *AskedTime) (year int) {
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

// yearBehind reports whether a year follows a word: march 2024, mayo de 2024.
func (q *questionParser) yearBehind(i int) bool {
	if q.is(i+1, "de", "del") {
		i++
	}
	return q.at(i+1).kind == yearName
}
