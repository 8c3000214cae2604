package logstore

import (
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"

	hraft "github.com/hashicorp/raft"
)

// TestAFailedSyncIsTheLast: after a failed sync the content of the disk is unknown until the file is read again, so
// the store never syncs again.
func TestAFailedSyncIsTheLast(t *testing.T) {
	t.Parallel()
	s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, nil)}
	s.open()
	must(t, s.log.StoreLog(record(1, 1, 0)))
	s.files.op = func(op, _ string) error {
		if op == "sync" {
			return syscall.ENOSPC
		}
		return nil
	}
	if err := s.log.StoreLog(record(2, 1, 0)); !errors.Is(err, ErrUnsynced) {
		t.Errorf("a sync that failed: %v", err)
	}
	s.files.op = nil
	if err := s.log.StoreLog(record(2, 1, 0)); !errors.Is(err, ErrUnsynced) {
		t.Errorf("after a sync that failed: %v", err)
	}
	if err := s.log.Close(); !errors.Is(err, ErrUnsynced) {
		t.Errorf("close: %v", err)
	}
	s.want = []*hraft.Log{record(1, 1, 0)}
	s.files = s.files.crashed(rand.New(rand.NewPCG(1, 1)))
	s.open()
	if compareLog(s.log, s.want) != nil && compareLog(s.log, append(s.want, record(2, 1, 0))) != nil {
		t.Error(compareLog(s.log, s.want))
	}
}

// TestALeadersRecordsAreSyncedBeside: on a leader StoreLogs does not wait for the disk, but everything that depends
// on the records does.
func TestALeadersRecordsAreSyncedBeside(t *testing.T) {
	t.Parallel()
	goOn := make(chan error)
	files := newMemory()
	log, err := Open("log", Options{FS: slowSyncFS{files, goOn}, Leads: func() bool { return true }})
	must(t, err)
	noop := &hraft.Log{Index: 1, Term: 1, Type: hraft.LogNoop}
	stored := make(chan error, 1)
	go func() { stored <- log.StoreLog(noop) }()
	goOn <- nil // StoreLogs waits, because the library acts on the record by itself
	must(t, <-stored)
	must(t, log.StoreLog(&hraft.Log{Index: 2, Term: 1}))
	if log.Synced() || log.CapSynced(5) != 1 || log.CapSynced(1) != 1 {
		t.Errorf("synced: %v, up to %d", log.Synced(), log.CapSynced(5))
	}
	if err := log.WaitSynced(1); err != nil {
		t.Error(err)
	}
	goOn <- nil
	if err := log.WaitSynced(2); err != nil || !log.Synced() || log.CapSynced(5) != 5 {
		t.Errorf("%v; synced: %v, up to %d", err, log.Synced(), log.CapSynced(5))
	}
}

// slowSyncFS blocks each sync of a published segment until a test releases it.
type slowSyncFS struct {
	*memoryFS
	goOn chan error
}

func (f slowSyncFS) Create(name string) (File, error) {
	file, err := f.memoryFS.Create(name)
	return &slowFile{file, f.goOn, 0}, err
}

type slowFile struct {
	File
	goOn  chan error
	syncs int
}

func (f *slowFile) Sync() error {
	if f.syncs++; f.syncs > 1 { // the first one creates the segment
		if err := <-f.goOn; err != nil {
			return err
		}
	}
	return f.File.Sync()
}
