package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestAFullDisk fills the disk under the whole home, under log and snapshots, and under state and index, before and
// after the guard should notice. Writes are rejected or have an unknown outcome, reads work, nothing acknowledged is
// lost, and writes work again without a restart.
func TestAFullDisk(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for _, tc := range []struct {
		name, on string // the files on the small disk
		least    uint64 // MinFree: 1 lets writes through to where the disk rejects them
		refused  bool   // the guard rejects writes with its own error
	}{
		{"guarded", ".", 8 << 20, true},
		{"log and snapshots", "raft", 1, false},
		{"state and index", "state and index", 1, false},
		{"state", "state", 1, false},
		{"index", "index", 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := filepath.Join(t.TempDir(), "home")
			small, elsewhere := filepath.Join(home, tc.on), []string{}
			switch tc.on { // the home is small, and other things are elsewhere
			case "state and index":
				small, elsewhere = home, []string{"raft"}
			case "state":
				small, elsewhere = home, []string{"raft", "index"}
			}
			rafttest.SmallDisk(t, small, 32)
			for _, name := range elsewhere {
				if err := os.Symlink(t.TempDir(), filepath.Join(home, name)); err != nil {
					t.Fatal(err)
				}
			}
			n := openAlone(t, home, tc.least)
			c, err := n.Access().Local("default")
			if err != nil {
				t.Fatal(err)
			}
			acked := map[string]string{}
			patience := suite.Patience // while there is space
			put := func(text string) error {
				rid := oplog.NewID()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, err := api.RememberBatch.Do(ctx, n.Service(), c,
					&api.RememberBatchRequest{Memories: []api.Draft{{RID: rid, Text: text}}})
				if err == nil {
					acked[rid] = text
				}
				return err
			}
			for i := range 50 {
				if err := put(fmt.Sprint("before ", i)); err != nil {
					t.Fatal(err)
				}
			}
			release := rafttest.Fill(t, small)
			patience = 2 * time.Second
			suite.Eventually(t, "writes to fail on a full disk", func() bool { // pages that were free before are used up first
				err = put("while it fills " + strings.Repeat("x", 8<<10))
				return err != nil
			})
			var e *oplog.Error
			if !errors.As(err, &e) || e.Kind != oplog.Unavailable && e.Kind != oplog.UnknownOutcome && e.Kind != oplog.NotLeader {
				t.Errorf("a write without room: %v", err)
			}
			if tc.refused { // the guard looks four times a second
				suite.Eventually(t, "a refusal that says why", func() bool {
					return strings.Contains(fmt.Sprint(put("still full")), "disk full")
				})
			}
			holds(t, n, acked) // reads go on
			if n.Err() != nil {
				t.Fatalf("the node stopped: %v", n.Err())
			}
			release()
			patience = suite.Patience
			suite.Eventually(t, "writes once there is room again", func() bool { return put("after") == nil })
			holds(t, n, acked)
			if err := n.Close(); err != nil {
				t.Error(err)
			}
			n = openAlone(t, home, tc.least)
			holds(t, n, acked)
		})
	}
}

// TestAFullDiskUnderSnapshots checks that a log that cannot be truncated only grows, and is truncated once there is
// space again.
func TestAFullDiskUnderSnapshots(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	small := filepath.Join(home, "raft", "snapshots")
	rafttest.SmallDisk(t, small, 8)
	const threshold = 8
	n := openAlone(t, home, 1, func(c *Config) { c.Raft.SnapshotThreshold, c.Raft.SnapshotInterval = threshold, 100*time.Millisecond })
	c, err := n.Access().Local("default")
	if err != nil {
		t.Fatal(err)
	}
	acked := map[string]string{}
	write := func(done func() bool) bool {
		for deadline := time.Now().Add(suite.Patience); !done() && time.Now().Before(deadline); {
			rid, text := oplog.NewID(), fmt.Sprint("memory ", len(acked))
			_, err := api.RememberBatch.Do(suite.Context(t), n.Service(), c,
				&api.RememberBatchRequest{Memories: []api.Draft{{RID: rid, Text: text}}})
			if err != nil {
				t.Fatalf("a write beside a full disk of snapshots: %v", err)
			}
			acked[rid] = text
		}
		return done()
	}
	at := func() uint64 { return n.Service().RaftStatus().SnapshotIndex }
	if !write(func() bool { return at() > 0 }) {
		t.Fatal("no snapshot is made")
	}
	suite.Eventually(t, "a snapshot of what was written last", func() bool { // an earlier one may be due or running
		return n.Service().RaftStatus().LastIndex < at()+threshold
	})
	release := rafttest.Fill(t, small)
	full, most := at(), len(acked)+300
	write(func() bool { return len(acked) == most })
	if now := at(); now > full {
		t.Errorf("a snapshot at %d was made without room", now)
	}
	holds(t, n, acked)
	release()
	if !write(func() bool { return at() > full }) {
		t.Error("there is room again and no snapshot is made")
	}
	if n.Err() != nil {
		t.Errorf("the node stopped: %v", n.Err())
	}
	holds(t, n, acked)
}

func openAlone(t *testing.T, home string, least uint64, change ...func(*Config)) *Node {
	t.Helper()
	cfg := Config{Home: home, Addresses: Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"},
		Storage: Storage{MinFree: least},
		Raft:    Raft{Heartbeat: 100 * time.Millisecond, Election: rafttest.Election(400 * time.Millisecond)},
		Logger:  slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, f := range change {
		f(&cfg)
	}
	n, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	if err := n.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestANewHomeOnAFullDisk checks that a home's token that the log cannot store yet is rejected with the reason, not
// as if a retry would help.
func TestANewHomeOnAFullDisk(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	n, err := Open(t.Context(),
		Config{Home: home, Addresses: Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0"}, Storage: Storage{MinFree: 1 << 60},
			Tokens: Tokens{EnsureHome: true}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	token, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Access().Authenticate(strings.TrimSpace(string(token))); err == nil || !strings.HasPrefix(err.Error(), "disk full: ") ||
		!errors.Is(err, &oplog.Error{Kind: oplog.Unavailable}) {
		t.Errorf("its token: %v", err)
	}
}

// holds checks that a node has the acknowledged memories.
func holds(t *testing.T, n *Node, acked map[string]string) {
	t.Helper()
	c, err := n.Access().Local("default")
	if err != nil {
		t.Fatal(err)
	}
	err = n.State().Read(func(v *state.View) error {
		for rid, text := range acked {
			if m, ok := v.Memory(c.DB, rid); !ok || m.Text != text {
				t.Errorf("%s is lost", rid)
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("read: %v", err)
	}
}
