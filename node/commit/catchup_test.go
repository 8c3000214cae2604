package commit

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/node/nodetest"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft"
)

// TestCatchingUpIsBoundedByBytes replays 150 records of imports as raft gives them to a node that was away. However
// many come at once, those that are decoded at once have few megabytes together, and the index is not given more than
// it can take, nor holds much of what waits for its text segments. Nor does it when the node starts without its index,
// and all of the state is read.
func TestCatchingUpIsBoundedByBytes(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: weighs what is read, which takes the race detector too long")
	}
	const rows = 50
	imports := nodetest.TextMemories(t) / rows
	dir := t.TempDir()
	st, err := state.Open(filepath.Join(dir, "state"), state.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	space, err := disk.Open(dir, 0, log)
	if err != nil {
		t.Fatal(err)
	}
	l := New(Options{NodeID: 1, State: st, Disk: space, Logger: log, Observe: func([]oplog.Outcome, bool) {},
		Fail: func(err error) { t.Error(err) }})
	m := l.machine
	cfg := index.Config{Dir: filepath.Join(dir, "index"), State: st, Logger: log}
	x, at, err := index.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	l.SetIndex(x, at)
	defer func() { m.index.Close() }()
	record := func(i uint64, e oplog.Entry) raft.Record {
		body, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return raft.Record{Index: i, Term: 1, Data: oplog.EncodeRecord(oplog.MakeHLC(1_700_000_000_000+i*1000, 0, 1), body)}
	}
	m.Apply([]raft.Record{record(1, oplog.Entry{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}})})
	words := nodetest.NewProse()
	var batch []raft.Record
	size := 0
	for i := uint64(2); len(batch) < imports; i++ {
		e := oplog.Entry{DB: oplog.DefaultDB}
		for n := range rows {
			e.Ops = append(e.Ops, &oplog.Remember{Content: oplog.Content{RID: fmt.Sprintf("m%d-%d", i, n), Text: words.Text(4000),
				Namespace: "default", Created: oplog.Time(i)}})
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
	tasks.Go(func() { _ = m.followApplied(ctx) }) // it ends with ctx
	slow := l.Subscribe()                         // a subscriber that receives nothing
	defer slow.Close()
	t.Logf("%d MB of records at once", size>>20)
	nodetest.GrowsBy(t, nodetest.IndexingGrows, func() {
		results := m.Apply(batch)
		if err := l.WaitIndexed(ctx, oplog.Index(batch[len(batch)-1].Index)); err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if o, ok := r.([]oplog.Outcome); !ok || len(o) != 1 || o[0].Err != nil || len(o[0].Results) != rows {
				t.Fatalf("record %d: %T", i, r)
			}
		}
	})
	if n := m.queuedBytes.Load(); n != 0 {
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
	nodetest.GrowsBy(t, nodetest.IndexingGrows, func() {
		if m.index, _, err = index.Open(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	})
}
