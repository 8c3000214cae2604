package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

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
	if len(s)%2 == 0 {
		return (s[len(s)/2-1] + s[len(s)/2]) / 2
	}
	return s[len(s)/2]
}

// quantile is the smallest of the sorted values that the share q of them does not exceed.
func quantile(sorted []float64, q float64) float64 {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
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

// report is what a bench found.
type report interface{ print(*cli.Streams) error }

// judged prints a report that passed or failed, which is the exit code of the bench.
func judged(a *cli.Streams, asJSON bool, r report, pass bool) error {
	if err := show(a, asJSON, r); err != nil || pass {
		return err
	}
	return cli.ExitCode(cli.ExitFailed)
}

// show prints a report, for people or for machines.
func show(a *cli.Streams, asJSON bool, r report) error {
	if asJSON {
		return a.JSON(r)
	}
	return r.print(a)
}
