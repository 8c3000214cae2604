package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cairndb/cairn/oplog/seal"
)

// rowsOfABatch is so many that a batch does not fit into one block.
const rowsOfABatch = 40

func rowKey(n, i int) []byte { return fmt.Appendf(nil, "row/%06d/%03d", i, n) } // neighbours are of different batches

var placeKey = []byte("place")

// write commits batch n: its place and its rows.
func write(s *Store, n int) error {
	b := s.Batch()
	defer b.Close()
	if err := b.Set(placeKey, binary.BigEndian.AppendUint64(nil, uint64(n))); err != nil {
		return err
	}
	for i := range rowsOfABatch {
		if err := b.Set(rowKey(n, i), bytes.Repeat([]byte{byte(n)}, 100)); err != nil {
			return err
		}
	}
	return b.Commit()
}

// place is the last batch that a store has, of which, and of those before it, it has all rows, and of none behind it any.
func place(s *Store) (int, error) {
	v, ok, err := s.Get(placeKey)
	if err != nil {
		return 0, err
	}
	at := 0
	if ok {
		at = int(binary.BigEndian.Uint64(v))
	}
	snap, err := s.Snapshot()
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	it, err := snap.Iter([]byte("row/"), []byte("row0"))
	if err != nil {
		return 0, err
	}
	defer it.Close()
	rows := 0
	for ok := it.First(); ok; ok = it.Next() {
		rows++
		var i, n int
		if _, err := fmt.Sscanf(string(it.Key()), "row/%06d/%03d", &i, &n); err != nil {
			return 0, err
		}
		if v := it.Value(); n > at || it.Err() == nil && !bytes.Equal(v, bytes.Repeat([]byte{byte(n)}, 100)) {
			return 0, fmt.Errorf("at %d there is row %s with %x", at, it.Key(), v)
		}
	}
	if err := it.Err(); err != nil {
		return 0, err
	}
	if rows != at*rowsOfABatch {
		return 0, fmt.Errorf("at %d there are %d rows", at, rows)
	}
	return at, nil
}

func rings() map[string]*seal.Ring {
	return map[string]*seal.Ring{"plain": nil, "sealed": seal.Ephemeral([]seal.Master{seal.NewMaster()})}
}

// TestACrashLeavesWholeBatches ends the machine before every write, sync, rename, link and remove, with all, some or nothing of what was not synced on the disk, while
// batches are written, flushed and merged. What is there afterwards is some batch with all before it, and none
// before the last flush that had returned.
func TestACrashLeavesWholeBatches(t *testing.T) {
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := vfs.NewCrashableMem()
			fs := &faulty{FS: mem}
			type crash struct {
				op      string
				flushed int
				left    [3]*vfs.MemFS
			}
			var crashes []crash
			var flushed atomic.Int64
			rng := rand.New(rand.NewPCG(1, 1))
			fs.set(func(op, name string) error {
				c := crash{op: op + " " + name, flushed: int(flushed.Load())}
				for i, percent := range []int{0, 50, 100} {
					c.left[i] = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
				}
				crashes = append(crashes, c)
				return nil
			})
			o := Options{Keys: keys, Buffer: 64 << 10, fs: fs}
			s, err := Open("state", o, nil)
			must(t, err)
			const batches = 30
			for n := 1; n <= batches; n++ {
				must(t, write(s, n))
				if n%3 == 0 {
					must(t, s.Flush())
					flushed.Store(int64(n))
				}
			}
			must(t, s.Close())
			flushed.Store(batches)
			fs.set(nil)
			if len(crashes) < 100 {
				t.Fatalf("only %d steps", len(crashes))
			}
			seen := map[string]bool{}
			for i, c := range crashes {
				seen[strings.Fields(c.op)[0]] = true
				for j, left := range c.left {
					s, err := Open("state", Options{Keys: keys, fs: left}, nil)
					if err != nil {
						t.Fatalf("step %d (%s), left %d: %v", i, c.op, j, err)
					}
					at, err := place(s)
					if err != nil || at < c.flushed {
						t.Fatalf("step %d (%s), left %d: at %d, flushed %d: %v", i, c.op, j, at, c.flushed, err)
					}
					must(t, write(s, at+1)) // it goes on
					must(t, s.Close())
				}
			}
			for _, op := range []string{"write", "sync", "create", "remove"} {
				if !seen[op] {
					t.Errorf("no step was a %s", op)
				}
			}
		})
	}
}

