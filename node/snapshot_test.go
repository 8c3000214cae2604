package node_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft"
)

// TestADamagedSnapshotIsReplaced damages each snapshot of an idle cluster before a member that needs one returns.
func TestADamagedSnapshotIsReplaced(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for _, tc := range []struct {
		name string
		harm func([]byte) []byte
	}{
		{"a flipped bit", func(b []byte) []byte { b[len(b)/3] ^= 1; return b }},
		{"no description", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }},
		{"another place in the log", func(b []byte) []byte { return bytes.Replace(b, []byte(`"Index":`), []byte(`"Index":1`), 1) }},
		{"another name", func(b []byte) []byte { return bytes.Replace(b, []byte(`"ID":"`), []byte(`"ID":"1`), 1) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if testing.Short() && tc.name != "a flipped bit" {
				t.Skip("skipped in -short: a repetition with other damage")
			}
			t.Parallel()
			damagedSnapshots(t, tc.harm)
		})
	}
}

// cutLog writes until a snapshot replaces the beginning of the log.
func cutLog(t *testing.T, c *cluster, lead int) map[string]string {
	t.Helper()
	w := &writers{acked: map[string]string{}}
	suite.Eventually(t, "the log is cut", func() bool {
		for i := range 50 {
			_ = w.put(c.nodes[lead], fmt.Sprintf("write %d", i))
		}
		return c.nodes[lead].Service().RaftStatus().SnapshotIndex > 150
	})
	return w.acked
}

// damageFiles modifies all files that match a pattern.
func damageFiles(t *testing.T, pattern string, harm func([]byte) []byte) {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	for _, path := range found {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, harm(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSnapshotsDamagedAtRest checks that a node whose snapshots were damaged while it was down starts, although its
// log continues from them, and has everything; from the others if there are any.
func TestSnapshotsDamagedAtRest(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	sizes := []int{3, 1}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, nodes := range sizes {
		for name, harm := range map[string]func([]byte) []byte{
			"unreadable":      func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
			"another address": func(b []byte) []byte { return bytes.Replace(b, []byte("127."), []byte("126."), 1) },
		} {
			t.Run(fmt.Sprintf("%d nodes/%s", nodes, name), func(t *testing.T) {
				t.Parallel()
				c := startWith(t, nodes, func(_ int, cfg *node.Config) {
					cfg.Raft.SnapshotThreshold, cfg.Raft.SnapshotInterval, cfg.Raft.TrailingLogs = 32, 50*time.Millisecond, 8
				})
				victim := c.leader()
				acked := cutLog(t, c, victim)
				c.stop(victim)
				damageFiles(t, filepath.Join(c.cfgs[victim].Home, "raft", "snapshots", "*.snap"), harm)
				c.open(victim)
				s, caller := c.service(victim)
				holds := func() { // always, because its state is ahead of the snapshot that it gets
					for rid, text := range acked {
						if m, err := api.Get.Do(t.Context(), s, caller, &api.GetRequest{RID: rid}); err != nil || m.Text != text {
							t.Fatalf("it lost %q: %v", text, err)
						}
					}
				}
				holds()
				c.ready(victim)
				c.agree()
				suite.Eventually(t, "it is whole", func() bool {
					holds()
					st := s.RaftStatus()
					return len(st.Members) == nodes && !slices.ContainsFunc(st.Members, func(m raft.Member) bool { return !m.Voter })
				})
				for _, kept := range []string{"snapshot-*.corrupt-*", "log.corrupt-*"} {
					if l, err := filepath.Glob(filepath.Join(c.cfgs[victim].Home, "raft", kept)); err != nil || len(l) == 0 {
						t.Errorf("%s: %v, %v", kept, l, err)
					}
				}
			})
		}
	}
}

func damagedSnapshots(t *testing.T, harm func([]byte) []byte) {
	const threshold = 32
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.Raft.SnapshotThreshold, cfg.Raft.SnapshotInterval, cfg.Raft.TrailingLogs = threshold, 50*time.Millisecond, 8
	})
	lead := c.leader()
	away := (lead + 1) % 3
	c.stop(away)
	cutLog(t, c, lead)
	for i, n := range c.nodes {
		if i == away {
			continue
		}
		suite.Eventually(t, "no snapshot is due", func() bool {
			s := n.Service().RaftStatus()
			return s.LastIndex < s.SnapshotIndex+threshold
		})
		damageFiles(t, filepath.Join(c.cfgs[i].Home, "raft", "snapshots", "*.snap"), harm)
	}
	c.open(away)
	c.ready(away)
	c.agree()
	var aside []string
	for i, cfg := range c.cfgs {
		found, err := filepath.Glob(filepath.Join(cfg.Home, "raft", "snapshot-*.corrupt-*"))
		if err != nil {
			t.Fatal(err)
		}
		aside = append(aside, found...)
		st := c.nodes[i].Service().Cluster().Status(t.Context())
		for _, path := range found {
			id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), "snapshot-"), ".")
			if !slices.Contains(st.SetAside, filepath.Base(path)) || !slices.ContainsFunc(st.Damaged, func(d api.Damage) bool {
				return d.Kind == "snapshot" && d.File == "raft/snapshots/"+id+".snap" && d.Healed && d.Times > 0
			}) {
				t.Errorf("of %s node %d says %q and %+v", path, i+1, st.SetAside, st.Damaged)
			}
		}
	}
	if len(aside) == 0 {
		t.Error("no snapshot was moved aside")
	}
}
