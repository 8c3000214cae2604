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

// InMilliseconds returns a duration in milliseconds, the unit of reports.
func InMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// quantile returns the q-quantile of sorted values: the smallest value that at least the share q of them do not
// exceed.
func quantile(sorted []float64, q float64) float64 {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// Interval returns the mean of values and half the width of its 95 % confidence interval. It assumes that sample
// means are normally distributed.
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

// Grid prints a table with right-aligned columns. Every cell of the head and of a line ends in a tab.
func Grid[T any](w io.Writer, head string, all []T, line func(T) string) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, head)
	for _, x := range all {
		fmt.Fprintln(tw, line(x))
	}
	return tw.Flush()
}

// HeapInUse returns the size of this process's heap after a garbage collection.
func HeapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// DirSize returns the total size of the files below a directory, in bytes.
func DirSize(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error { // skip files that are removed meanwhile
		if err == nil && e.IsDir() && e.Name() == "checkpoints" {
			return fs.SkipDir // hard links to tables of the state, which count there
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
