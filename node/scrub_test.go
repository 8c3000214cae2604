package node_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// flip changes a bit of a text in a file, wherever the text is.
func flip(t *testing.T, path, text string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	hits := 0
	for at := bytes.Index(raw, []byte(text)); at >= 0; at = next(raw, at, text) {
		if _, err := f.WriteAt([]byte{raw[at+len(text)-1] ^ 1}, int64(at+len(text)-1)); err != nil {
			t.Fatal(err)
		}
		hits++
	}
	if hits == 0 {
		t.Fatalf("%q is not in %s", text, path)
	}
}

func next(raw []byte, at int, text string) int {
	i := bytes.Index(raw[at+1:], []byte(text))
	if i < 0 {
		return -1
	}
	return at + 1 + i
}

// TestFlippedBitsAreHealed changes a memory in the state of a member, under it and while it is down, so that the file looks
// whole. The member finds it, says so and stops; it starts without the file and has from the others what was written.
func TestFlippedBitsAreHealed(t *testing.T) {
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.ScrubEvery = 50 * time.Millisecond
		cfg.SnapshotThreshold, cfg.TrailingLogs = 64, 32 // so that its own snapshots have the damage in them
		cfg.SnapshotInterval = 100 * time.Millisecond
	})
	cl := c.dial(0, 1, 2)
	var rids []string
	for i := range 150 {
		rid, err := cl.Remember(t.Context(), wire.NewRemember(fmt.Sprintf("lighthouse number %04d has a keeper", i)))
		if err != nil {
			t.Fatal(err)
		}
		rids = append(rids, rid)
	}
	c.agree()
	for round, victim := range []int{c.leader(), (c.leader() + 1) % 3} {
		state := filepath.Join(c.cfgs[victim].Home, "state.db")
		text := fmt.Sprintf("lighthouse number %04d has", 50+round)
		if round == 0 {
			flip(t, state, text)
		} else {
			c.stop(victim)
			flip(t, state, text)
			c.open(victim)
		}
		select {
		case <-c.nodes[victim].Done():
		case <-time.After(20 * time.Second):
			t.Fatal("the damage was not found")
		}
		if err := c.nodes[victim].Err(); !oplog.IsCorrupt(err) {
			t.Errorf("the node says %v", err)
		}
		c.stop(victim)
		c.open(victim)
		c.ready(victim)
		c.agree()
		s, caller := c.service(victim)
		for i, rid := range rids {
			want := fmt.Sprintf("lighthouse number %04d has a keeper", i)
			m, err := s.Memory(t.Context(), caller, rid, node.Stale)
			if err != nil || m.Text != want {
				t.Fatalf("round %d: got %v, %v, want %q", round, m, err, want)
			}
		}
		for _, kept := range []string{"state.db.corrupt-*", "raft.corrupt-*"} {
			if l, err := filepath.Glob(filepath.Join(c.cfgs[victim].Home, kept)); err != nil || len(l) != 1 {
				t.Errorf("kept aside: %v, %v", l, err)
			}
		}
		eventually(t, "it has its vote again", func() bool {
			for _, m := range c.nodes[victim].Service().RaftStatus().Members {
				if m.ID == uint32(victim+1) {
					return m.Voter
				}
			}
			return false
		})
	}
}

// A node that is alone says what it found, and goes on: there is nobody to be healed by.
func TestFlippedBitsOfANodeThatIsAlone(t *testing.T) {
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.ScrubEvery = 20 * time.Millisecond })
	cl := c.dial(0)
	if _, err := cl.Remember(t.Context(), wire.NewRemember("lighthouse number one has a keeper")); err != nil {
		t.Fatal(err)
	}
	damaged := func() bool { return counted(t, c.nodes[0].Addrs().HTTP) > 0 }
	if damaged() {
		t.Fatal("damage before there is any")
	}
	flip(t, filepath.Join(c.cfgs[0].Home, "state.db"), "lighthouse number one has")
	eventually(t, "it counts the damage", damaged)
	if err := c.nodes[0].Err(); err != nil {
		t.Errorf("the node stopped: %v", err)
	}
	if r := find(t, cl, "keeper"); len(r) != 1 {
		t.Errorf("%v", r)
	}
}

// counted is how often a node says that it found damage.
func counted(t *testing.T, addr string) (n int) {
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
