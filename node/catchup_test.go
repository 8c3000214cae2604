package node

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
)

// indexingGrows bounds what the heap may grow by while texts are indexed, however many they are.
const indexingGrows = 180 << 20

// TestCatchingUpIsBoundedByBytes replays 150 records of imports as raft gives them to a node that was away. However many come at once, those
// that are decoded at once have few megabytes together, and the index is not given more than it can take, nor holds much of what waits
// for its text segments. Nor does it when the node starts without its index, and all of the state is read.
func TestCatchingUpIsBoundedByBytes(t *testing.T) {
	const rows = 50
	imports := textMemories(t) / rows
	dir := t.TempDir()
	st, err := oplog.Open(filepath.Join(dir, "state.db"), oplog.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	space, err := disk.Open(dir, 0, log)
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(1, 0, st, newFeed(), access.New(access.Config{State: st}), space, log)
	m.fail = func(err error) { t.Error(err) }
	cfg := index.Config{Dir: filepath.Join(dir, "index"), State: st, Logger: log}
	if m.index, _, err = index.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	defer func() { m.index.Close() }()
	record := func(i uint64, e oplog.Entry) raft.Record {
		body, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return raft.Record{Index: i, Term: 1, Data: oplog.EncodeRecord(oplog.MakeHLC(1_700_000_000_000+i*1000, 0, 1), body)}
	}
	m.Apply([]raft.Record{record(1, oplog.Entry{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}})})
	words := newProse()
	var batch []raft.Record
	size := 0
	for i := uint64(2); len(batch) < imports; i++ {
		e := oplog.Entry{DB: oplog.DefaultDB}
		for n := range rows {
			e.Ops = append(e.Ops, &oplog.Remember{RID: fmt.Sprintf("m%d-%d", i, n), Text: words.text(4000), Namespace: "default", Created: oplog.Time(i)})
		}
		batch = append(batch, record(i, e))
		size += oplog.RecordSize(batch[len(batch)-1].Data)
	}
	if size < imports<<17 {
		t.Fatalf("%d records are told to have %d bytes", imports, size)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	tasks.Go(func() { _ = m.follow(ctx) }) // it ends with ctx
	slow := m.feed.subscribe()             // one that takes nothing
	defer slow.close()
	t.Logf("%d MB of records at once", size>>20)
	growsBy(t, indexingGrows, func() {
		results := m.Apply(batch)
		if err := m.indexed.wait(ctx, oplog.Index(batch[len(batch)-1].Index)); err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if o, ok := r.([]oplog.Outcome); !ok || len(o) != 1 || o[0].Err != nil || len(o[0].Results) != rows {
				t.Fatalf("record %d: %T", i, r)
			}
		}
	})
	if n := m.waiting.Load(); n != 0 {
		t.Errorf("%d bytes are counted as waiting", n)
	}
	cancel()
	tasks.Wait()
	if testing.Short() {
		t.Log("short: no start without the index")
		return
	}
	batch = nil
	if err := m.index.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(cfg.Dir); err != nil {
		t.Fatal(err)
	}
	t.Log("a start without the index")
	growsBy(t, indexingGrows, func() {
		if m.index, _, err = index.Open(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	})
}

// TestImportIsBoundedByBytes: a node that leads holds no more of the texts than one that catches up, however fast they come.
func TestImportIsBoundedByBytes(t *testing.T) {
	if os.Getenv("CAIRN_TEXTS") == "" {
		t.Skip("no CAIRN_TEXTS: few texts prove nothing here, and many take minutes")
	}
	n, c := alone(t)
	s := n.Service()
	words := newProse()
	growsBy(t, indexingGrows, func() {
		drafts := make([]Draft, importRows)
		for i := 0; i < textMemories(t); i += len(drafts) {
			for k := range drafts {
				drafts[k] = Draft{Text: words.text(4000), HalfLife: time.Hour.Seconds()}
			}
			if _, err := s.Remember(t.Context(), c, "", drafts...); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.machine.indexed.wait(t.Context(), s.machine.applied.get()); err != nil {
			t.Fatal(err)
		}
	})
}
