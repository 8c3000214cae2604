package field

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// WantDate describes the valid dates, for error messages.
const WantDate = "a date: RFC 3339 (2026-01-31 or 2026-01-31T12:00:00Z) or Unix seconds"

var errDate = errors.New("want " + WantDate)

// The years 0 to 9999 in Unix seconds, the range of RFC 3339. Larger numbers are probably milliseconds.
const (
	firstSecond = -62_167_219_200
	lastSecond  = 253_402_300_800 // end of the year 9999: no float64 is between its last microseconds and this
)

// ParseDate parses a date of a command line or a URL: RFC 3339, a day, or Unix seconds.
func ParseDate(s string) (time.Time, error) {
	if v, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
		return Unix(v)
	}
	return parseCalendar(s)
}

// ParseWhen parses a date, or a duration before now (90m, 1h30m, 3d, 2w, 2h ago) or, with a plus sign, after now.
func ParseWhen(s string, now time.Time) (time.Time, error) {
	at, err := ParseDate(s)
	if err == nil {
		return at, nil
	}
	span, ahead := strings.CutPrefix(strings.TrimSpace(s), "+")
	span, past := strings.CutSuffix(span, " ago")
	d, ok := ParseSpan(span)
	switch {
	case !ok || ahead && past:
		return time.Time{}, errors.New(err.Error() + ", or 2h for two hours ago and +3d for in three days")
	case ahead:
		return now.Add(d), nil
	}
	return now.Add(-d), nil
}

// ParseSpan parses a nonnegative duration: days (3d), weeks (2w), or Go's format (1h30m).
func ParseSpan(s string) (d time.Duration, ok bool) {
	const most = 100_000 // days: about the maximum of a time.Duration
	for unit, days := range map[string]uint64{"d": 1, "w": 7} {
		if digits, has := strings.CutSuffix(s, unit); has {
			n, err := strconv.ParseUint(digits, 10, 32)
			return time.Duration(n*days) * 24 * time.Hour, err == nil && n*days <= most
		}
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "+")
}

// parseCalendar parses a date that is not a number.
func parseCalendar(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		t, err := time.Parse(layout, strings.TrimSpace(s))
		if err == nil && t.Unix() >= firstSecond && t.Unix() < lastSecond { // the time zone may move it out of range
			return fromEpoch(t), nil
		}
	}
	return time.Time{}, errDate
}

// Unix returns the time at Unix seconds; an error if it is out of range.
func Unix(seconds float64) (time.Time, error) {
	if !(seconds >= firstSecond && seconds <= lastSecond) { // written so that NaN is rejected
		return time.Time{}, errDate
	}
	return timeAt(seconds), nil
}

func timeAt(seconds float64) time.Time {
	return fromEpoch(time.UnixMicro(min(int64(math.Round(seconds*1e6)), lastSecond*1e6-1)))
}

// UnixOrNone returns the time at Unix seconds in a message of the binary protocol, where 0 and numbers out of range
// mean no time.
func UnixOrNone(seconds float64) (t time.Time) {
	if seconds != 0 && math.Abs(seconds) <= lastSecond {
		t = timeAt(seconds)
	}
	return t
}

// fromEpoch replaces the epoch with the next microsecond, because a stored time of 0 microseconds means no time.
func fromEpoch(t time.Time) time.Time {
	if t.UnixMicro() == 0 {
		return time.UnixMicro(1)
	}
	return t
}

// Seconds returns a time in Unix seconds.
func Seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