// TestABrokenDiskEndsTheStore fails one step after another for good. The store says so and takes nothing more, it closes, and what was
// flushed is there when the disk works again.
func TestABrokenDiskEndsTheStore(t *testing.T) {
	if testing.Short() {
		t.Skip("short runs are those of the race detector, under which pebble panics at lists of tables that it could not write")
	}
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for fails := 0; ; fails += 3 {
				fs := &faulty{FS: vfs.NewMem()}
				o := Options{Keys: keys, Buffer: 64 << 10, fs: fs}
				s, err := Open("state", o, nil)
				must(t, err)
				steps := 0
				broken := false
				fs.set(func(string, string) error {
					if broken = broken || steps == fails; broken {
						return syscall.EIO
					}
					steps++
					return nil
				})
				flushed, last := 0, error(nil)
				for n := 1; n <= 12 && last == nil; n++ {
					if last = write(s, n); last == nil && n%3 == 0 {
						if last = s.Flush(); last == nil {
							flushed = n
						}
					}
				}
				err = s.Close()
				if broken && last == nil && err == nil && flushed < 12 {
					t.Fatalf("step %d failed, and nothing said so", fails)
				}
				fs.set(nil)
				s, err = Open("state", o, nil)
				if err != nil {
					t.Fatalf("step %d: %v", fails, err)
				}
				if at, err := place(s); err != nil || at < flushed {
					t.Fatalf("step %d: at %d, flushed %d: %v", fails, at, flushed, err)
				}
				must(t, s.Close())
				if !broken {
					return // all steps have been tried
				}
			}
		})
	}
}

// TestABrokenDiskIsAnErrorOfOpening fails each step of making, filling and opening a store, once or from then on: it is an error of the
// caller, and no panic. What was there before is there when the disk works again.
func TestABrokenDiskIsAnErrorOfOpening(t *testing.T) {
	build := func(o Options) error {
		b, err := Build("state", o)
		if err != nil {
			return err
		}
		for n := 0; n < 40 && err == nil; n++ {
			err = b.Add(fmt.Appendf(nil, "%06d", n), bytes.Repeat([]byte("v"), 1000))
		}
		return b.Finish(err)
	}
	open := func(o Options) error {
		s, err := Open("state", o, nil)
		if err != nil {
			return err
		}
		return s.Close()
	}
	for name, c := range map[string]struct{ before, do func(Options) error }{
		"a new one":      {func(Options) error { return nil }, open},
		"one that is":    {build, open},
		"one of rows":    {func(Options) error { return nil }, build},
		"one after that": {func(o Options) error { return errors.Join(build(o), open(o)) }, open},
	} {
		for ring, keys := range rings() {
			for _, forever := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, forever %t", name, ring, forever), func(t *testing.T) {
					t.Parallel()
					for fails, all := 0, false; !all; fails++ {
						synctest.Test(t, func(t *testing.T) { // it fails when a goroutine is left
							fs := &faulty{FS: vfs.NewMem()}
							o := Options{Keys: keys, fs: fs}
							must(t, c.before(o))
							steps, broken := 0, ""
							fs.set(func(op, name string) error {
								if steps++; steps == fails+1 || forever && steps > fails {
									broken += op + " " + name + "; "
									return syscall.EIO
								}
								return nil
							})
							err := c.do(o)
							fs.set(nil)
							if broken == "" {
								must(t, err)
								all = true // steps have been tried
								return
							}
							if err != nil && !errors.Is(err, syscall.EIO) {
								t.Fatalf("step %d (%s): %v", fails, broken, err)
							}
							if err == nil && !strings.Contains(broken, "remove") && !strings.Contains(broken, "link") { // the next start removes what was left; what has no link is copied
								t.Fatalf("step %d (%s) failed, and nothing said so", fails, broken)
							}
							if err := open(o); err != nil && name != "one of rows" { // which is made anew, elsewhere
								t.Fatalf("step %d (%s): it does not open afterwards: %v", fails, broken, err)
							}
						})
					}
				})
			}
		}
	}
}

// TestAWriterAheadOfADiskThatFails: the disk stands still until the writer waits for it, and then fails. The writer is told, a flush is, and the store closes.
func TestAWriterAheadOfADiskThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs := &faulty{FS: vfs.NewMem()}
		s, err := Open("state", Options{Buffer: 64 << 10, fs: fs}, nil)
		must(t, err)
		failed := make(chan struct{})
		fs.set(func(op, name string) error {
			if !strings.HasSuffix(name, ".sst") {
				return nil
			}
			<-failed
			return syscall.EIO
		})
		written := 0
		ends := make(chan error, 2)
		go func() {
			var err error
			for ; err == nil; written++ {
				err = write(s, written+1)
			}
			ends <- err
		}()
		synctest.Wait() // it waits for the disk
		if written < buffers {
			t.Errorf("the writer waits after %d batches", written)
		}
		go func() { ends <- s.Flush() }()
		synctest.Wait()
		close(failed)
		for range 2 {
			if err := <-ends; !errors.Is(err, syscall.EIO) {
				t.Errorf("it ends with %v", err)
			}
		}
		if err := s.Close(); !errors.Is(err, syscall.EIO) {
			t.Errorf("closing says %v", err)
		}
	})
}

