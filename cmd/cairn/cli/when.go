package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/wire/field"
)

var ago = regexp.MustCompile(`^(\+?)(\d{1,6})([smhdw])( ago)?$`)

var units = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}

// ParseTime reads a time as all flags take it: as requests have it (RFC 3339, a date, Unix seconds), or as the time that has passed since, 2h or
// 3d; with a plus the time until then.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if m := ago.FindStringSubmatch(strings.TrimSpace(text)); m != nil && (m[1] == "" || m[4] == "") {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return time.Time{}, err
		}
		d := time.Duration(n) * units[m[3]]
		if m[1] == "" {
			d = -d
		}
		return now.Add(d), nil
	}
	at, err := field.ParseDate(text)
	if err != nil {
		return at, fmt.Errorf("%w, or 2h for two hours ago and +3d for in three days", err)
	}
	return at, nil
}
