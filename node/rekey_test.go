package node_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
)

// TestAHomeWithSnapshotsIsEncrypted: one whose log goes on from a snapshot, and one that was restored from a backup and
// has nothing but a snapshot.
func TestAHomeWithSnapshotsIsEncrypted(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Raft.SnapshotThreshold, cfg.Raft.SnapshotInterval, cfg.Raft.TrailingLogs = 32, 50*time.Millisecond, 8
	})
	acked := cutLog(t, c, 0)
	backups := filepath.Join(t.TempDir(), "backups")
	if _, _, err := c.nodes[0].Service().BackupTo(engine.BackupPlan{Dir: backups}); err != nil {
		t.Fatal(err)
	}
	c.stop(0)
	restored := c.cfgs[0]
	restored.Home = t.TempDir()
	if _, err := home.Restore(restored.Files(), backups, archive.Target{}); err != nil {
		t.Fatal(err)
	}
	master := filepath.Join(t.TempDir(), "master")
	if err := os.WriteFile(master, []byte(seal.NewMaster().Text()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]node.Config{"whose log was cut": c.cfgs[0], "that was restored": restored} {
		t.Run(name, func(t *testing.T) {
			before, err := home.Check(cfg.Files(), true)
			if err != nil || before.Log.Snapshot == 0 {
				t.Fatalf("%+v, %v", before, err)
			}
			cfg.Storage.Encryption = seal.Source{File: master}
			if err := home.Encrypt(t.Context(), cfg.Files()); err != nil {
				t.Fatalf("encrypt: %v", err)
			}
			if after, err := home.Check(cfg.Files(), true); err != nil || after != before {
				t.Errorf("%+v became %+v, %v", before, after, err)
			}
			c.cfgs[0] = cfg
			c.open(0)
			defer c.stop(0)
			c.ready(0)
			s, caller := c.service(0)
			for rid, text := range acked {
				if m, err := api.Get.Do(t.Context(), s, caller, &api.GetRequest{RID: rid}); err != nil || m.Text != text {
					t.Fatalf("it lost %q: %v", text, err)
				}
			}
		})
	}
}
