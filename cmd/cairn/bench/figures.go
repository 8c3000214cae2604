package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// milliseconds is a duration as reports have it.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// medianOf is the median of one figure of each run.
func medianOf[T any](all []T, of func(T) float64) float64 {
	var v []float64
	for _, x := range all {
		v = append(v, of(x))
	}
	return median(v)
}

// median is the middle of values, or of two the mean.
func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// quantile is the smallest of the sorted values that the share q of them does not exceed.
func quantile(sorted []float64, q float64) float64 {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// interval is the mean of values and half the width of the interval around it that holds the true mean with 95 %, taking the means of
// many samples as normally distributed.
func interval(values []float64) (mean, half float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	var squares float64
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, 1.96 * math.Sqrt(squares/max(n-1, 1)/n)
}

// rounds does each of several things once a round. Each round begins with another of them, so that none is always the first.
func rounds[T any](a *cli.Streams, n int, names []string, do func(i int) (T, error)) ([][]T, error) {
	found := make([][]T, len(names))
	for round := range n {
		for i := range names {
			turn := (round + i) % len(names)
			fmt.Fprintf(a.Err, "round %d of %d: %s\n", round+1, n, names[turn])
			x, err := do(turn)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", names[turn], err)
			}
			found[turn] = append(found[turn], x)
		}
	}
	return found, nil
}

// grid prints figures in columns, a line each below a head. Every cell ends in a tab.
func grid[T any](w io.Writer, head string, all []T, line func(T) string) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, head)
	for _, x := range all {
		fmt.Fprintln(tw, line(x))
	}
	return tw.Flush()
}
