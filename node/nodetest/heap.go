// Package nodetest holds what tests of node and of the packages below it share: texts to remember, and a bound on the
// heap. No shipping code imports it.
package nodetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/pause"
)

// TextMemories returns how many memories of 4 kB the tests of memory store; CAIRN_TEXTS sets another number, such as
// 36000 for 144 MB.
func TextMemories(t *testing.T) int {
	given := os.Getenv("CAIRN_TEXTS")
	if given == "" {
		return 7500
	}
	n, err := strconv.Atoi(given)
	if err != nil {
		t.Fatalf("CAIRN_TEXTS: want a number of memories: %v", err)
	}
	return n
}

// A Prose makes texts of common and rare words, with a few things that only one text names.
type Prose struct {
	rng   *rand.Rand
	zipf  *rand.Zipf
	words []string
}

// NewProse makes the same texts in the same order each time.
func NewProse() *Prose {
	rng := rand.New(rand.NewPCG(1, 2))
	words := vocabulary(rng, 50_000)
	return &Prose{rng, rand.NewZipf(rng, 1.1, 8, uint64(len(words)-1)), words}
}

// Text is a new text of at least n bytes.
func (p *Prose) Text(n int) string {
	b := make([]byte, 0, n+64)
	for len(b) < n {
		if b = append(append(b, p.words[p.zipf.Uint64()]...), ' '); p.rng.IntN(100) == 0 {
			b = fmt.Appendf(b, "%08x ", p.rng.Uint32())
		}
	}
	return string(b)
}

// vocabulary makes words of two to five syllables.
func vocabulary(rng *rand.Rand, n int) []string {
	const consonants, vowels = "bcdfghklmnprstvw", "aeiou"
	out := make([]string, n)
	for i := range out {
		var w []byte
		for range 2 + rng.IntN(4) {
			w = append(w, consonants[rng.IntN(len(consonants))], vowels[rng.IntN(len(vowels))])
		}
		out[i] = string(w)
	}
	return out
}

// IndexingGrows bounds what the heap may grow by while texts are applied and indexed, however many they are: 180 MB for
// the entries and the index, and 20 for the buffers of the state, which lie in the heap.
const IndexingGrows = 200 << 20

// GrowsBy fails a test when the heap grows by more than a number of bytes while something runs.
func GrowsBy(t *testing.T, most int64, run func()) {
	t.Helper()
	before := liveHeap()
	ctx, cancel := context.WithCancel(t.Context())
	var sampler sync.WaitGroup
	var peak atomic.Uint64
	sampler.Go(func() {
		for ctx.Err() == nil {
			peak.Store(max(peak.Load(), liveHeap()))
			_ = pause.For(ctx, 200*time.Millisecond) // a sample of what happens meanwhile
		}
	})
	start := time.Now()
	run()
	took := time.Since(start)
	cancel()
	sampler.Wait()
	grown := int64(peak.Load()) - int64(before)
	t.Logf("the heap grew by %d MB in %s", grown>>20, took.Round(time.Millisecond))
	if grown > most {
		t.Errorf("the heap grew by %d MB, more than %d", grown>>20, most>>20)
	}
}

// liveHeap returns the bytes that the heap profile reports in use. Unlike MemStats it does not count what was allocated
// while the collector ran: on a busy machine that is a second's garbage.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // the profile is that of the collection before
	records := make([]runtime.MemProfileRecord, 10_000)
	n, ok := runtime.MemProfile(records, false)
	for !ok {
		records = make([]runtime.MemProfileRecord, n+1000)
		n, ok = runtime.MemProfile(records, false)
	}
	sum := 0.0
	for _, r := range records[:n] {
		if r.InUseObjects() > 0 { // a sample stands for more, the smaller the objects
			size := float64(r.InUseBytes()) / float64(r.InUseObjects())
			sum += float64(r.InUseBytes()) / (1 - math.Exp(-size/float64(runtime.MemProfileRate)))
		}
	}
	return uint64(sum)
}
