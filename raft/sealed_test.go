package raft

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

func newRing() *seal.Ring { return seal.Ephemeral([]seal.Master{seal.NewMaster()}) }

// countText counts the occurrences of a text in all files below a directory.
func countText(t *testing.T, dir, text string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		n += bytes.Count(raw, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEncryptedMembersBesideAPlainOne: a plain member and two with different keys form one cluster: by log, by
// snapshot and after restarts.
func TestEncryptedMembersBesideAPlainOne(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startSealed(t, 3, map[int]*seal.Ring{1: newRing(), 2: newRing()})
	peers := func(i int) []string { return slices.Concat(c.addrs[:i], c.addrs[i+1:]) }
	want := c.propose(0, 30)
	for _, n := range c.nodes {
		c.wait("all records", func() bool { return len(c.sms[n.cfg.NodeID-1].items()) == len(want) })
		if err := n.raft.Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range c.nodes {
		n.Close()
		if got := countText(t, c.dirs[i], "entry-"); (got == 0) != (c.keys[i] != nil) {
			t.Errorf("node %d holds %d readable records", i+1, got)
		}
	}
	c.sms[1] = &listMachine{} // its state is lost and comes back from its own snapshot
	for i := range c.nodes {
		c.reopen(i, "secret", peers(i))
	}
	want = append(want, c.propose(30, 40)...)
	for i := range c.nodes {
		c.wait("equal lists", func() bool { return slices.Equal(c.sms[i].items(), want) })
	}
	// A leader's snapshot travels to a member under another key, and to a plain one.
	l := int(c.leader().cfg.NodeID - 1)
	behind := []int{(l + 1) % 3, (l + 2) % 3}
	c.nodes[behind[0]].Close()
	want = append(want, c.propose(40, 50)...)
	if err := c.nodes[l].snapshotAndCompact(); err != nil {
		t.Fatal(err)
	}
	c.sms[behind[0]] = &listMachine{}
	if err := os.RemoveAll(c.dirs[behind[0]]); err != nil {
		t.Fatal(err)
	}
	c.reopen(behind[0], "secret", peers(behind[0]))
	c.wait("the list by snapshot", func() bool { return slices.Equal(c.sms[behind[0]].items(), want) })
}

func TestTheLogAsksForItsKey(t *testing.T) {
	t.Parallel()
	keys := newRing()
	c := startSealed(t, 1, map[int]*seal.Ring{0: keys})
	want := c.propose(0, 5)
	c.nodes[0].Close()
	open := func(k *seal.Ring) error {
		n, err := Open(context.Background(),
			Config{NodeID: 1, Dir: c.dirs[0], Addr: c.addrs[0], Credentials: Credentials{Secret: "secret"}, Alone: true,
				Handler: noHandler{}, Keys: k}, c.sms[0])
		if err == nil {
			n.Close()
		}
		return err
	}
	if err := open(nil); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("without a key: %v", err)
	}
	if err := open(newRing()); !errors.Is(err, seal.ErrKey) {
		t.Errorf("with another key: %v", err)
	}
	c.reopen(0, "secret", nil)
	want = append(want, c.propose(5, 6)...)
	if got := c.sms[0].items(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	plain := start(t, 1)
	plain.propose(0, 1)
	plain.nodes[0].Close()
	c.dirs[0], c.addrs[0] = plain.dirs[0], plain.addrs[0]
	if err := open(keys); !errors.Is(err, seal.ErrPlain) {
		t.Errorf("a plain log: %v", err)
	}
}

// TestDamagedRecordsAreFound: a start detects a changed record, and moves the log aside.
func TestDamagedRecordsAreFound(t *testing.T) {
	t.Parallel()
	c := startSealed(t, 1, map[int]*seal.Ring{0: newRing()})
	want := c.propose(0, 20)
	c.nodes[0].Close()
	path := segments(t, c.dirs[0])[0]
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(bytes.TrimRight(raw, "\x00"))-100] ^= 1
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	c.reopen(0, "secret", nil)
	if aside, _ := filepath.Glob(filepath.Join(c.dirs[0], "log.corrupt-*")); len(aside) != 1 {
		t.Errorf("moved aside: %v", aside)
	}
	want = append(want, c.propose(20, 21)...)
	if got := c.sms[0].items(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNothingNeedsAReplacedKey: after a key is replaced, a member rewrites its records and its vote and replaces its
// snapshots. Then the old key can be removed, whether the log has newer records or only those of the new term. The
// log keeps the records that followers may ask for.
func TestNothingNeedsAReplacedKey(t *testing.T) {
	t.Parallel()
	home, masters := t.TempDir(), []seal.Master{seal.NewMaster()}
	keys, err := seal.Create(home, masters)
	if err != nil {
		t.Fatal(err)
	}
	c := startSealed(t, 1, map[int]*seal.Ring{0: keys})
	want := c.propose(0, 20)
	if err := c.nodes[0].raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		c.nodes[0].Close()
		if err := c.keys[0].Rotate(); err != nil {
			t.Fatal(err)
		}
		if c.keys[0], _, err = seal.Open(home, masters); err != nil || len(c.keys[0].Keys()) != 2 {
			t.Fatal(c.keys[0].Keys(), err)
		}
		c.reopen(0, "secret", nil)
		if round > 0 {
			want = append(want, c.propose(20*round, 20*round+20)...)
		}
		was, err := c.nodes[0].logs.FirstIndex()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.nodes[0].ResealLog(); err != nil {
			t.Fatal(err)
		}
		c.wait("new snapshots", func() bool { return c.nodes[0].RenewSnapshot() == nil })
		if first, err := c.nodes[0].logs.FirstIndex(); err != nil || first != was {
			t.Errorf("the log begins at %d, and began at %d: %v", first, was, err)
		}
		if err := c.keys[0].Retire(); err != nil {
			t.Fatal(err)
		}
		c.nodes[0].Close()
		if c.keys[0], _, err = seal.Open(home, masters); err != nil || len(c.keys[0].Keys()) != 1 {
			t.Fatal(c.keys[0].Keys(), err)
		}
		if round == 2 {
			c.sms[0] = &listMachine{} // filled from the snapshot
		}
		c.reopen(0, "secret", nil)
		c.wait("all records", func() bool { return slices.Equal(c.sms[0].items(), want) })
		if aside, _ := filepath.Glob(filepath.Join(c.dirs[0], "*.corrupt-*")); len(aside) > 0 {
			t.Errorf("round %d, moved aside: %q", round, aside)
		}
	}
}
