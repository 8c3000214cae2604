package seal_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

// processor reports the CPU time of a benchmark. On a busy machine it is more precise than the elapsed time.
func processor(b *testing.B) func() {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkFiles writes and reads files of 64 MiB, sealed and plain, in the page cache.
func BenchmarkFiles(b *testing.B) {
	const size = 64 << 20
	r := ring(b)
	for _, name := range []string{"plain", "sealed"} {
		path := filepath.Join(b.TempDir(), name)
		b.Run("write/"+name, func(b *testing.B) {
			piece := text(64 << 10)
			b.SetBytes(size)
			defer processor(b)()
			for b.Loop() {
				f, err := os.Create(path)
				if err != nil {
					b.Fatal(err)
				}
				var out io.Writer = f
				if name == "sealed" {
					w, err := r.Writer(f)
					if err != nil {
						b.Fatal(err)
					}
					out = w
				}
				for range size / len(piece) {
					if _, err := out.Write(piece); err != nil {
						b.Fatal(err)
					}
				}
				if w, ok := out.(*seal.Writer); ok {
					if err := w.Close(); err != nil {
						b.Fatal(err)
					}
				}
				f.Close()
			}
		})
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			b.Fatal(err)
		}
		var in io.ReaderAt = f
		if name == "sealed" {
			if in, err = r.At(f, info.Size()); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("read/"+name, func(b *testing.B) {
			p := make([]byte, 64<<10)
			b.SetBytes(size)
			defer processor(b)()
			for b.Loop() {
				for at := 0; at < size; at += len(p) {
					if _, err := in.ReadAt(p, int64(at)); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		for _, n := range []int{1 << 10, 8 << 10, 32 << 10} {
			b.Run(fmt.Sprintf("random %d KiB/%s", n>>10, name), func(b *testing.B) {
				p, rng := make([]byte, n), rand.New(rand.NewPCG(1, 2))
				b.SetBytes(int64(n))
				defer processor(b)()
				for b.Loop() {
					if _, err := in.ReadAt(p, rng.Int64N(size-int64(n))); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run("open/"+name, func(b *testing.B) {
			defer processor(b)()
			for b.Loop() {
				f, err := os.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				if name == "sealed" {
					if _, err := r.At(f, info.Size()); err != nil {
						b.Fatal(err)
					}
				}
				f.Close()
			}
		})
	}
}
