package node

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
)

// TestCatchingUpIsBoundedByBytes replays 150 records of imports as raft gives them to a node that was away. However many come at once, those
// that are decoded at once have few megabytes together, and the index is not given more than it can take, nor holds much of what waits
// for its text segments.
func TestCatchingUpIsBoundedByBytes(t *testing.T) {
	const imports, rows, most = 150, 50, 180 << 20
	dir := t.TempDir()
	st, err := oplog.Open(filepath.Join(dir, "state.db"), oplog.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	m := newMachine(1, 0, st, newFeed(), newLimits(st), newSpace(dir, 0, log), log)
	m.fail = func(err error) { t.Error(err) }
	if m.index, _, err = index.Open(t.Context(), index.Config{Dir: filepath.Join(dir, "index"), State: st, Logger: log}); err != nil {
		t.Fatal(err)
	}
	defer m.index.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	words := vocabulary(rng, 50_000)
	zipf := rand.NewZipf(rng, 1.1, 8, uint64(len(words)-1))
	text := func(n int) string { // prose with a few things that only one text names
		b := make([]byte, 0, n+64)
		for len(b) < n {
			if b = append(append(b, words[zipf.Uint64()]...), ' '); rng.IntN(100) == 0 {
				b = fmt.Appendf(b, "%08x ", rng.Uint32())
			}
		}
		return string(b)
	}
	record := func(i uint64, e oplog.Entry) raft.Record {
		body, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return raft.Record{Index: i, Term: 1, Data: oplog.EncodeRecord(oplog.MakeHLC(1_700_000_000_000+i*1000, 0, 1), body)}
	}
	m.Apply([]raft.Record{record(1, oplog.Entry{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}})})
	var batch []raft.Record
	size := 0
	for i := uint64(2); len(batch) < imports; i++ {
		e := oplog.Entry{DB: oplog.DefaultDB}
		for n := range rows {
			e.Ops = append(e.Ops, &oplog.Remember{RID: fmt.Sprintf("m%d-%d", i, n), Text: text(4000), Namespace: "default", Created: oplog.Time(i)})
		}
		batch = append(batch, record(i, e))
		size += oplog.RecordSize(batch[len(batch)-1].Data)
	}
	if size < imports<<17 {
		t.Fatalf("%d records are told to have %d bytes", imports, size)
	}
	before := liveHeap()
	ctx, cancel := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	var peak atomic.Uint64
	tasks.Go(func() {
		for ctx.Err() == nil {
			peak.Store(max(peak.Load(), liveHeap()))
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond): // a sample of what happens meanwhile
			}
		}
	})
	tasks.Go(func() { _ = m.follow(ctx) }) // it ends with ctx
	slow := m.feed.subscribe()             // one that takes nothing
	defer slow.close()
	results := m.Apply(batch)
	if err := m.indexed.wait(ctx, oplog.Index(batch[len(batch)-1].Index)); err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if o, ok := r.([]oplog.Outcome); !ok || len(o) != 1 || o[0].Err != nil || len(o[0].Results) != rows {
			t.Fatalf("record %d: %T", i, r)
		}
	}
	grown := int64(peak.Load()) - int64(before)
	t.Logf("%d MB of records, the heap grew by %d MB", size>>20, grown>>20)
	if grown > most {
		t.Errorf("the heap grew by %d MB, more than %d", grown>>20, most>>20)
	}
	if n := m.waiting.Load(); n != 0 {
		t.Errorf("%d bytes are counted as waiting", n)
	}
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

// liveHeap is what the heap profile says is in use. What was allocated while the collector ran is not in it, as it is in
// MemStats: on a busy machine that is a second's garbage.
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
