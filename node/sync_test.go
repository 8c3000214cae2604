package node_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/logstore"
)

// A faultyDisk is a disk that fails like real disks: writes succeed but are lost, and the sync reports the error. Until
// then the files are intact.
type faultyDisk struct {
	logstore.OS
	mu   sync.Mutex
	dead string // the file whose syncs fail: the state's, or the log's of that kind
}

const (
	stateFile = "state"
	metaFile  = "meta"
	segments  = "segments"
)

// broken reports whether a file is broken, and is called at its syncs.
func (p *faultyDisk) broken(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	kind := segments
	if name := strings.TrimSuffix(filepath.Base(name), ".new"); name == stateFile || name == metaFile {
		kind = name
	}
	if kind == p.dead {
		return syscall.EIO
	}
	return nil
}

// state wraps every change of the state's files.
func (p *faultyDisk) state(op, _ string, do func() error) error {
	if op == "sync" {
		if err := p.broken(stateFile); err != nil {
			return err
		}
	}
	return do()
}

type faultyFile struct {
	logstore.File
	p    *faultyDisk
	name string
}

func (f faultyFile) Sync() error {
	if err := f.p.broken(f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f faultyFile) WriteAt(b []byte, at int64) (int, error) {
	if f.p.broken(f.name) != nil {
		return len(b), nil
	}
	return f.File.WriteAt(b, at)
}

func (p *faultyDisk) Create(name string) (logstore.File, error) {
	f, err := p.OS.Create(name)
	return faultyFile{f, p, name}, err
}

func (p *faultyDisk) Open(name string) (logstore.File, error) {
	f, err := p.OS.Open(name)
	return faultyFile{f, p, name}, err
}

// fail breaks files from now on: they accept every write and fail to sync.
func (p *faultyDisk) fail(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = kind
}

func (p *faultyDisk) release() { p.fail("") }

// TestAFailedSyncLosesNothing breaks the disk under the log or the state of a node, while clients write. The node
// accepts no more writes, reports the reason and stops; other nodes continue. With a working disk it has everything
// that was acknowledged, and what the others have.
func TestAFailedSyncLosesNothing(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	cases := []struct {
		nodes  int
		leader bool
		file   string
	}{{3, true, metaFile}, {3, true, segments}, {3, true, stateFile}, {1, true, metaFile}, {1, true, segments}, {1, true, stateFile},
		{3, false, metaFile}, {3, false, segments}, {3, false, stateFile}}
	if testing.Short() {
		cases = cases[:3]
	}
	for _, tc := range cases {
		t.Run(fmt.Sprintf("%d nodes/leader %v/%s", tc.nodes, tc.leader, tc.file), func(t *testing.T) {
			t.Parallel()
			disks := make([]*faultyDisk, tc.nodes)
			c := startWith(t, tc.nodes, func(i int, cfg *node.Config) {
				disks[i] = &faultyDisk{}
				cfg.Seams.LogFiles, cfg.Storage.StateStep = disks[i], disks[i].state
				cfg.Limits.ApplyTimeout, cfg.Raft.Election = 2*time.Second, 3*time.Second
				// so that other files of log and state are written too
				cfg.Raft.SegmentBytes, cfg.Storage.StateBuffer = 32<<10, 64<<10
			})
			victim := c.leader()
			if !tc.leader {
				victim = (victim + 1) % tc.nodes
			}
			defer disks[victim].release()
			w := startWriters(t, c)
			w.wait(t, 100)
			disks[victim].fail(tc.file)
			suite.Receive(t, "the end of a node with a broken disk", c.nodes[victim].Done())
			if err := c.nodes[victim].Err(); err == nil || !strings.Contains(err.Error(), "disk has failed") {
				t.Errorf("the node says %v, not what became of its disk", err)
			}
			if err := w.put(c.nodes[victim], "after the end"); err == nil {
				t.Error("a node that has stopped acknowledged a write")
			}
			if err := c.nodes[victim].Close(); err != nil { // like its process
				t.Logf("closing: %v", err) // the failure of the broken file
			}
			if tc.nodes > 1 {
				w.wait(t, 100)
			}
			w.stop()
			c.nodes[victim] = nil
			disks[victim].release()
			c.open(victim)
			c.ready(victim)
			c.agree()
			for i := range c.nodes {
				s, caller := c.service(i)
				for rid, text := range w.acked {
					if m, err := api.Get.Do(t.Context(), s, caller, &api.GetRequest{RID: rid}); err != nil || m.Text != text {
						t.Fatalf("node %d lost %q: %v", i+1, text, err)
					}
				}
			}
		})
	}
}

// TestAFailedSyncUnderASnapshot breaks the disk under a state that is about to be replaced, when no applied record
// would reveal the failure.
func TestAFailedSyncUnderASnapshot(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.Raft.SnapshotThreshold, cfg.Raft.SnapshotInterval, cfg.Raft.TrailingLogs = 32, 50*time.Millisecond, 8
	})
	lead := c.leader()
	away := (lead + 1) % 3
	c.stop(away)
	w := &writers{acked: map[string]string{}}
	suite.Eventually(t, "the log is cut", func() bool {
		for i := range 50 {
			_ = w.put(c.nodes[lead], fmt.Sprintf("write %d", i))
		}
		return c.nodes[lead].Service().RaftStatus().SnapshotIndex > 150
	})
	c.cfgs[away].Storage.StateStep = func(op, path string, do func() error) error {
		if op == "sync" && strings.Contains(path, "restoring") {
			return syscall.EIO
		}
		return do()
	}
	c.open(away)
	suite.Receive(t, "the end of a node with a broken disk", c.nodes[away].Done())
	if err := c.nodes[away].Err(); err == nil || !strings.Contains(err.Error(), "cannot restore a snapshot") {
		t.Errorf("the node says %v", err)
	}
	if err := c.nodes[away].Close(); err != nil {
		t.Logf("closing: %v", err)
	}
	c.cfgs[away].Storage.StateStep = nil
	c.open(away)
	c.ready(away)
	c.agree()
}

// writers are clients of all nodes of a cluster.
type writers struct {
	mu    sync.Mutex
	acked map[string]string
	stop  func()
}

// startWriters writes through every node's service until stop.
func startWriters(t *testing.T, c *cluster) *writers {
	ctx, cancel := context.WithCancel(t.Context())
	w := &writers{acked: map[string]string{}}
	var wg sync.WaitGroup
	w.stop = func() { cancel(); wg.Wait() }
	t.Cleanup(w.stop)
	for i, n := range c.nodes {
		for k := range 2 {
			wg.Go(func() {
				for r := 0; ctx.Err() == nil && n.Err() == nil; r++ { // a stopped node rejects all writes
					_ = w.put(n, fmt.Sprintf("node %d writer %d write %d", i+1, k, r)) // rejected, or with an unknown outcome
				}
			})
		}
	}
	return w
}

func (w *writers) put(n *node.Node, text string) error {
	caller, err := n.Access().Local("default")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	rid := oplog.NewID()
	_, err = remember(ctx, n.Service(), caller, "", api.Draft{RID: rid, Text: text})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked[rid] = text
	return nil
}

// wait returns once n more writes are acknowledged.
func (w *writers) wait(t *testing.T, n int) {
	t.Helper()
	count := func() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.acked) }
	have := count()
	suite.Eventually(t, "writes go on", func() bool { return count() >= have+n })
}
