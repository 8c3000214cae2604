package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestARestoreOutlivesNotes checks that a node starts with what was restored, although its home still has notes about
// the state and the log that were removed from it.
func TestARestoreOutlivesNotes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Backup = operate.BackupPlan{Dir: dir, Interval: 50 * time.Millisecond, Every: 3, Keep: 100}
	})
	c.web(0).ok("POST", "/v1/remember", obj{"text": "the quay is closed in March"})
	applied := c.nodes[0].Service().Applied()
	suite.Eventually(t, "a backup of the last write", func() bool {
		files, err := archive.List(dir)
		return err == nil && len(files) > 0 && files[len(files)-1].Index >= applied
	})
	c.cfgs[0].Backup = operate.BackupPlan{}
	erased := home.Erased{Cut: 1 << 20, Rewritten: 1 << 20}
	for name, write := range map[string]func(home.Config) error{
		"damaged": func(cfg home.Config) error {
			return home.WriteNote(cfg, home.DamageFile, errors.New("the others have other records"))
		},
		"rebuild": func(cfg home.Config) error {
			return home.WriteNote(cfg, home.RebuildFile, errors.New("at index 1048576: a row"))
		},
		"rebuilding": func(cfg home.Config) error {
			return home.WriteNote(cfg, "rebuilding", errors.New("at index 1048576: a row"))
		},
		"erased": func(cfg home.Config) error { return erased.Write(cfg.Dir) },
	} {
		c.stop(0)
		files := c.cfgs[0].Files()
		for _, folder := range []string{"raft", home.StateDir} {
			if err := os.RemoveAll(filepath.Join(files.Dir, folder)); err != nil {
				t.Fatal(err)
			}
		}
		if err := write(files); err != nil {
			t.Fatal(err)
		}
		if _, err := home.Restore(t.Context(), files, dir, archive.Target{Index: applied}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if e, err := home.ReadErased(files.Dir); err != nil || e == erased {
			t.Errorf("%s: the restored home counts records as erased that it has not seen: %+v %v", name, e, err)
		}
		c.open(0)
		c.ready(0)
		if got := c.web(0).ok("GET", "/v1/stats", nil); got["active_memories"] != 1.0 {
			t.Errorf("%s: the node lacks what was restored: %v", name, got)
		}
	}
}
