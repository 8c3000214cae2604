package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestABrokenDiskEndsTheStore makes one step after another fail permanently. The store returns an error and accepts
// no more writes, it closes, and all flushed data is present when the disk works again.
func TestABrokenDiskEndsTheStore(t *testing.T) {
	if testing.Short() {
		t.Skip("short runs are those of the race detector, under which pebble panics at lists of tables that it could not write")
	}
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for fails := 0; ; fails += 3 {
				fs := &faultyFS{FS: vfs.NewMem()}
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
					if last = commitBatch(s, n); last == nil && n%3 == 0 {
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
				if at, err := lastBatch(s); err != nil || at < flushed {
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

// TestABrokenDiskIsAnErrorOfOpening makes each step of creating, filling and opening a store fail, once or
// permanently. The caller gets an error, without a panic. Existing data is present when the disk works again.
func TestABrokenDiskIsAnErrorOfOpening(t *testing.T) {
	suite.Full(t)
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
						synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
							fs := &faultyFS{FS: vfs.NewMem()}
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
							// a failed removal is repeated at the next start, and a failed link becomes a copy
							if err == nil && !strings.Contains(broken, "remove") && !strings.Contains(broken, "link") {
								t.Fatalf("step %d (%s) failed, and nothing said so", fails, broken)
							}
							if err := open(o); err != nil && name != "one of rows" { // that store is created again, elsewhere
								t.Fatalf("step %d (%s): it does not open afterwards: %v", fails, broken, err)
							}
						})
					}
				})
			}
		}
	}
}

// TestAWriterAheadOfADiskThatFails: the disk stands still until the writer waits for it, and then fails. The writer
// and a flush get an error, and the store closes.
func TestAWriterAheadOfADiskThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs := &faultyFS{FS: vfs.NewMem()}
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
				err = commitBatch(s, written+1)
			}
			ends <- err
		}()
		synctest.Wait() // the writer waits for the disk
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

// TestAFullDiskIsWaitedFor: while the disk is full, writers get an error and nothing is lost. The store continues by
// itself when there is space.
func TestAFullDiskIsWaitedFor(t *testing.T) {
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs := &faultyFS{FS: vfs.NewMem()}
			o := Options{Keys: keys, fs: fs}
			s, err := Open("state", o, nil)
			must(t, err)
			must(t, commitBatch(s, 1))
			must(t, s.Flush())
			fs.set(func(op, name string) error {
				if op == "remove" {
					return nil
				}
				return syscall.ENOSPC
			})
			must(t, commitBatch(s, 2))
			if err := s.Flush(); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("flush on a full disk: %v", err)
			}
			if err := commitBatch(s, 3); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("a write on a full disk: %v", err)
			}
			fs.set(nil)
			suite.Eventually(t, "it to find room", func() bool { // a background task may still wait for its next attempt
				err := s.Flush()
				if err != nil && !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("a flush once there is room: %v", err)
				}
				return err == nil && s.Full() == nil
			})
			fs.set(func(string, string) error { return syscall.ENOSPC })
			if err := commitBatch(s, 3); err != nil && !errors.Is(err, syscall.ENOSPC) { // a task may have met the full disk before the writer
				t.Fatalf("a write as the disk fills: %v", err)
			}
			if err := s.Close(); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("closed on a full disk: %v", err)
			}
			fs.set(nil)
			if s, err = Open("state", o, nil); err != nil {
				t.Fatal(err)
			}
			if at, err := lastBatch(s); err != nil || at != 2 {
				t.Fatalf("at %d: %v", at, err)
			}
			must(t, s.Close())
		})
	}
}

// TestReadersDoNotWaitForTheDisk: while the list of tables cannot be written, existing rows can be read, and readers
// can be closed.
func TestReadersDoNotWaitForTheDisk(t *testing.T) {
	fs := &faultyFS{FS: vfs.NewMem()}
	s, err := Open("state", Options{fs: fs}, nil)
	must(t, err)
	must(t, commitBatch(s, 1))
	must(t, s.Flush())
	must(t, commitBatch(s, 2))
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
	if at, err := lastBatch(s); err != nil || at != 2 {
		t.Errorf("at %d: %v", at, err)
	}
	if err := commitBatch(s, 3); !errors.Is(err, syscall.EIO) {
		t.Errorf("a write says %v", err)
	}
	if err := s.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("closing says %v", err)
	}
}
