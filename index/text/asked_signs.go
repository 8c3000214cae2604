package text

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

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
func (q *questionParser) spaceless(a *AskedTime) bool {
	for at, r := range q.text {
		if r != '月' && r != '월' {
			continue
		}
		behind := q.text[at+len(string(r)):]
		if d, _ := signedDate(q.text[:at], behind); d.month > 0 {
			a.Year, a.Month, a.Day = d.year, time.Month(d.month), d.day
			m := q.spanOf(a)
			a.From, a.To, a.Why = m.from.UnixMicro(), m.to.UnixMicro(), "from "+signed(q.text, at, d)
		}
	}
	if a.Named() || q.now.UnixMicro() == 0 {
		return a.Named()
	}
	relative := func(word string, from time.Time, unit int16) {
		before, behind, _ := strings.Cut(q.text, word)
		*a = AskedTime{From: from.UnixMicro(), To: addUnits(from, unit, 1).UnixMicro(), Relative: unit != 'y', Why: "from " + word,
			Rest: strings.TrimSpace(before + behind)}
		if unit == 'y' { // see dateSpan.years
			a.Year = from.Year()
		}
	}
	if q.spacelessSpan(a) {
		return true
	}
	for _, s := range spacelessUnits {
		for word := range strings.SplitSeq(s.words, ",") {
			if strings.Contains(q.text, word) {
				relative(word, startOf(addUnits(q.today, s.unit, s.way), s.unit), s.unit)
				return true
			}
		}
	}
	if s, ok := spacelessDate(q.text); ok {
		unit := int16('d')
		if !s.exact {
			unit = 'w'
		}
		relative(s.word, startOf(q.today.AddDate(0, 0, s.days), unit), unit)
		return true
	}
	return false
}

// signed returns the piece of a text that is a date, around the sign of its month.
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

// spacelessSpans are so many days, weeks, months, years, hours or minutes ago, or the last so many: 三天前, 最近3天, 2주 전.
var spacelessSpans = regexp.MustCompile(`(最近|近|过去|過去|ここ|지난|최근)?\s*(\d{1,3}|[一二两兩三四五六七八九十])\s*` +
	`(?:(天|日|일)|(週間|周|週|个?星期|個星期|주)|([个個かヶカヵケ]月|개월|달)|(年|년)|(个?小时|個?小時|時間|시간)|(分钟|分鐘|分|분))(?:\s*(以前|之前|前|전))?`)

// The parts of a match of spacelessSpans.
const (
	spanLast  = 1
	spanMany  = 2
	spanUnits = 3 // the first of the units, in the order of spanLetters
	spanAgo   = 9
)

const spanLetters = "dwmyhn"

// spacelessSpan reads the first such span.
func (q *questionParser) spacelessSpan(a *AskedTime) bool {
	for _, at := range spacelessSpans.FindAllStringSubmatchIndex(q.text, -1) {
		last, ago := at[2*spanLast] >= 0, at[2*spanAgo] >= 0
		if last == ago { // three days without a word that places them, or with two
			continue
		}
		many := q.text[at[2*spanMany]:at[2*spanMany+1]]
		n, err := strconv.Atoi(many)
		if err != nil {
			n = numeralsOfSigns[many]
		}
		var unit int16
		for i, letter := range spanLetters {
			if at[2*(spanUnits+i)] >= 0 {
				unit = int16(letter)
			}
		}
		span := q.past
		if ago {
			span = q.ago
		}
		from, to := span(n, unit)
		*a = AskedTime{From: from.UnixMicro(), To: to.UnixMicro(), Relative: true, Why: "from " + strings.TrimSpace(q.text[at[0]:at[1]]),
			Rest: strings.TrimSpace(q.text[:at[0]] + q.text[at[1]:])}
		if ago && unit == 'y' { // see dateSpan.years
			a.Relative, a.Year = false, from.Year()
		}
		return true
	}
	return false
}

var numeralsOfSigns = map[string]int{"一": 1, "二": 2, "两": 2, "兩": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}
