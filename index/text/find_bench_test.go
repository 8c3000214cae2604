package text

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// zipfWords returns n words with the distribution of a language, without the most common least words.
func zipfWords(z *rand.Zipf, n int, least uint64) string {
	var b strings.Builder
	for range n {
		w := z.Uint64()
		for w < least {
			w = z.Uint64()
		}
		fmt.Fprintf(&b, "w%dx ", w)
	}
	return b.String()
}

// BenchmarkFind prints what Find costs over CAIRN_BENCH_ROWS rows (20,000) of 45 words, and a sum over all answers,
// which must not change. With CAIRN_BENCH_DIR the index stays there for the next run.
func BenchmarkFind(b *testing.B) {
	n := 20_000
	if s := os.Getenv("CAIRN_BENCH_ROWS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	dir := b.TempDir()
	if d := os.Getenv("CAIRN_BENCH_DIR"); d != "" {
		dir = filepath.Join(d, fmt.Sprint("rows", n))
	}
	x, err := Open(Config{Dir: dir, Cache: NewCache(128 << 20)})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	if x.Totals().Rows == 0 {
		r := rand.New(rand.NewPCG(1, 2))
		z := rand.NewZipf(r, 1.1, 8, 50_000)
		for i := 0; i < n; i += 1000 {
			var rows []Row
			for k := i; k < min(i+1000, n); k++ {
				rows = append(rows, Row{Row: uint32(k), Group: uint32(k%10) + 1, Text: zipfWords(z, 45, 0)})
			}
			if err := x.Ready(context.Background()); err != nil {
				b.Fatal(err)
			}
			apply(b, x, rows)
		}
		settle(b, x)
	}
	for _, kind := range []struct {
		name   string
		groups []uint32
	}{{"words", nil}, {"namespace", []uint32{4}}} {
		b.Run(kind.name, func(b *testing.B) { benchFind(b, x, kind.groups) })
	}
}

func benchFind(b *testing.B, x *Index, groups []uint32) {
	r := rand.New(rand.NewPCG(3, 4))
	z := rand.NewZipf(r, 1.1, 8, 50_000)
	asked := make([][]string, 2000)
	for i := range asked {
		asked[i] = AnalyzeQuery(zipfWords(z, 6, 50))
	}
	var f Found
	sum := fnv.New64a()
	best := make([]time.Duration, len(asked))
	var before, after runtime.MemStats
	for round := range 5 {
		runtime.ReadMemStats(&before)
		for i, terms := range asked {
			start := time.Now()
			q := Query{Terms: terms, Groups: groups, K: 1000, Keep: func(row uint32) bool { return true },
				Order: func(row uint32) int64 { return ^int64(row) }}
			if err := x.Find(q, &f); err != nil {
				b.Fatal(err)
			}
			if d := time.Since(start); round == 0 || d < best[i] {
				best[i] = d
			}
			if round == 0 {
				fmt.Fprint(sum, f.Terms, f.Totals, f.Rows)
				_ = binary.Write(sum, binary.LittleEndian, f.TF)
			}
		}
		runtime.ReadMemStats(&after)
	}
	slices.Sort(best)
	b.Logf("%d segments, p50 %v, p90 %v, p99 %v, %d bytes of garbage, sum %x", len(x.snap.segments), best[len(best)/2],
		best[len(best)*9/10], best[len(best)*99/100],
		(after.TotalAlloc-before.TotalAlloc)/uint64(len(asked)), sum.Sum64())
}
