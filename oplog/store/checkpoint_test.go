package store

import (
	"errors"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestACrashLeavesACheckpointWhole crashes the machine before every step of making a checkpoint, and after the last
// one, with all, some or none of the unsynced data on the disk. The store has all flushed data, and so has the
// checkpoint once Checkpoint has returned.
func TestACrashLeavesACheckpointWhole(t *testing.T) {
	t.Parallel()
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := vfs.NewCrashableMem()
			fs := &faultyFS{FS: mem}
			s, err := Open("state", Options{Keys: keys, Buffer: 64 << 10, fs: fs}, nil)
			must(t, err)
			const batches = 12
			for n := 1; n <= batches; n++ {
				must(t, commitBatch(s, n))
			}
			must(t, s.Close())
			s, err = Open("state", Options{Keys: keys, Buffer: 64 << 10, fs: fs}, nil)
			must(t, err)
			rng, seen := rand.New(rand.NewPCG(1, 1)), map[string]bool{}
			var left []*vfs.MemFS
			crash := func(op, _ string) error {
				seen[op] = true
				for _, percent := range []int{0, 50, 100} {
					left = append(left, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}))
				}
				return nil
			}
			fs.set(crash)
			must(t, s.Checkpoint("saved"))
			made := len(left)
			must(t, crash("end", ""))
			fs.set(nil)
			must(t, s.Close())
			for i, left := range left {
				for _, dir := range []string{"state", "saved"} {
					if dir == "saved" && i < made {
						continue // Checkpoint has not returned
					}
					s, err := Open(dir, Options{Keys: keys, ReadOnly: dir == "saved", fs: left}, nil)
					if err != nil {
						t.Fatalf("crash %d: %s: %v", i, dir, err)
					}
					if at, err := lastBatch(s); err != nil || at != batches {
						t.Errorf("crash %d: %s is at %d: %v", i, dir, at, err)
					}
					must(t, s.Close())
				}
			}
			for _, op := range []string{"create", "write", "sync", "link"} {
				if !seen[op] {
					t.Errorf("no step was a %s", op)
				}
			}
			t.Logf("%d crashes", len(left))
		})
	}
}

// TestACheckpointOnABrokenDisk makes one step of a checkpoint after another fail, once because the disk is full and
// once with another error. The caller gets the error without waiting. Unless a flush failed, the store continues.
func TestACheckpointOnABrokenDisk(t *testing.T) {
	t.Parallel()
	for name, keys := range rings() {
		for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
			t.Run(name+" "+cause.Error(), func(t *testing.T) {
				t.Parallel()
				for fails, all := 0, false; !all; fails++ {
					synctest.Test(t, func(t *testing.T) { // it fails when a goroutine is left
						fs := &faultyFS{FS: vfs.NewMem()}
						s, err := Open("state", Options{Keys: keys, fs: fs}, nil)
						must(t, err)
						must(t, commitBatch(s, 1))
						steps, broken, within := 0, false, false
						fs.set(func(op, name string) error {
							if steps++; op == "link" || broken || steps <= fails { // a link that fails becomes a copy
								return nil
							}
							broken, within = true, strings.HasPrefix(name, "state")
							return cause
						})
						err = s.Checkpoint("saved")
						fs.set(nil)
						if !broken {
							must(t, errors.Join(err, s.Close()))
							all = true // steps have been tried
							return
						}
						if err != nil && !errors.Is(err, cause) {
							t.Fatalf("step %d: %v", fails, err)
						}
						if !within {
							if err == nil {
								t.Fatalf("step %d failed, and nothing said so", fails)
							}
							must(t, commitBatch(s, 2))
							must(t, s.Checkpoint("another"))
						}
						if err := s.Close(); err != nil && !within {
							t.Fatalf("step %d: %v", fails, err)
						}
					})
				}
			})
		}
	}
}
