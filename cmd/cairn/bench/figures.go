package bench

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"text/tabwriter"
	"time"
)

// Milliseconds is a duration as reports have it.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// quantile is the smallest of the sorted values that the share q of them does not exceed.
func quantile(sorted []float64, q float64) float64 {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// Interval is the mean of values and half the width of the interval around it that holds the true mean with 95 %,
// taking the means of many samples as normally distributed.
func Interval(values []float64) (mean, half float64) {
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

// Grid prints figures in columns, a line each below a head. Every cell ends in a tab.
func Grid[T any](w io.Writer, head string, all []T, line func(T) string) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, head)
	for _, x := range all {
		fmt.Fprintln(tw, line(x))
	}
	return tw.Flush()
}

// HeapHeld returns the bytes that this process holds in memory, without garbage.
func HeapHeld() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// SizeBelow is the size of all files below a directory, in bytes.
func SizeBelow(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error { // a file that is removed meanwhile does not count
		if err == nil && e.IsDir() && e.Name() == "checkpoints" {
			return fs.SkipDir // links to tables of the state
		}
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
