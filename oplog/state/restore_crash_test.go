package state

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
)

// TestACrashWhileAStateIsRestored crashes the machine before each write, sync, create, rename and removal of a
// restore, with all or none of the unsynced data on the disk. Afterwards the state is either the old one or the
// snapshot, complete.
func TestACrashWhileAStateIsRestored(t *testing.T) {
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := mustOpen(t, filepath.Join(t.TempDir(), "source"))
			mustApply(t, source, markedHistory()...)
			stream := snapshotOf(t, source).Bytes()
			next, nextSum := source.Sum()
			must(t, source.Close())

			dir := filepath.Join(t.TempDir(), "state")
			d := &crashes{t: t, dir: dir, synced: map[uint64]int64{}}
			s, err := Open(dir, Options{Keys: keys, Step: d.step})
			must(t, err)
			mustApply(t, s, record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}))
			must(t, s.Flush())
			was, wasSum := s.Sum()
			d.watch(true)
			must(t, s.Restore(bytes.NewReader(stream), nil))
			d.watch(false)
			d.leave("restored")
			must(t, s.Close())

			before, after := 0, 0
			for _, c := range d.left {
				s, err := Open(c.dir, Options{Keys: keys, NoSync: true})
				if err != nil {
					t.Fatalf("%s: %v", c.what, err)
				}
				if err := s.Verify(); err != nil {
					t.Errorf("%s: %v", c.what, err)
				}
				switch at, sum := s.Sum(); {
				case at == was && sum == wasSum && !strings.HasPrefix(c.what, "restored"):
					before++
				case at == next && sum == nextSum:
					after++
				default:
					t.Errorf("%s: the state is at %d, want %d or %d", c.what, at, was, next)
				}
				must(t, s.Close())
			}
			t.Logf("%d crashes left the state before, %d the snapshot's", before, after)
			if before < 20 || after < 2 {
				t.Error("nothing was tested")
			}
		})
	}
}

// crashes records the files that crashes leave in a directory.
type crashes struct {
	t   *testing.T
	dir string

	mu       sync.Mutex
	watching bool
	synced   map[uint64]int64 // bytes of files, by inode
	left     []leftover
}

type leftover struct{ what, dir string }

func (d *crashes) watch(yes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watching = yes
}

// step implements Options.Step.
func (d *crashes) step(op, path string, do func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watching {
		d.leave(op + " " + filepath.Base(path))
	}
	if err := do(); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		switch op {
		case "sync":
			d.synced[info.Sys().(*syscall.Stat_t).Ino] = info.Size()
		case "create":
			d.synced[info.Sys().(*syscall.Stat_t).Ino] = 0
		}
	}
	return nil
}

// leave copies all written data, as a kill leaves it, and separately only the synced data. Directory entries count as
// synced at once.
func (d *crashes) leave(what string) {
	d.t.Helper()
	killed, crashed := d.t.TempDir(), d.t.TempDir()
	d.left = append(d.left, leftover{what + ", killed", killed}, leftover{what + ", crashed", crashed})
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // a file of the previous generation, which is being removed
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(d.dir, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return errors.Join(os.MkdirAll(filepath.Join(killed, name), 0o700), os.MkdirAll(filepath.Join(crashed, name), 0o700))
		}
		b, err := os.ReadFile(path)
		info, serr := e.Info()
		if err = errors.Join(err, serr); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		synced := b
		if n, ok := d.synced[info.Sys().(*syscall.Stat_t).Ino]; ok {
			synced = b[:min(n, int64(len(b)))]
		}
		return errors.Join(os.WriteFile(filepath.Join(killed, name), b, 0o600), os.WriteFile(filepath.Join(crashed, name), synced, 0o600))
	})
	if err != nil {
		d.t.Error(err)
	}
}
