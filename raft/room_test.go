package raft

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	hraft "github.com/hashicorp/raft"
)

// A meter watches the steps of a log's disk, and lets those fail for which fails says so.
type meter struct {
	mu     sync.Mutex
	fails  func(step string) error
	failed int
}

func (m *meter) step(step string, do func() error) error {
	if m == nil {
		return do()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != nil {
		if err := m.fails(step); err != nil {
			m.failed++
			return err
		}
	}
	return do()
}

func (m *meter) set(fails func(string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails, m.failed = fails, 0
}

func (m *meter) refused() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

// TestALogOpensOnAFullDisk: what a crash left in the journal has no room in the file yet. It is read from where it is.
func TestALogOpensOnAFullDisk(t *testing.T) {
	t.Parallel()
	m, dir := &meter{}, t.TempDir()
	open := func() store {
		t.Helper()
		n := &Node{cfg: Config{Dir: dir, WriteLog: m.step}.withDefaults()}
		s, err := n.openStore(filepath.Join(dir, "raft.db"), 0)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	full := func(string) error { return syscall.ENOSPC }
	s := open()
	for i := range uint64(5) {
		if err := s.StoreLog(&hraft.Log{Index: i + 1, Term: 1, Data: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	m.set(full)
	if err := s.Close(); !lacksRoom(err) {
		t.Fatalf("closing: %v", err)
	}
	s = open()
	var l hraft.Log
	for i := range uint64(5) {
		if err := s.GetLog(i+1, &l); err != nil || l.Index != i+1 {
			t.Errorf("record %d: %v, %v", i+1, l.Index, err)
		}
	}
	next := &hraft.Log{Index: 6, Term: 1, Data: []byte("y")}
	if err := s.StoreLog(next); !lacksRoom(err) {
		t.Errorf("a record on a full disk: %v", err)
	}
	m.set(func(step string) error {
		if step == "sync" {
			return syscall.ENOSPC
		}
		return nil
	})
	if err := s.StoreLog(next); !errors.Is(err, syscall.ENOSPC) || lacksRoom(err) {
		t.Errorf("a sync that found no room: %v", err) // what it was to write is perhaps there
	}
	m.set(nil)
	if err := errors.Join(s.StoreLog(next), s.Close()); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	if last, err := s.LastIndex(); last != 6 || err != nil {
		t.Errorf("it ends at %d, %v", last, err)
	}
}

// TestADiskFullAfterTheEndWasCut: records of another leader are taken away, and there is no room for those of this one.
func TestADiskFullAfterTheEndWasCut(t *testing.T) {
	t.Parallel()
	disks := map[int]*meter{0: {}, 1: {}, 2: {}}
	c := startOn(t, 3, disks)
	want := c.propose(0, 10)
	l := c.leader()
	i := int(l.cfg.NodeID % 3)
	f, m := c.nodes[i], disks[i]
	has := func() bool { return slices.Equal(c.sms[i].items(), want) }
	c.wait("the follower to have all", has)
	index, term := f.lastRecord()
	req := &hraft.AppendEntriesRequest{Term: l.Term(), PrevLogEntry: index, PrevLogTerm: term}
	for at := range uint64(3) {
		req.Entries = append(req.Entries, &hraft.Log{Index: index + 1 + at, Term: term - 1, Type: hraft.LogCommand, Data: []byte("never counted")})
	}
	var resp hraft.AppendEntriesResponse
	if err := l.transport.AppendEntries(serverID(f.cfg.NodeID), hraft.ServerAddress(c.addrs[i]), req, &resp); err != nil || !resp.Success {
		t.Fatalf("%+v, %v", resp, err)
	}
	commits := 0
	m.set(func(step string) error {
		if step == "commit" {
			commits++ // what the journal has, and then the cut
		}
		if commits >= 2 && step == "write" {
			return syscall.ENOSPC
		}
		return nil
	})
	want = append(want, c.propose(10, 20)...)
	c.wait("the follower to find no room again and again", func() bool { return m.refused() > 1 })
	m.set(nil)
	c.wait("the follower to go on", has)
}

// TestADiskThatFailsAtTheStart: a member that cannot write its log does not start, and does not take it for damaged.
func TestADiskThatFailsAtTheStart(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	want := c.propose(0, 10)
	if err := c.nodes[0].Close(); err != nil {
		t.Fatal(err)
	}
	for step := range 6 { // what is written before it runs
		m := &meter{}
		m.set(func(string) error {
			if step--; step < 0 {
				return syscall.EIO
			}
			return nil
		})
		n, err := Open(t.Context(), Config{NodeID: 1, Dir: c.dirs[0], Addr: c.addrs[0], Secret: "secret", Alone: true, WriteLog: m.step, Handler: noHandler{}}, c.sms[0])
		if err == nil { // it failed later, or not at all
			_ = n.Close()
		} else if !errors.Is(err, syscall.EIO) {
			t.Errorf("got %v", err)
		}
	}
	c.reopen(0, "secret", nil)
	if c.nodes[0].amnesiac() {
		t.Error("it took its log for damaged")
	}
	want = append(want, c.propose(10, 11)...)
	if !slices.Equal(c.sms[0].items(), want) {
		t.Errorf("it has %q", c.sms[0].items())
	}
}
