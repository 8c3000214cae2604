package api

import (
	"math"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// MaxList bounds the rows of a list.
const MaxList = 1000

// Limit bounds the number of rows that a request asks for; 0 asks for the default.
func Limit(n int) int {
	if n <= 0 {
		return 50
	}
	return min(n, MaxList)
}

// Each converts the rows of a list. The result is never nil: answers have [] in place of null.
func Each[T, R any](list []T, of func(T) R) []R {
	rows := make([]R, len(list))
	for i, x := range list {
		rows[i] = of(x)
	}
	return rows
}

// OrEmpty is a list of its own that is never nil.
func OrEmpty(s []string) []string { return append([]string{}, s...) }

// When is a time as clients read it, null for none.
func When(t oplog.Time) *float64 {
	if t == 0 {
		return nil
	}
	return new(t.Seconds())
}

// OrNil is a text as answers have it that have null for none.
func OrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// OrOld is a value that a request may leave as it was.
func OrOld[T any](given *T, old T) T {
	if given == nil {
		return old
	}
	return *given
}

// MaxAge bounds an age in seconds: a century.
const MaxAge = 100 * 365 * 86400

// Hours turns a number of hours into a duration; one out of a duration's range becomes its bound.
func Hours(h float64) time.Duration {
	ns := h * float64(time.Hour)
	if math.IsNaN(ns) || ns <= 0 {
		return 0
	}
	return time.Duration(min(ns, math.MaxInt64/2))
}
