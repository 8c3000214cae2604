package text

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkOpen prints what 100,000 stored rows cost: bytes on disk and the time to open them.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	x := openAt(b, dir)
	for part := range slices.Chunk(benchTexts(benchRows), 1000) {
		if err := x.Ready(context.Background()); err != nil {
			b.Fatal(err)
		}
		apply(b, x, part)
	}
	settle(b, x)
	for last := -1; last != len(x.snap.segments); time.Sleep(2 * time.Second) { // merges may follow one another
		last = len(x.snap.segments)
	}
	x.Close()
	size := int64(0)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			size += info.Size()
		}
	}
	for b.Loop() {
		x, err := Open(Config{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		x.Close()
	}
	b.ReportMetric(float64(size)/benchRows, "B/row")
}

func BenchmarkAnalyze(b *testing.B) {
	text := "The deployment of the payment service failed yesterday because the connection pool in internal/db/pool.go was " +
		"exhausted; Maria restarted it at 14:30 and suggested raising max_connections to 200, see ERR_CONN_RESET in the logs. " +
		"We should also review the retry policy before Friday's release."
	b.ReportAllocs()
	var a analyzer
	for b.Loop() {
		a.document(text)
	}
}
