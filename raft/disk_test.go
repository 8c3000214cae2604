package raft

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/wire"
)

// A faultyDisk observes each step, and fails it if fails returns an error. The steps are "write" into a file of the
// log, "create" and "fill" of a file before it has its name, "rename", "cut" for the renaming of a segment, "remove"
// and "sync".
type faultyDisk struct {
	logstore.OS
	mu     sync.Mutex
	fails  func(step string) error
	failed int
}

func (m *faultyDisk) step(step string, do func() error) error {
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

func (m *faultyDisk) Create(name string) (f logstore.File, err error) {
	err = m.step("create", func() error { f, err = m.OS.Create(name); return err })
	return &faultyFile{f, m, "fill"}, err
}

func (m *faultyDisk) Open(name string) (logstore.File, error) {
	f, err := m.OS.Open(name)
	return &faultyFile{f, m, "write"}, err
}

func (m *faultyDisk) Rename(from, to string) error {
	step := "rename"
	if filepath.Ext(to) == ".seg" {
		step = "cut"
	}
	return m.step(step, func() error { return m.OS.Rename(from, to) })
}

func (m *faultyDisk) Remove(name string) error {
	return m.step("remove", func() error { return m.OS.Remove(name) })
}

type faultyFile struct {
	logstore.File
	m     *faultyDisk
	write string
}

func (f *faultyFile) WriteAt(b []byte, at int64) (n int, err error) {
	err = f.m.step(f.write, func() error { n, err = f.File.WriteAt(b, at); return err })
	f.write = "write"
	return n, err
}

func (f *faultyFile) Sync() error { return f.m.step("sync", f.File.Sync) }

func (m *faultyDisk) set(fails func(string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails, m.failed = fails, 0
}

func (m *faultyDisk) failures() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

// TestADiskFullAfterTheEndWasCut: records of another leader were deleted, and there is no space for their
// replacements.
func TestADiskFullAfterTheEndWasCut(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	disks := map[int]*faultyDisk{0: {}, 1: {}, 2: {}}
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
		req.Entries = append(req.Entries,
			&hraft.Log{Index: index + 1 + at, Term: term - 1, Type: hraft.LogCommand, Data: []byte("never counted")})
	}
	f.storeDirectly(t, l, req)
	cut := false
	m.set(func(step string) error {
		cut = cut || step == "cut"
		if cut && step == "write" {
			return syscall.ENOSPC
		}
		return nil
	})
	want = append(want, c.propose(10, 20)...)
	c.wait("the follower to find no room again and again", func() bool { return m.failures() > 1 })
	m.set(nil)
	c.wait("the follower to go on", has)
}

// TestADiskThatFailsAtTheStart: a member that cannot write its log does not start, and does not treat the log as
// damaged.
func TestADiskThatFailsAtTheStart(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	want := c.propose(0, 10)
	if err := c.nodes[0].Close(); err != nil {
		t.Fatal(err)
	}
	for step := range 12 { // the writes before it runs
		m := &faultyDisk{}
		m.set(func(string) error {
			if step--; step < 0 {
				return syscall.EIO
			}
			return nil
		})
		n, err := Open(t.Context(),
			Config{NodeID: 1, Dir: c.dirs[0], Addr: c.addrs[0], Credentials: Credentials{Secret: "secret"}, Alone: true,
				Seams: Seams{LogFiles: m}, Handler: noHandler{}}, c.sms[0])
		if err == nil { // the disk failed later, or not at all
			_ = n.Close()
		} else if !errors.Is(err, syscall.EIO) {
			t.Errorf("got %v", err)
		}
	}
	c.reopen(0, "secret", nil)
	if c.nodes[0].stateless() {
		t.Error("it took its log for damaged")
	}
	want = append(want, c.propose(10, 11)...)
	if !slices.Equal(c.sms[0].items(), want) {
		t.Errorf("it has %q", c.sms[0].items())
	}
}

// TestAChangeOfMembersEndsWithItsContext: the followers answer, but have no space for the record that changes the
// members.
func TestAChangeOfMembersEndsWithItsContext(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for name, asks := range map[string]func(c *cluster, leader int) *Node{
		"asked of the leader": func(c *cluster, leader int) *Node { return c.nodes[leader] },
		"asked of a follower": func(c *cluster, leader int) *Node { return c.nodes[(leader+1)%3] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changeEndsWithItsContext(t, asks)
		})
	}
}

func changeEndsWithItsContext(t *testing.T, asks func(c *cluster, leader int) *Node) {
	disks := map[int]*faultyDisk{0: {}, 1: {}, 2: {}}
	c := startOn(t, 3, disks)
	want := c.propose(0, 10)
	l := c.leader()
	other, before := l.cfg.NodeID%3+1, l.raft.LastIndex()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i, m := range disks {
		if i != int(l.cfg.NodeID-1) {
			c.wait("the follower to have all", func() bool { return slices.Equal(c.sms[i].items(), want) })
			m.set(func(step string) error {
				if step != "write" {
					return nil
				}
				if l.raft.LastIndex() > before {
					cancel()
				}
				return syscall.ENOSPC
			})
		}
	}
	if _, err := asks(c, int(l.cfg.NodeID-1)).Change(ctx, wire.Membership{Action: "remove", NodeID: other}); !errors.Is(err, ErrUnknownOutcome) {
		t.Fatalf("a change that no follower could take ended with %v", err)
	}
	for _, m := range disks {
		m.set(nil)
	}
	c.wait("the change to be made after all", func() bool { _, member := l.findMember(other); return !member })
}

// TestAMemberWithoutDescriptors: a process that can open no file cannot do its periodic writes. Its disk has not
// failed, and it goes on as soon as it can open files again.
func TestAMemberWithoutDescriptors(t *testing.T) {
	t.Parallel()
	m := &faultyDisk{}
	c := startWith(t, 1, &cluster{disks: map[int]*faultyDisk{0: m}})
	c.propose(0, 10)
	m.set(func(step string) error {
		if step == "create" {
			return syscall.EMFILE
		}
		return nil
	})
	c.propose(10, 20)
	c.wait("it to want a file", func() bool { return m.failures() > 1 || c.nodes[0].disk.Err() != nil })
	if err := c.nodes[0].disk.Err(); err != nil {
		t.Fatal(err)
	}
	m.set(nil)
	c.wait("it to write the file", func() bool { return c.nodes[0].logs.StoreCommitted() == nil })
	c.propose(20, 30)
}
