package node_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestManyDatabases checks that unused databases cost neither goroutines, nor files, nor much heap, and answer at
// once, also after a restart. It is not parallel, because it counts resources of the process.
func TestManyDatabases(t *testing.T) {
	suite.Full(t)
	manyDatabases(t, 200, 5)
}

// resources are the goroutines, open files and heap bytes of the process.
type resources struct{ goroutines, files, heap int }

func measureResources() (h resources) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fds, _ := os.ReadDir("/proc/self/fd") // none on systems without /proc
	return resources{runtime.NumGoroutine(), len(fds), int(m.HeapAlloc)}
}

func manyDatabases(t *testing.T, n, memories int) {
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Indexes = node.Indexes{Idle: 100 * time.Millisecond, MaxOpen: 32}
	})
	cl := c.dial(0)
	if err := atOnce(16, 16, func(i int) error { // connections and caches are there before it is counted
		_, err := cl.CreateDatabase(t.Context(), fmt.Sprint("first", i))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	before, start := measureResources(), time.Now()
	ids := make([]uint32, n)
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s: %v", what, time.Since(start).Round(time.Millisecond))
		start = time.Now()
	}
	check("created", atOnce(16, n, func(i int) (err error) {
		ids[i], err = cl.CreateDatabase(t.Context(), fmt.Sprint("db", i))
		return err
	}))
	for m := range memories { // one after the other: no index needs to be open for that
		check("written", atOnce(16, n, func(i int) error {
			s, caller := c.service(0)
			caller.DB = oplog.DB(ids[i])
			_, err := remember(t.Context(), s, caller, "", api.Draft{Text: fmt.Sprintf("garden %d grows in bridge%d", m, i)})
			return err
		}))
	}
	recall := func(what string) {
		t.Helper()
		took := make([]time.Duration, n)
		check(what, atOnce(2, n, func(i int) error {
			s, caller := c.service(0)
			caller.DB = oplog.DB(ids[i])
			begun := time.Now()
			a, err := recall(context.Background(), s, caller,
				index.Query{Text: fmt.Sprintf("bridge%d", i), K: memories + 1, Quiet: true}, commit.Stale)
			took[i] = time.Since(begun)
			if err == nil && len(a.Hits) != memories {
				err = fmt.Errorf("database %d: found %d of %d", ids[i], len(a.Hits), memories)
			}
			return err
		}))
		slices.Sort(took)
		t.Logf("%s: p50 %v, p99 %v", what, took[n/2].Round(time.Microsecond), took[n*99/100].Round(time.Microsecond))
	}
	recall("recalled")
	var after resources
	suite.Eventually(t, "the indexes are closed", func() bool {
		after = measureResources()
		return after.goroutines <= before.goroutines+16 && after.files <= before.files+24
	})
	each := (after.heap - before.heap) / n
	t.Logf("before %+v, after %+v: %d bytes of heap a database", before, after, each)
	if list, err := os.ReadDir(c.cfgs[0].Home + "/index"); err != nil || len(list) > 1 {
		t.Errorf("the index has files: %v, %v", list, err)
	}
	if !testing.Short() && after.heap-before.heap > 24<<20+n*4096 {
		t.Errorf("the heap grew by %d kB a database", each>>10)
	}
	c.stop(0)
	check("stopped", nil)
	c.open(0)
	c.ready(0)
	check("started", nil)
	recall("recalled after the restart")
	var again resources
	suite.Eventually(t, "the indexes are closed again", func() bool {
		again = measureResources()
		return again.goroutines <= before.goroutines+16 && again.files <= before.files+24
	})
	t.Logf("after the restart %+v", again)
	if !testing.Short() && again.heap-before.heap > 24<<20+n*4096 {
		t.Errorf("after the restart the heap is %d kB a database larger", (again.heap-before.heap)/n>>10)
	}
}

// atOnce runs n tasks, some concurrently, and returns one of their errors.
func atOnce(workers, n int, task func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failed.Load() == nil; i = int(next.Add(1)) - 1 {
				if err := task(i); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
