package field

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// WantDate says what a date may be.
const WantDate = "a date: RFC 3339 (2026-01-31 or 2026-01-31T12:00:00Z) or Unix seconds"

var errDate = errors.New("want " + WantDate)

// The years 0 to 9999 in Unix seconds: all that RFC 3339 can write. A larger number is milliseconds, or no time at all.
const (
	firstSecond = -62_167_219_200
	lastSecond  = 253_402_300_800 // the end of the last one: no float is between its last microseconds and this
)

// ParseDate reads a date as people, command lines and URLs write it.
func ParseDate(s string) (time.Time, error) {
	if v, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
		return Unix(v)
	}
	return parseCalendar(s)
}

// ParseWhen reads a time as people write it next to now: a date, or the time that has passed since (90m, 1h30m, 3d, 2w,
// 2h ago); with a plus the time until then.
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

// ParseSpan reads a duration that is not negative: days (3d), weeks (2w), or what Go understands (1h30m).
func ParseSpan(s string) (d time.Duration, ok bool) {
	const most = 100_000 // days: a duration holds no more
	for unit, days := range map[string]uint64{"d": 1, "w": 7} {
		if digits, has := strings.CutSuffix(s, unit); has {
			n, err := strconv.ParseUint(digits, 10, 32)
			return time.Duration(n*days) * 24 * time.Hour, err == nil && n*days <= most
		}
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "+")
}

// parseCalendar reads a date that is not a number.
func parseCalendar(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		t, err := time.Parse(layout, strings.TrimSpace(s))
		if err == nil && t.Unix() >= firstSecond && t.Unix() < lastSecond { // its zone may lead out
			return fromEpoch(t), nil
		}
	}
	return time.Time{}, errDate
}

// Unix is the time at so many seconds.
func Unix(seconds float64) (time.Time, error) {
	if !(seconds >= firstSecond && seconds <= lastSecond) { // NaN is in no range
		return time.Time{}, errDate
	}
	return timeAt(seconds), nil
}

func timeAt(seconds float64) time.Time {
	return fromEpoch(time.UnixMicro(min(int64(math.Round(seconds*1e6)), lastSecond*1e6-1)))
}

// UnixOrNone is the time at so many seconds in a message of the binary protocol, where 0 and numbers that are not a
// time mean none.
func UnixOrNone(seconds float64) (t time.Time) {
	if seconds != 0 && math.Abs(seconds) <= lastSecond {
		t = timeAt(seconds)
	}
	return t
}

// fromEpoch moves the epoch itself by a microsecond: where times are stored as microseconds, 0 means no time.
func fromEpoch(t time.Time) time.Time {
	if t.UnixMicro() == 0 {
		return time.UnixMicro(1)
	}
	return t
}

// Seconds is a date as a number.
func Seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
