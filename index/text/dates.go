package text

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// months maps the folded names of months, in the languages that are read, to their numbers.
var months = func() map[string]int {
	m := make(map[string]int)
	for _, year := range []string{
		"january february march april may june july august september october november december",
		"jan feb mar apr may jun jul aug sep oct nov dec",
		"januar februar marz april mai juni juli august september oktober november dezember",
		"januari februari maart april mei juni juli augustus september oktober november december",
		"januari februari mars april maj juni juli augusti september oktober november december",
		"tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesakuuta heinakuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta",
		"ocak subat mart nisan mayis haziran temmuz agustos eylul ekim kasim aralik",
		"janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		"janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
		"января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
		"يناير فبراير مارس ابريل مايو يونيو يوليو اغسطس سبتمبر اكتوبر نوفمبر ديسمبر",
	} {
		for i, name := range strings.Fields(year) {
			m[fold(name)] = i + 1
		}
	}
	return m
}()

var monthPrefilter = newPrefilter(maps.Keys(months))

// longestMonth is the length of the longest name in bytes.
var longestMonth = func() (n int) {
	for name := range months {
		n = max(n, len(name))
	}
	return n
}()

// dates adds to each date of the text one form that all ways of writing it share: 2024-03-05, --03-05 for its day of
// any year, and in texts 2024-03 for the month. A date whose day and month may be the other way round is read both
// ways.
func (a *analyzer) dates() {
	digits := func(t Token) bool { return isDigit(t.Term[0]) }
	if !slices.ContainsFunc(a.tokens, digits) {
		return
	}
	plain := a.rewrite()
	for i, t := range plain {
		a.tokens = append(a.tokens, t)
		switch n := len(t.Term); {
		case t.Term == "月" || t.Term == "월":
			if d, ok := signedDate(a.text[:t.Start], a.text[t.End:]); ok {
				a.addDate(d, t)
			}
		case t.Extra && n >= 8 && n <= 10 && isDigit(t.Term[0]):
			for _, d := range numericDates(t.Term) {
				a.addDate(d, t)
			}
		case t.Extra:
			if date := dateIn(t.Term); date != "" {
				a.addDate(numericDates(date)[0], t)
			}
		case !t.Extra && t.End-t.Start <= longestMonth:
			if d, ok := a.namedDate(plain, i); ok {
				a.addDate(d, t)
			}
		}
	}
}

// A date holds the parts of a date that a text names; zero is not named.
type date struct{ year, month, day int }

// addDate adds a date's forms at the place of a token.
func (a *analyzer) addDate(d date, t Token) {
	add := func(form string) {
		if form != t.Term {
			a.push(form, t.Start, t.End, true)
		}
	}
	if d.year > 0 && d.day > 0 {
		add(fmt.Sprintf("%d-%02d-%02d", d.year, d.month, d.day))
	}
	if d.day > 0 {
		add(fmt.Sprintf("--%02d-%02d", d.month, d.day))
	}
	if d.year > 0 && (d.day == 0 || !a.query) {
		add(fmt.Sprintf("%d-%02d", d.year, d.month))
	}
}

// dateIn finds the first date like 2024-03-05 in a name that has more: 2024-03-05T10:00:00Z, log/2024-03-05.txt.
func dateIn(name string) string {
	const length = len("2024-03-05")
	for i := 0; i+length <= len(name); i++ {
		if date := name[i : i+length]; date[4] != '-' || date[7] != '-' || digitBefore(name[:i]) || digitAfter(name[i+length:]) {
			continue
		} else if len(numericDates(date)) > 0 {
			return date
		}
	}
	return ""
}

// digitBefore reports whether a text ends in a digit, or a digit and a dash; digitAfter whether it begins so.
func digitBefore(s string) bool {
	s = strings.TrimSuffix(s, "-")
	return s != "" && isDigit(s[len(s)-1])
}

func digitAfter(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && isDigit(s[0])
}

