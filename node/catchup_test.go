package node

import (
	"context"
	"fmt"
	"log/slog"
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
// that are decoded at once have few megabytes together, and the index is not given more than it can take. What is large is metadata, for
// what the index itself keeps of texts is no part of this.
func TestCatchingUpIsBoundedByBytes(t *testing.T) {
	const imports, most = 150, 180 << 20
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
	words := make([]byte, 6)
	text := func(n int) string {
		b := make([]byte, 0, n)
		for len(b) < n {
			for i := range words {
				words[i] = 'a' + byte(rng.IntN(3))
			}
			b = append(append(b, words...), ' ')
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
		for n := range 150 {
			e.Ops = append(e.Ops, &oplog.Remember{RID: fmt.Sprintf("m%d-%d", i, n), Text: "a row", Metadata: []byte(`"` + text(4000) + `"`), Namespace: "default", Created: oplog.Time(i)})
		}
		batch = append(batch, record(i, e))
		size += oplog.RecordSize(batch[len(batch)-1].Data)
	}
	if size < imports<<19 {
		t.Fatalf("%d records are told to have %d bytes", imports, size)
	}
	live := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := live()
	ctx, cancel := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	var peak atomic.Uint64
	tasks.Go(func() {
		for ctx.Err() == nil {
			peak.Store(max(peak.Load(), live()))
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond): // a sample of what happens meanwhile
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
		if o, ok := r.([]oplog.Outcome); !ok || len(o) != 1 || o[0].Err != nil || len(o[0].Results) != 150 {
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
