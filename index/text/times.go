package text

import (
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Times holds what a text says about times.
type Times struct {
	Any bool // the text holds a time: a day, a year, last week, three months
	// Day is the day that the text's first relative date means, counted from 1970; 0 without one. Exact is false for
	// a week or longer: then only the month is known.
	Day   int32
	Exact bool
}

// TimesOf reads the times of a text. written is when it was written, in microseconds; 0: unknown. It is a pure
// function.
func TimesOf(text string, written int64) (t Times) {
	var buf [64]timeWord
	words := buf[:0]
	spaces := true
	for _, raw := range wordsOf(text) {
		spaces = spaces && !Spaceless(raw)
		w := timeWordOf(raw)
		switch w.kind {
		case vague, fromToday, weekday, longUnit, plainMonth, yearName:
			t.Any = true
		case dayUnit:
			if n := len(words); n > 0 && words[n-1].kind == numeral && words[n-1].n > 1 {
				t.Any = true
			}
		}
		words = append(words, w)
	}
	today := time.UnixMicro(written).UTC()
	setDay := func(day time.Time, exact bool) {
		t.Any = true
		if days := day.Unix() / 86400; written > 0 && t.Day == 0 && days > 0 && days < 1<<31 {
			t.Day, t.Exact = int32(days), exact
		}
	}
	for i := 0; i < len(words) && t.Day == 0; i++ {
		if day, exact, ok := relativeDate(words, i, today); ok {
			setDay(day, exact)
		}
	}
	if s, ok := spacelessDate(text); ok && !spaces {
		setDay(today.AddDate(0, 0, s.days), s.exact)
	}
	return t
}

// Spaceless reports whether a word has a character of a script that is written without spaces.
func Spaceless(word string) bool {
	const first = '\u0e00' // of their characters
	for _, r := range word {
		if r >= first {
			if class := classOf(r); class == classCJK || class == classCluster {
				return true
			}
		}
	}
	return false
}

// spacelessDate finds the first of spacelessTimes in a text; "today" counts only when there is no other.
func spacelessDate(text string) (found spacelessTime, ok bool) {
	first := len(text)
	for _, s := range spacelessTimes {
		at := strings.Index(text, s.word)
		if at >= 0 && (!ok || s.days != 0 && (found.days == 0 || at < first)) {
			first, found, ok = at, s, true
		}
	}
	return found, ok
}

// wordsOf yields the runs of letters, digits and marks of a text, and where they begin.
func wordsOf(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for at := 0; at < len(text); {
			end := at
			for end < len(text) {
				n := 1
				if c := text[end]; c < utf8.RuneSelf {
					if asciiClasses[c] != classWord {
						break
					}
				} else if r, size := utf8.DecodeRuneInString(text[end:]); unicode.IsLetter(r) || unicode.IsDigit(r) ||
					unicode.Is(unicode.M, r) {
					n = size
				} else {
					break
				}
				end += n
			}
			if end > at && !yield(at, text[at:end]) {
				return
			}
			if at = end; at < len(text) {
				_, n := utf8.DecodeRuneInString(text[at:])
				at += n
			}
		}
	}
}

func timeWordOf(raw string) timeWord {
	word := raw
	if !isDigit(raw[0]) {
		if !timePrefilter.mayContain(raw) {
			return timeWord{}
		}
		word = fold(raw)
	}
	if word != "" && isDigit(word[0]) {
		switch n := number(word); {
		case n >= 1900 && n < 2100:
			return timeWord{yearName, int16(n)}
		case n > 0 && n < 100:
			return timeWord{numeral, int16(n)}
		}
		return timeWord{}
	}
	w := timeWords[word]
	if w.kind != noTime && marked[word] && ascii(raw) {
		return timeWord{}
	}
	if w.kind == monthName || w.kind == plainMonth {
		switch r, _ := utf8.DecodeRuneInString(raw); {
		case !unicode.IsUpper(r):
		case smallMonths[word]:
			w.kind = monthName
		default:
			w.kind = plainMonth
		}
	}
	return w
}

