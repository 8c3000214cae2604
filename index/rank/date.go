package rank

import (
	"time"

	"github.com/cairndb/cairn/index/text"
)

// dateAgreement returns how well a row agrees with the time that a question asks about, 0 to 1: by when it was made, or
// by the relative date in its text.
func dateAgreement(a *text.AskedTime, row *Row) float64 {
	switch {
	case !a.Named():
		return 0
	case a.Year == 0 && a.Month == 0: // a span alone
		if a.Contains(row.Created) || a.ContainsDay(row.Said, row.SaidDay) {
			return 1
		}
		return 0
	}
	share := dateShare(a, row.Created, true)
	if row.Said != 0 {
		share = max(share, dateShare(a, int64(row.Said)*86400e6, row.SaidDay))
	}
	return share
}

// dateShare returns how much of a date a time in microseconds agrees with; exact says that its day is known. A year
// weighs a quarter of a month or a day. A date without a year means the last one with such a month.
func dateShare(a *text.AskedTime, at int64, exact bool) float64 {
	if at == 0 {
		return 0
	}
	const year = .25
	t := time.UnixMicro(at).UTC()
	var hit float64
	all := year
	if a.Month != 0 {
		all++
		if t.Month() == a.Month {
			hit++
			if a.Day != 0 && exact {
				all++
				if t.Day() == a.Day {
					hit++
				}
			}
		}
	}
	if t.Year() == time.UnixMicro(a.From).UTC().Year() {
		hit += year
	}
	return hit / all
}
