package api

import (
	"fmt"
	"math"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// MaxList bounds the rows of a list.
const MaxList = 1000

// Limit bounds the number of rows of a request; 0 stands for the default.
func Limit(n int) int {
	if n <= 0 {
		return 50
	}
	return min(n, MaxList)
}

// Bounded is a part of the answers of lists without a cursor. It says whether the list is complete.
type Bounded struct {
	Incomplete string `json:"incomplete,omitempty" doc:"Why more rows may match than the answer has, and how to get them; absent when it has all."`
}

// Ended describes a list of n rows that the request's limit ended if there are more. narrow says how to get the others.
func Ended(n int, more bool, narrow string) (b Bounded) {
	switch {
	case more && n < MaxList:
		b.Incomplete = fmt.Sprintf("more may match than these %d: request a higher limit, up to %d, or %s", n, MaxList, narrow)
	case more:
		b.Incomplete = fmt.Sprintf("more may match than these %d: %s", n, narrow)
	}
	return b
}

// Cut describes a list that was made from the first rows only, because a request reads no more.
func Cut(looked int, of, narrow string) Bounded {
	return Bounded{fmt.Sprintf("made from %d %s alone: %s", looked, of, narrow)}
}

// Each converts the rows of a list. The result is never nil: answers have [] in place of null.
func Each[T, R any](list []T, of func(T) R) []R {
	rows := make([]R, len(list))
	for i, x := range list {
		rows[i] = of(x)
	}
	return rows
}

// OrEmpty returns a copy of a list that is never nil.
func OrEmpty(s []string) []string { return append([]string{}, s...) }

// When returns a time in Unix seconds; nil for none.
func When(t oplog.Time) *float64 {
	if t == 0 {
		return nil
	}
	return new(t.Seconds())
}

// OrNil returns a pointer to a text; nil for the empty text.
func OrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// OrOld returns a request's value, or the old value if the request has none.
func OrOld[T any](given *T, old T) T {
	if given == nil {
		return old
	}
	return *given
}

// MaxAge bounds an age in seconds: a century.
const MaxAge = 100 * 365 * 86400

// Hours converts a number of hours to a duration. A number outside the range of durations becomes the nearest bound.
func Hours(h float64) time.Duration {
	ns := h * float64(time.Hour)
	if math.IsNaN(ns) || ns <= 0 {
		return 0
	}
	return time.Duration(min(ns, math.MaxInt64/2))
}
