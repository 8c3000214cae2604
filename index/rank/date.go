package rank

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A date holds the parts of a date that a question names; zero fields are not named.
type date struct {
	year, day int
	month     time.Month
}

// dateIn reads the month, the day beside it and the year a question names. "may" and "march" are
// months only with a capital, and "may" not as the first word; the last of several dates counts.
func dateIn(question string) (d date) {
	ws := strings.FieldsFunc(question, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range ws {
		if n, err := strconv.Atoi(w); err == nil && n >= 1900 && n < 2100 {
			d.year = n
		}
		m := monthOf(w)
		if m == 0 || m == time.May && i == 0 {
			continue
		}
		d.month, d.day = m, 0
		for _, j := range []int{i - 1, i + 1} {
			if j < 0 || j >= len(ws) {
				continue
			}
			if n, err := strconv.Atoi(strings.TrimRight(ws[j], "stndrh")); err == nil && n >= 1 && n <= 31 {
				d.day = n
			}
		}
	}
	return d
}

func monthOf(word string) time.Month {
	for m := time.January; m <= time.December; m++ {
		name := m.String()
		switch {
		case word == name, m != time.May && m != time.March && (strings.EqualFold(word, name) || strings.EqualFold(word, name[:3])):
			return m
		}
	}
	return 0
}

// of returns how much of the date a row agrees with: by when it was made, or by the relative date it holds.
func (d date) of(row *Row) float64 {
	share := d.share(row.Created)
	if d == (date{}) || row.Said == 0 {
		return share
	}
	if !row.SaidDay {
		d.day = 0
	}
	return max(share, d.share(int64(row.Said)*86400e6))
}

// share returns how much of the date a time in microseconds agrees with, 0 to 1. A year alone counts for a quarter of
// a month or a day.
func (d date) share(created int64) float64 {
	if d == (date{}) || created == 0 {
		return 0
	}
	t := time.UnixMicro(created).UTC()
	var hit, all float64
	if d.month != 0 {
		all++
		if t.Month() == d.month {
			hit++
			if d.day != 0 {
				all++
				if t.Day() == d.day {
					hit++
				}
			}
		}
	}
	if d.year != 0 {
		all += .25
		if t.Year() == d.year {
			hit += .25
		}
	}
	return hit / all
}
