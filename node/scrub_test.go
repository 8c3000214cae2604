package node_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
)

// TestFlippedBitsAreHealed flips bits in the tables of a member, while it runs and while it is down. The member
// detects that in a scrub or at its start, reports it and returns none of the damaged data; it starts without those
// files and gets the data from the others.
func TestFlippedBitsAreHealed(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.Raft.SnapshotThreshold, cfg.Raft.TrailingLogs = 64, 32
		cfg.Raft.SnapshotInterval = 100 * time.Millisecond
		cfg.Storage.ScrubEvery = 200 * time.Millisecond
	})
	cl := c.dial(0, 1, 2)
	var rids []string
	for i := range index.SmallRows + 10 { // enough that the index has files
		rid, err := cl.Remember(t.Context(), wire.NewRemember(fmt.Sprintf("lighthouse number %04d has a keeper", i)))
		if err != nil {
			t.Fatal(err)
		}
		rids = append(rids, rid)
	}
	c.agree()
	flippedWords(t, c, (c.leader()+2)%3)
	for round, victim := range []int{c.leader(), (c.leader() + 1) % 3} {
		dir := filepath.Join(c.cfgs[victim].Home, "state")
		if round == 0 {
			if err := c.nodes[victim].Snapshot(); err != nil { // the state is on the disk
				t.Fatal(err)
			}
			rafttest.FlipTables(t, dir)
			s, caller := c.service(victim) // earlier reads may be cached
			if m, err := api.Get.Do(t.Context(), s, caller, &api.GetRequest{RID: rids[50]}); err == nil &&
				m.Text != "lighthouse number 0050 has a keeper" {
				t.Errorf("it answers %q", m.Text)
			}
			suite.Receive(t, "a node that stops at its damage", c.nodes[victim].Done())
			if err := c.nodes[victim].Err(); !state.IsCorrupt(err) {
				t.Errorf("the node says %v", err)
			}
			c.stop(victim)
		} else {
			c.stop(victim)
			rafttest.FlipTables(t, dir)
		}
		c.open(victim)
		c.ready(victim)
		c.agree()
		s, caller := c.service(victim)
		for i, rid := range rids {
			want := fmt.Sprintf("lighthouse number %04d has a keeper", i)
			m, err := api.Get.Do(t.Context(), s, caller, &api.GetRequest{RID: rid})
			if err != nil || m.Text != want {
				t.Fatalf("round %d: got %v, %v, want %q", round, m, err, want)
			}
		}
		if l, err := filepath.Glob(dir + ".corrupt-*"); err != nil || len(l) != 1 {
			t.Errorf("kept aside: %v, %v", l, err)
		}
		suite.Eventually(t, "it has its vote again", func() bool {
			for _, m := range c.nodes[victim].Service().RaftStatus().Members {
				if m.ID == uint32(victim+1) {
					return m.Voter
				}
			}
			return false
		})
	}
}

// flippedWords flips bits in the segments of a running member's index. The member reports them and rebuilds their
// content from the state.
func flippedWords(t *testing.T, c *cluster, victim int) {
	t.Helper()
	pattern := filepath.Join(c.cfgs[victim].Home, "index", "*", "text", "*.zap")
	var words []string
	suite.Eventually(t, "its words are on the disk", func() bool {
		words, _ = filepath.Glob(pattern)                                             // the pattern is valid
		return len(words) > 0 && !slices.ContainsFunc(words, func(path string) bool { // an incomplete file
			raw, err := os.ReadFile(path)
			end := len(raw) - crc32.Size
			return err != nil || end < 0 || crc32.ChecksumIEEE(raw[:end]) != binary.BigEndian.Uint32(raw[end:])
		})
	})
	for _, path := range words {
		rafttest.FlipOne(t, path, rand.New(rand.NewPCG(5, 6)))
	}
	suite.Eventually(t, "it names the file, and has made its index anew", func() bool {
		found := c.nodes[victim].Service().Cluster().Status(t.Context()).Damaged
		return len(found) == 1 && found[0].Kind == "index" && found[0].Database == "default" && found[0].Healed &&
			slices.Contains(words, filepath.Join(c.cfgs[victim].Home, found[0].File))
	})
	s, caller := c.service(victim)
	if found, err := api.Recall.Do(t.Context(), s, caller,
		&api.RecallRequest{Question: api.Question{Text: "lighthouse 0050", K: 1}}); err != nil || len(found.Results) != 1 ||
		found.Results[0].Text != "lighthouse number 0050 has a keeper" {
		t.Errorf("it finds %+v, %v", found, err)
	}
	if _, err := os.Stat(words[0]); !os.IsNotExist(err) {
		t.Errorf("%s stays: %v", words[0], err)
	}
}