// TestAFullDiskIsWaitedFor: writers are told, nothing is lost, and it goes on by itself when there is room.
func TestAFullDiskIsWaitedFor(t *testing.T) {
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs := &faulty{FS: vfs.NewMem()}
			o := Options{Keys: keys, fs: fs}
			s, err := Open("state", o, nil)
			must(t, err)
			must(t, write(s, 1))
			must(t, s.Flush())
			fs.set(func(op, name string) error {
				if op == "remove" {
					return nil
				}
				return syscall.ENOSPC
			})
			must(t, write(s, 2))
			if err := s.Flush(); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("flush on a full disk: %v", err)
			}
			if err := write(s, 3); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("a write on a full disk: %v", err)
			}
			fs.set(nil)
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // a task may begin to wait for what it tried before
				err := s.Flush()
				if err == nil && s.Full() == nil {
					break
				}
				if !errors.Is(err, syscall.ENOSPC) && err != nil || time.Now().After(deadline) {
					t.Fatalf("there is room, and it still waits: %v", err)
				}
			}
			fs.set(func(string, string) error { return syscall.ENOSPC })
			must(t, write(s, 3))
			if err := s.Close(); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("closed on a full disk: %v", err)
			}
			fs.set(nil)
			if s, err = Open("state", o, nil); err != nil {
				t.Fatal(err)
			}
			if at, err := place(s); err != nil || at != 2 {
				t.Fatalf("at %d: %v", at, err)
			}
			must(t, s.Close())
		})
	}
}

// TestNoFlipIsServed flips bits of all files of a closed store. A reader gets what was written or ErrDamaged, or the store does not open; Check finds what readers find.
func TestNoFlipIsServed(t *testing.T) {
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			o := Options{Keys: keys, NoSync: true}
			s, err := Open(dir, o, nil)
			must(t, err)
			const batches = 60
			for n := 1; n <= batches; n++ {
				must(t, write(s, n))
				if n%20 == 0 {
					must(t, s.Flush())
				}
			}
			must(t, s.Close())
			rng := rand.New(rand.NewPCG(1, 2))
			dead, caught := map[string]int{}, map[string]int{} // by kind of file
			for i := range 2 * flips {
				copied := filepath.Join(t.TempDir(), "state")
				must(t, os.CopyFS(copied, os.DirFS(dir)))
				files, err := filepath.Glob(filepath.Join(copied, "*.sst"))
				must(t, err)
				lists, err := filepath.Glob(filepath.Join(copied, "MANIFEST*"))
				must(t, err)
				kind := "tables"
				if i%2 == 1 {
					files, kind = lists, "list of tables"
				}
				file := files[rng.IntN(len(files))]
				raw, err := os.ReadFile(file)
				must(t, err)
				bit := rng.IntN(len(raw) * 8)
				raw[bit/8] ^= 1 << (bit % 8)
				must(t, os.WriteFile(file, raw, 0o600))
				s, err := Open(copied, o, nil)
				if err != nil {
					if !errors.Is(err, ErrDamaged) {
						t.Fatalf("bit %d of %s: %v", bit, filepath.Base(file), err)
					}
					caught[kind]++
					continue
				}
				at, err := place(s)
				found := s.Check(context.Background(), func(int64) time.Duration { return 0 })
				switch {
				case err == nil && at == batches:
					dead[kind]++
				case err == nil && strings.Contains(file, "MANIFEST"): // it ends at an earlier flush, whole: the log leads on
					caught[kind]++
				case !errors.Is(err, ErrDamaged):
					t.Fatalf("bit %d of %s: at %d, %v", bit, filepath.Base(file), at, err)
				case !errors.Is(found, ErrDamaged):
					t.Fatalf("bit %d of %s: a reader met %v, the check %v", bit, filepath.Base(file), err, found)
				default:
					caught[kind]++
				}
				_ = s.Close() // what it says of damage is beside the point
			}
			t.Logf("caught %v, and %v in bytes that are never read", caught, dead)
			if caught["tables"] == 0 || caught["list of tables"] == 0 {
				t.Error("no flip was caught")
			}
		})
	}
}

