package api

import (
	"fmt"
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

// Bounded is in the answers of lists that have their own order, in which no cursor continues.
type Bounded struct {
	Incomplete string `json:"incomplete,omitempty" doc:"Why more rows may match than the answer has, and how to get them; absent when it has all."`
}

// Ended describes a list of n rows that has no more, because the request limits it. narrow reaches further ones.
func Ended(n int, more bool, narrow string) (b Bounded) {
	switch {
	case more && n < MaxList:
		b.Incomplete = fmt.Sprintf("more may match than these %d: request a higher limit, up to %d, or %s", n, MaxList, narrow)
	case more:
		b.Incomplete = fmt.Sprintf("more may match than these %d: %s", n, narrow)
	}
	return b
}

// Cut describes a list that was made from the first rows alone, as many as a request looks at.
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