// TestFlippedBitsOfANodeThatIsAlone checks that a single node reports damage, returns none of the damaged data, and
// continues. Its next start rebuilds the state from its log, if that reaches the old index. A snapshot shares tables
// with the state, so the node does not start if all of them are damaged.
func TestFlippedBitsOfANodeThatIsAlone(t *testing.T) {
	t.Parallel()
	for _, snapshot := range []bool{false, true} {
		t.Run(fmt.Sprintf("snapshot %t", snapshot), func(t *testing.T) {
			t.Parallel()
			c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Raft.TrailingLogs, cfg.Storage.ScrubEvery = 4, 200*time.Millisecond })
			cl := c.dial(0)
			rid, err := cl.Remember(t.Context(), wire.NewRemember("lighthouse number one has a keeper"))
			other := ""
			if err == nil {
				other, err = cl.Remember(t.Context(), wire.NewRemember("the bakery opens at six"))
			}
			if err != nil {
				t.Fatal(err)
			}
			if snapshot {
				for i := range 20 {
					if _, err := cl.Remember(t.Context(), wire.NewRemember(fmt.Sprintf("filler number %d", i))); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.nodes[0].Snapshot(); err != nil {
					t.Fatal(err)
				}
			}
			damaged := func() bool { return countDamageReports(t, c.nodes[0].Addrs().HTTP) > 0 }
			if damaged() {
				t.Fatal("damage before there is any")
			}
			dir := c.cfgs[0].Home
			c.stop(0) // the state is on the disk
			c.open(0)
			c.ready(0)
			rafttest.FlipTables(t, filepath.Join(dir, "state"))
			suite.Eventually(t, "it counts the damage", damaged)
			s, caller := c.service(0)
			if found := s.Cluster().Status(t.Context()).Damaged; len(found) == 0 || found[0].Kind != "state" || found[0].Healed ||
				!strings.Contains(found[0].Heals, "restart the node") {
				t.Errorf("its status names %+v", found)
			}
			for rid, text := range map[string]string{rid: "lighthouse number one has a keeper", other: "the bakery opens at six"} {
				// it may be cached
				if m, err := api.Get.Do(t.Context(), s, caller, &api.GetRequest{RID: rid}); err == nil && m.Text != text {
					t.Errorf("it answers %q", m.Text)
				}
			}
			if err := c.nodes[0].Err(); err != nil {
				t.Errorf("the node stopped: %v", err)
			}
			suite.Eventually(t, "it leaves word", func() bool {
				_, err := os.Stat(filepath.Join(dir, "rebuild"))
				return err == nil
			})
			c.stop(0)

			log := filepath.Join(dir, "raft")
			if err := os.Rename(log, log+".away"); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				n, err := node.Open(t.Context(), c.cfgs[0])
				if err == nil {
					n.Close()
				}
				if !home.IsLoss(err) {
					t.Errorf("without its log it starts: %v", err)
				}
			}
			if err := errors.Join(os.RemoveAll(log), os.Rename(log+".away", log)); err != nil {
				t.Fatal(err)
			}
			if snapshot {
				n, err := node.Open(t.Context(), c.cfgs[0])
				if err == nil {
					n.Close()
				}
				if !home.IsLoss(err) {
					t.Errorf("it starts, and all its tables are damaged: %v", err)
				}
				return
			}
			c.open(0)
			c.ready(0)
			c.agree()
			s, caller = c.service(0)
			if m, err := api.Get.Do(t.Context(), s, caller, &api.GetRequest{RID: rid}); err != nil ||
				m.Text != "lighthouse number one has a keeper" {
				t.Errorf("after the restart: %v, %v", m, err)
			}
			if l, err := filepath.Glob(filepath.Join(dir, "state.corrupt-*")); err != nil || len(l) != 1 {
				t.Errorf("kept aside: %v, %v", l, err)
			}
		})
	}
}

// countDamageReports returns the number of log messages of a node about damage.
func countDamageReports(t *testing.T, addr string) (n int) {
	t.Helper()
	res, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	const name = "\ncairn_state_damaged_total "
	at := bytes.Index(all, []byte(name))
	if at < 0 {
		t.Fatalf("no such metric:\n%.500s", all)
	}
	if _, err := fmt.Sscan(string(all[at+len(name):]), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDamageIsNotToldAllTheTime checks that a node that cannot be healed yet keeps checking but does not fill its
// log.
func TestDamageIsNotToldAllTheTime(t *testing.T) {
	t.Parallel()
	log := &lines{}
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Storage.ScrubEvery, cfg.Logger = 50*time.Millisecond, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	if _, err := c.dial(0).Remember(t.Context(), wire.NewRemember("lighthouse number one has a keeper")); err != nil {
		t.Fatal(err)
	}
	c.stop(0) // the state is on the disk
	c.open(0)
	c.ready(0)
	rafttest.FlipTables(t, filepath.Join(c.cfgs[0].Home, "state"))
	for _, line := range []string{"the state on disk is damaged", "restart this node"} {
		suite.Eventually(t, "twenty looks", func() bool { return strings.Count(log.String(), line) > 20 })
		told := 0
		for l := range strings.Lines(log.String()) {
			if strings.Contains(l, line) && !strings.Contains(l, "level=DEBUG") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%q is logged %d times", line, told)
		}
	}
}