// TestReadersDoNotWaitForTheDisk: while the list of tables cannot be written, what is there can be read, and readers end.
func TestReadersDoNotWaitForTheDisk(t *testing.T) {
	fs := &faulty{FS: vfs.NewMem()}
	s, err := Open("state", Options{fs: fs}, nil)
	must(t, err)
	must(t, write(s, 1))
	must(t, s.Flush())
	must(t, write(s, 2))
	before, err := s.Snapshot()
	must(t, err)
	fs.set(func(op, name string) error {
		if strings.Contains(name, "MANIFEST") {
			return syscall.EIO
		}
		return nil
	})
	if err := s.Flush(); !errors.Is(err, syscall.EIO) {
		t.Errorf("the flush says %v", err)
	}
	before.Close()
	if at, err := place(s); err != nil || at != 2 {
		t.Errorf("at %d: %v", at, err)
	}
	if err := write(s, 3); !errors.Is(err, syscall.EIO) {
		t.Errorf("a write says %v", err)
	}
	if err := s.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("closing says %v", err)
	}
}

// TestABatchReadsItself: over what was there, and drops of ranges in it.
func TestABatchReadsItself(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "state"), Options{NoSync: true}, nil)
	must(t, err)
	defer s.Close()
	set := func(b *Batch, keys ...string) {
		for _, k := range keys {
			must(t, b.Set([]byte(k), []byte(k)))
		}
	}
	b := s.Batch()
	set(b, "a", "c", "e")
	must(t, b.Commit())
	b.Close()
	before, err := s.Snapshot()
	must(t, err)
	defer before.Close()
	b = s.Batch()
	defer b.Close()
	set(b, "b", "x1", "x2")
	must(t, b.Delete([]byte("c")))
	must(t, b.DeleteRange([]byte("x"), []byte("y")))
	set(b, "x3")
	list := func(r Reader) (out string) {
		it, err := r.Iter(nil, nil)
		must(t, err)
		defer it.Close()
		for ok := it.First(); ok; ok = it.Next() {
			out += string(it.Key()) + " "
		}
		must(t, it.Err())
		return out
	}
	if got := list(b); got != "a b e x3 " {
		t.Errorf("the batch reads %q", got)
	}
	must(t, b.Commit())
	after, err := s.Snapshot()
	must(t, err)
	defer after.Close()
	if got, was := list(after), list(before); got != "a b e x3 " || was != "a c e " {
		t.Errorf("after it %q, before it %q", got, was)
	}
}

// TestABuiltStoreHasItsRows, in tables of their own, and rows out of order are refused.
func TestABuiltStoreHasItsRows(t *testing.T) {
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			o := Options{Keys: keys, NoSync: true}
			b, err := Build(dir, o)
			must(t, err)
			const rows = 1000
			for i := range rows {
				must(t, b.Add(fmt.Appendf(nil, "%06d", i), bytes.Repeat([]byte("v"), i%64<<10)))
			}
			must(t, b.Finish(nil))
			s, err := Open(dir, o, nil)
			must(t, err)
			defer s.Close()
			for i := range rows {
				v, ok, err := s.Get(fmt.Appendf(nil, "%06d", i))
				if err != nil || !ok || len(v) != i%64<<10 {
					t.Fatalf("row %d: %d bytes, %v, %v", i, len(v), ok, err)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*.building")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			b, err = Build(filepath.Join(t.TempDir(), "state"), o)
			must(t, err)
			must(t, b.Add([]byte("b"), nil))
			if err := b.Finish(b.Add([]byte("a"), nil)); !errors.Is(err, ErrOrder) {
				t.Errorf("a row out of order: %v", err)
			}
		})
	}
}

// TestTwoDoNotShareAStore.
func TestTwoDoNotShareAStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s, err := Open(dir, Options{NoSync: true}, nil)
	must(t, err)
	if _, err := Open(dir, Options{NoSync: true}, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
	must(t, s.Close())
	if s, err = Open(dir, Options{NoSync: true}, nil); err != nil {
		t.Fatal(err)
	}
	must(t, s.Close())
}

// TestASealedStoreShowsNothing: no part of a key or a value is in any file, nor in any file's name.
func TestASealedStoreShowsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	keys := rings()["sealed"]
	s, err := Open(dir, Options{Keys: keys, NoSync: true}, nil)
	must(t, err)
	b := s.Batch()
	must(t, b.Set([]byte("a planted key"), []byte("a planted secret")))
	must(t, b.Commit())
	b.Close()
	must(t, s.Close())
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte("planted")) {
			t.Errorf("%s shows it", path)
		}
		return err
	}))
	if _, err := Open(dir, Options{NoSync: true}, nil); err == nil {
		t.Error("it opens without its keys")
	}
	other := seal.Ephemeral([]seal.Master{seal.NewMaster()})
	if _, err := Open(dir, Options{Keys: other, NoSync: true}, nil); !errors.Is(err, seal.ErrKey) {
		t.Errorf("with other keys: %v", err)
	}
}
