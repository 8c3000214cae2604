package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func isDigits(w string) bool {
	return w != "" && strings.IndexFunc(w, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

// isDigitDate reports whether a word is a date in digits: 2024-05-01, 1/5/2024, 01.05.2024.
func isDigitDate(w string) bool {
	for _, sep := range []string{"-", "/", "."} {
		if strings.Count(w, sep) != 2 { // true of most words
			continue
		}
		p := strings.Split(w, sep)
		if isDigits(p[0]) && isDigits(p[1]) && isDigits(p[2]) && (len(p[0]) == 4 || len(p[2]) == 4 || len(p[2]) == 2) &&
			len(p[0]) <= 4 && len(p[1]) <= 2 && len(p[2]) <= 4 {
			return true
		}
	}
	return false
}

// readDate reads a date at i: in digits, or a month with a day or a year next to it.
func (f *finder) readDate(i int) (name string, next int, ok bool) {
	t := f.toks[i].text
	if isDigitDate(t) {
		return t, i + 1, true
	}
	at := func(j int) string {
		if j < len(f.toks) {
			return f.toks[j].text
		}
		return ""
	}
	month := func(w string) bool { return isCapitalised(w) && months[strings.ToLower(w)] }
	switch {
	case month(t) && dayNumber(at(i+1)) != "":
		name, next = t+" "+dayNumber(at(i+1)), i+2
	case dayNumber(t) != "" && month(at(i+1)):
		name, next = at(i+1)+" "+dayNumber(t), i+2
	case month(t) && year(at(i+1)):
		return t + " " + at(i+1), i + 2, true
	default:
		return "", 0, false
	}
	if year(at(next)) {
		return name + " " + at(next), next + 1, true
	}
	return name, next, true
}

func year(w string) bool { return len(w) == 4 && isDigits(w) && (w[0] == '1' || w[0] == '2') }

// dayNumber returns a day of the month without its ordinal ending; empty if the word is not one.
func dayNumber(w string) string {
	if w == "" || w[0] < utf8.RuneSelf && !unicode.IsDigit(rune(w[0])) { // most words
		return ""
	}
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		w = strings.TrimSuffix(w, suffix)
	}
	if isDigits(w) && len(w) <= 2 && w != "0" && w != "00" {
		return strings.TrimLeft(w, "0")
	}
	return ""
}
