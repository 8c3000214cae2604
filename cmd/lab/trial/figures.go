// Package trial has the parts that the lab's experiments share, those in the module etcd too: nodes that are
// processes of cairn, and rounds whose figures are medians. What they start ends with the experiment's bench.Rig.
package trial

import (
	"fmt"
	"slices"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// Figures holds the medians of several write runs.
type Figures struct {
	Rate float64 `json:"writes_per_second"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
}

// FiguresOf returns the medians of runs.
func FiguresOf(runs []bench.WriteRun) Figures {
	return Figures{MedianOf(runs, func(r bench.WriteRun) float64 { return r.Rate }),
		MedianOf(runs, func(r bench.WriteRun) float64 { return r.P50 }),
		MedianOf(runs, func(r bench.WriteRun) float64 { return r.P99 })}
}

// MedianOf returns the median of one figure over all runs.
func MedianOf[T any](all []T, of func(T) float64) float64 {
	return Median(api.Each(all, of))
}

// Median returns the median of values; the mean of the middle two if their number is even.
func Median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Rounds runs each of several measurements once per round. Each round begins with another measurement, so that none
// always runs first.
func Rounds[T any](a *cli.Streams, n int, names []string, do func(i int) (T, error)) ([][]T, error) {
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
