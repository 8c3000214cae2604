package state

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// memoriesFrom returns a record of n new memories with texts of 200 bytes.
func memoriesFrom(rng *rand.Rand, at oplog.Index, n int) oplog.Record {
	var ops []oplog.Op
	for range n {
		text := ""
		for range 12 {
			text += fmt.Sprintf("%016x ", rng.Uint64())
		}
		ops = append(ops, &oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: text, Namespace: "n", Created: 1}})
	}
	return record(at, []oplog.Entry{{DB: 1, Ops: ops}})
}

// BenchmarkSnapshot makes a snapshot of a state with many memories while records are applied, 300 a second: once as
// links, and once as a stream of rows to a file. It reports the p99 of those writes, the p99 of as many writes
// without a snapshot, and the bytes written by the snapshot.
func BenchmarkSnapshot(b *testing.B) {
	for _, size := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			s, err := Open(filepath.Join(b.TempDir(), "state"), Options{})
			must(b, err)
			defer s.Close()
			must1 := func(_ []oplog.Outcome, err error) { must(b, err) }
			must1(s.Apply([]oplog.Record{record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}})}))
			at := oplog.Index(1)
			for n := 0; n < size; n += 1000 {
				at++
				must1(s.Apply([]oplog.Record{memoriesFrom(rng, at, 1000)}))
			}
			must(b, s.Flush())
			write := func() time.Duration {
				at++
				r := memoriesFrom(rng, at, 1)
				begun := time.Now()
				must1(s.Apply([]oplog.Record{r}))
				return time.Since(begun)
			}
			b.Run("links", func(b *testing.B) {
				names := 0
				underWrites(b, write, func() int64 {
					names++
					name := fmt.Sprint(names)
					mustCheckpoint(b, s, name)
					written := int64(0)
					files, err := filepath.Glob(filepath.Join(s.dir, CheckpointDir, name, "*"))
					must(b, err)
					for _, path := range files {
						info, err := os.Stat(path)
						must(b, err)
						if info.Sys().(*syscall.Stat_t).Nlink == 1 {
							written += info.Size()
						}
					}
					must(b, s.RetainCheckpoints([]string{name}))
					return written
				})
			})
			b.Run("rows", func(b *testing.B) {
				underWrites(b, write, func() int64 {
					f, err := os.Create(filepath.Join(b.TempDir(), "rows"))
					must(b, err)
					defer f.Close()
					must(b, s.Read(func(v *View) error { return v.WriteSnapshot(&syncwriter.Writer{W: f, File: f}) }))
					must(b, f.Sync())
					written, err := f.Seek(0, io.SeekEnd)
					must(b, err)
					return written
				})
			})
		})
	}
}

// betweenSnapshots is a third of the time until a snapshot is due at 300 writes a second.
const betweenSnapshots = 10 * time.Second

// underWrites calls take repeatedly, between writes at a steady rate.
func underWrites(b *testing.B, write func() time.Duration, take func() (written int64)) {
	const every = time.Second / 300
	var during, alone []time.Duration
	stop := make(chan struct{})
	var taking sync.WaitGroup
	var took time.Duration
	var written int64
	taking.Go(func() {
		defer close(stop)
		for b.Loop() {
			begun := time.Now()
			written += take()
			took += time.Since(begun)
			time.Sleep(betweenSnapshots)
		}
	})
	sample := func(to *[]time.Duration, more func() bool) {
		for next := time.Now(); more(); next = next.Add(every) {
			time.Sleep(time.Until(next))
			*to = append(*to, write())
		}
	}
	sample(&during, func() bool {
		select {
		case <-stop:
			return false
		default:
			return true
		}
	})
	taking.Wait()
	sample(&alone, func() bool { return len(alone) < max(len(during), 1000) })
	p99 := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)*99/100].Microseconds())
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms/snapshot")
	b.ReportMetric(float64(written)/float64(b.N), "bytes/snapshot")
	b.ReportMetric(p99(during), "p99-µs")
	b.ReportMetric(p99(alone), "p99-alone-µs")
	b.ReportMetric(0, "ns/op")
}