// relativeDate returns the day that the word at a place means together with its neighbours, seen from today.
func relativeDate(words []timeWord, at int, today time.Time) (day time.Time, exact, ok bool) {
	neighbour := func(by int) timeWord {
		if i := at + by; i >= 0 && i < len(words) {
			return words[i]
		}
		return timeWord{}
	}
	way := 0
	switch before, after := neighbour(-1).kind, neighbour(1).kind; {
	case before == lastWord || after == lastWord:
		way = -1
	case before == nextWord || after == nextWord:
		way = 1
	}
	w := words[at]
	switch w.kind {
	case fromToday:
		days := dayOffset(w, neighbour(-1), neighbour(-2))
		return today.AddDate(0, 0, days), true, days != 0 // today is the day it was written
	case night:
		return today.AddDate(0, 0, -1), true, neighbour(-1).kind == lastWord
	case weekday:
		if unit := neighbour(2); isUnit(unit) && isDirection(neighbour(1)) && !isDirection(neighbour(-1)) { // Monday last week
			return dayOf(startOf(addUnits(today, 'w', way), 'w'), w), true, unit.n == 'w'
		}
		days := (int(today.Weekday()) - int(w.n) + 6) % 7 // between the two
		if way > 0 {
			days = (int(w.n)-int(today.Weekday())+6)%7 + 1
		} else {
			days = -1 - days
		}
		return today.AddDate(0, 0, days), true, way != 0
	case dayUnit, longUnit:
		if w.n == 'd' {
			way = 0 // the last day is not yesterday
		}
		if n := neighbour(-1); way == 0 && n.kind == numeral &&
			slices.Contains([]uint8{neighbour(1).kind, neighbour(-2).kind, neighbour(-3).kind}, agoWord) {
			way = -int(n.n)
		}
		return addUnits(today, w.n, way), w.n == 'd', way != 0
	}
	return today, false, false
}

func isDirection(w timeWord) bool { return w.kind == lastWord || w.kind == nextWord }
func isUnit(w timeWord) bool      { return w.kind == dayUnit || w.kind == longUnit }

// dayOffset returns how many days from today a word is, such as yesterday. The two words before it may double that:
// the day before yesterday.
func dayOffset(w, before, first timeWord) int {
	if day := (timeWord{dayUnit, 'd'}); first == day && (w.n == -1 && before.kind == beforeWord || w.n == 1 && before.kind == afterWord) {
		return 2 * int(w.n)
	}
	return int(w.n)
}

// dayOf returns a weekday of the week that begins on the given Monday.
func dayOf(monday time.Time, w timeWord) time.Time { return monday.AddDate(0, 0, (int(w.n)+6)%7) }

// minuteUnit is the letter of minutes; m is that of months.
const minuteUnit = 'n'

// addUnits adds minutes, hours, days, weeks, months, quarters or years.
func addUnits(day time.Time, unit int16, n int) time.Time {
	switch unit {
	case minuteUnit:
		return day.Add(time.Duration(n) * time.Minute)
	case 'h':
		return day.Add(time.Duration(n) * time.Hour)
	case 'w':
		return day.AddDate(0, 0, 7*n)
	case 'm':
		return day.AddDate(0, n, 1-day.Day())
	case 'q':
		return day.AddDate(0, 3*n, 1-day.Day())
	case 'y':
		date := day.AddDate(n, 0, 0)
		if date.Day() != day.Day() { // of 29 February, in a year that has none
			date = date.AddDate(0, 0, -date.Day())
		}
		return date
	}
	return day.AddDate(0, 0, n)
}

// AsksWhen reports whether a question asks for a time, in one of the known languages.
func AsksWhen(question string) bool {
	const first = 4 // words that say what a question asks for
	var words []string
	for _, raw := range wordsOf(question) {
		if words = append(words, fold(raw)); len(words) == first {
			break
		}
	}
	for i, w := range words {
		if i < 2 && whenWords[w] {
			return true
		}
		if i+1 == len(words) {
			break
		}
		after := words[i+1]
		if whichWords[w] && (whichTimes[after] || timeWords[after].kind == dayUnit || timeWords[after].kind == longUnit) ||
			howWords[w] && howLong[after] {
			return true
		}
	}
	return slices.ContainsFunc(spacelessWhen, func(s string) bool { return strings.Contains(question, s) })
}
