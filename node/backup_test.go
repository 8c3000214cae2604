package node_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestBackupsByPlan checks that a node makes scheduled backups, full ones and ranges in turn, keeps as many as
// configured, and that they restore to the node's state. It finds a damaged one.
func TestBackupsByPlan(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	const keep, every = 2, 2
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Backup = operate.BackupPlan{Dir: dir, Interval: 50 * time.Millisecond, Every: every, Keep: keep}
	})
	w := c.web(0)
	removed, seen := false, map[string]bool{}
	suite.Eventually(t, "backups that were removed for newer ones", func() bool {
		w.ok("POST", "/v1/remember", obj{"text": "something new to back up"})
		files, err := archive.List(dir)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		now, whole := map[string]bool{}, 0
		for _, f := range files {
			now[f.Path], seen[f.Path] = true, true
			if f.IsState() {
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
	suite.Eventually(t, "a backup of the last write", func() bool {
		files, err := archive.List(dir)
		return err == nil && len(files) > 0 && files[len(files)-1].Index >= applied
	})
	status := c.nodes[0].Service().Cluster().Status(t.Context())
	c.stop(0)
	rep, err := archive.Verify(t.Context(), dir, "", nil)
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
	if _, err := archive.Verify(t.Context(), dir, "", nil); err == nil || !strings.Contains(err.Error(), filepath.Base(newest)) {
		t.Errorf("a flipped bit: %v", err)
	}
}

// TestBackupsAreRestoredToVerifyThem checks that a node verifies its backups by restoring them, reports when, and
// counts failures.
func TestBackupsAreRestoredToVerifyThem(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Backup = operate.BackupPlan{Dir: dir, Interval: 50 * time.Millisecond}
	})
	shows := func(metric string) float64 {
		_, line, _ := strings.Cut(scrape(t, c.web(0).base, secret), "\n"+metric+" ")
		line, _, _ = strings.Cut(line, "\n")
		n, err := strconv.ParseFloat(line, 64)
		if err != nil {
			t.Fatalf("%s: %v", metric, err)
		}
		return n
	}
	c.web(0).ok("POST", "/v1/remember", obj{"text": "kept twice"})
	start := float64(time.Now().Add(-time.Minute).Unix())
	suite.Eventually(t, "a backup that restores", func() bool {
		return shows("cairn_backup_covered_timestamp_seconds") > start && shows("cairn_backup_verified_timestamp_seconds") > start &&
			shows("cairn_backup_bytes") > 0
	})
	if n := shows("cairn_backup_verify_failures_total"); n != 0 {
		t.Errorf("%v backups did not restore", n)
	}
	c.stop(0)
	files, err := archive.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(f.Path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "verified")); err != nil {
		t.Fatal(err)
	}
	c.open(0)
	c.ready(0)
	suite.Eventually(t, "a backup that does not restore", func() bool { return shows("cairn_backup_verify_failures_total") > 0 })
	if n := shows("cairn_backup_verified_timestamp_seconds"); n != 0 {
		t.Errorf("damaged backups were verified at %v", n)
	}
}