// numericDates reads 2024-03-05, 05.03.2024 and 3/5/2024.
func numericDates(s string) (out []date) {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '-' || r == '.' || r == '/' || isHyphen(r) })
	if len(parts) != 3 {
		return nil
	}
	var n [3]int
	for i, p := range parts {
		if n[i] = number(fold(p)); n[i] == 0 {
			return nil
		}
	}
	add := func(year, month, day int) {
		if d := (date{year, month, day}); isYear(year) && month <= 12 && day <= 31 && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	add(n[0], n[1], n[2])
	add(n[2], n[1], n[0])
	if strings.Contains(s, "/") {
		add(n[2], n[0], n[1])
	}
	return out
}

// namedDate reads a month's name with the day or the year next to it: March 5th, 2024; 5. März 2024; 5 de marzo de
// 2024.
func (a *analyzer) namedDate(tokens []Token, at int) (d date, ok bool) {
	raw := a.text[tokens[at].Start:tokens[at].End]
	if !monthPrefilter.mayContain(raw) {
		return date{}, false
	}
	name := fold(raw)
	if d.month = months[name]; d.month == 0 || marked[name] && ascii(raw) {
		return date{}, false
	}
	for _, by := range [...]int{-1, 1, 2} {
		i := beside(tokens, at, by)
		if i < 0 || by == 2 && d.year > 0 {
			continue
		}
		switch n := number(fold(a.text[tokens[i].Start:tokens[i].End])); {
		case isYear(n) && d.year == 0:
			d.year = n
		case n >= 1 && n <= 31 && d.day == 0 && by < 2:
			d.day = n
		}
	}
	return d, d.day > 0 || d.year > 0
}

// signedDate reads the numbers before and after the sign of a month: 2024年3月5日, 2024년 3월 5일.
func signedDate(before, behind string) (d date, ok bool) {
	if d.month, before = numberAtEnd(before); d.month == 0 || d.month > 12 {
		return date{}, false
	}
	if years, there := cutSuffix(before, "年", "년"); there {
		if n, _ := numberAtEnd(years); isYear(n) {
			d.year = n
		}
	}
	rest := strings.TrimLeftFunc(strings.TrimPrefix(behind, " "), unicode.IsDigit)
	sign, _ := utf8.DecodeRuneInString(rest) // the next character alone: a text may have many months
	if n, _ := numberAtEnd(behind[:len(behind)-len(rest)]); n <= 31 && strings.ContainsRune("日号號일", sign) {
		d.day = n
	}
	return d, d.day > 0 || d.year > 0
}

// numberAtEnd returns the number at the end of a text, as number reads it, and the text before it.
func numberAtEnd(s string) (n int, before string) {
	s = strings.TrimSuffix(s, " ")
	before = strings.TrimRightFunc(s, unicode.IsDigit)
	return number(fold(s[len(before):])), before
}

// cutSuffix returns a text without the first of the given endings that it has.
func cutSuffix(s string, endings ...string) (before string, found bool) {
	s = strings.TrimSuffix(s, " ")
	for _, end := range endings {
		if before, found = strings.CutSuffix(s, end); found {
			return before, true
		}
	}
	return s, false
}

// dateGap limits the bytes between the parts of a date.
const dateGap = 16

// beside returns the index of the counted token that many places away, skipping "de" and "del"; -1 if none is near.
func beside(tokens []Token, at, by int) int {
	step := 1
	if by < 0 {
		step, by = -1, -by
	}
	for i := at + step; i >= 0 && i < len(tokens); i += step {
		t := tokens[i]
		if max(t.Start-tokens[at].End, tokens[at].Start-t.End) > dateGap {
			return -1
		}
		if t.Extra || t.Term == "de" || t.Term == "del" {
			continue
		}
		if by--; by == 0 {
			return i
		}
	}
	return -1
}

// number reads a number of at most four digits, also 1st, 2nd, 3rd and 4th; 0 if s is not a number.
func number(s string) int {
	if len(s) > 2 && !isDigit(s[len(s)-1]) {
		for _, ending := range [...]string{"st", "nd", "rd", "th"} {
			s = strings.TrimSuffix(s, ending)
		}
	}
	if len(s) > 4 {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func isYear(n int) bool { return n >= 1000 && n <= 9999 }
