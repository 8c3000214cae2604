package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
)

// TestBackupsByPlan: a node makes backups by itself, whole states and ranges of the log in turn, keeps as many as it was
// told, and what is left restores to what the node held. A damaged one is found.
func TestBackupsByPlan(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	const keep, every = 2, 2
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Backup = engine.BackupPlan{Dir: dir, Interval: 50 * time.Millisecond, Every: every, Keep: keep}
	})
	w := c.web(0)
	removed, seen := false, map[string]bool{}
	eventually(t, "backups that were removed for newer ones", func() bool {
		w.ok("POST", "/v1/remember", obj{"text": "something new to back up"})
		files, err := archive.List(dir)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		now, whole := map[string]bool{}, 0
		for _, f := range files {
			now[f.Path], seen[f.Path] = true, true
			if f.Whole() {
				whole++
			}
		}
		if whole > keep+1 { // one more while the oldest is being removed
			t.Fatalf("%d whole states are kept, %d were to be", whole, keep)
		}
		for path := range seen {
			removed = removed || !now[path]
		}
		return removed && len(seen) > 2*(every+1)
	})
	w.ok("POST", "/v1/remember", obj{"text": "the last of all"})
	applied := c.nodes[0].Service().Applied()
	eventually(t, "a backup of the last write", func() bool {
		files, err := archive.List(dir)
		return err == nil && len(files) > 0 && files[len(files)-1].Index >= applied
	})
	status := c.nodes[0].Service().Status(t.Context())
	c.stop(0)
	rep, err := archive.Verify(dir, nil)
	if err != nil || rep.End.Index != status.SumIndex || rep.End.Sum.String() != status.Sum {
		t.Errorf("verified %+v, %v; the node was at %d, %s", rep, err, status.SumIndex, status.Sum)
	}
	files, err := archive.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	newest := files[len(files)-1].Path
	b, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(newest, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Verify(dir, nil); err == nil || !strings.Contains(err.Error(), filepath.Base(newest)) {
		t.Errorf("a flipped bit: %v", err)
	}
}
