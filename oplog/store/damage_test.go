package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/raft/rafttest"
)

// TestNoFlipIsServed flips bits in all files of a closed store. A reader gets the written value or ErrDamaged, or the
// store does not open. Check finds the damage that readers find.
func TestNoFlipIsServed(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped in -short: opens files again and again, one after the other")
	}
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Keys: keys, NoSync: true}
			dir, batches := newClosedStore(t, o)
			rng := rand.New(rand.NewPCG(1, 2))
			ends := rafttest.Ends{}
			for kind, pattern := range map[string]string{"tables": "*.sst", "list of tables": "MANIFEST*",
				"options": "OPTIONS*", "markers": "marker*"} {
				for range rafttest.Flips(40) {
					copied := filepath.Join(t.TempDir(), "state")
					must(t, os.CopyFS(copied, os.DirFS(dir)))
					files, err := filepath.Glob(filepath.Join(copied, pattern))
					must(t, err)
					file := files[rng.IntN(len(files))]
					if info, err := os.Stat(file); err != nil || info.Size() == 0 { // a plain marker file is empty
						must(t, err)
						continue
					}
					bit := rafttest.FlipOne(t, file, rng)
					s, err := Open(copied, o, nil)
					if err != nil {
						if !errors.Is(err, ErrDamaged) {
							t.Fatalf("bit %d of %s: %v", bit, filepath.Base(file), err)
						}
						ends.Add(kind, rafttest.Caught)
						continue
					}
					at, err := lastBatch(s)
					found := s.Check(context.Background(), func(int64) time.Duration { return 0 })
					switch {
					case err == nil && at == batches:
						ends.Add(kind, rafttest.Dead)
					case err == nil && kind == "list of tables": // it ends at an earlier flush, and the Raft log has the rest
						ends.Add(kind, rafttest.Caught)
					case !errors.Is(err, ErrDamaged):
						t.Fatalf("bit %d of %s: at %d, %v", bit, filepath.Base(file), at, err)
					case strings.Contains(fmt.Sprint(err, found), "carrier"):
						t.Fatalf("errors say what only pebble understands: %v, %v", err, found)
					case !errors.Is(found, ErrDamaged):
						t.Fatalf("bit %d of %s: a reader met %v, the check %v", bit, filepath.Base(file), err, found)
					default:
						ends.Add(kind, rafttest.Caught)
					}
					_ = s.Close() // it may report the damage, which is not tested here
				}
			}
			ends.Log(t)
			if ends["tables"][rafttest.Caught] == 0 || ends["list of tables"][rafttest.Caught] == 0 {
				t.Error("no flip was caught")
			}
		})
	}
}

// TestNoFlipUnderAnOpenStoreIsServed flips bits in the tables of an open store that has not read them yet.
func TestNoFlipUnderAnOpenStoreIsServed(t *testing.T) {
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, batches := newClosedStore(t, Options{Keys: keys, NoSync: true})
			rng := rand.New(rand.NewPCG(3, 4))
			ends := rafttest.Ends{}
			for range rafttest.Flips(40) {
				copied := filepath.Join(t.TempDir(), "state")
				must(t, os.CopyFS(copied, os.DirFS(dir)))
				s, err := Open(copied, Options{Keys: keys, NoSync: true}, nil)
				must(t, err)
				files, err := filepath.Glob(filepath.Join(copied, "*.sst"))
				must(t, err)
				file := files[rng.IntN(len(files))]
				bit := rafttest.FlipOne(t, file, rng)
				switch at, err := lastBatch(s); {
				case errors.Is(err, ErrDamaged):
					ends.Add("tables", rafttest.Caught)
					if st := s.Stats(); st.Damaged == 0 || len(st.DamagedFiles) != 1 || st.DamagedFiles[0].Path != file {
						t.Errorf("bit %d of %s: counted are %d, in %+v", bit, filepath.Base(file), st.Damaged, st.DamagedFiles)
					}
				case err != nil || at != batches:
					t.Errorf("bit %d of %s: at %d, %v", bit, filepath.Base(file), at, err)
				default:
					ends.Add("tables", rafttest.Dead)
				}
				_ = s.Close() // it may report the damage, which is not tested here
			}
			ends.Report(t)
		})
	}
}

// newClosedStore returns the directory of a closed store with a number of batches, in several tables.
func newClosedStore(t *testing.T, o Options) (dir string, batches int) {
	t.Helper()
	dir, batches = filepath.Join(t.TempDir(), "state"), 60
	s, err := Open(dir, o, nil)
	must(t, err)
	for n := 1; n <= batches; n++ {
		must(t, commitBatch(s, n))
		if n%20 == 0 {
			must(t, s.Flush())
		}
	}
	must(t, s.Close())
	return dir, batches
}
