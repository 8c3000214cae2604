package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/raft/rafttest"
)

// TestNoFlipIsServed flips bits of all files of a closed store. A reader gets what was written or ErrDamaged, or the store does not open; Check finds what readers find.
func TestNoFlipIsServed(t *testing.T) {
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Keys: keys, NoSync: true}
			dir, batches := written(t, o)
			rng := rand.New(rand.NewPCG(1, 2))
			dead, caught := map[string]int{}, map[string]int{} // by kind of file
			for i := range 2 * rafttest.Flips(75) {
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
				bit := rafttest.FlipOne(t, file, rng)
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

// TestNoFlipUnderAnOpenStoreIsServed flips bits of the tables of a store that is open, and has read none of them.
func TestNoFlipUnderAnOpenStoreIsServed(t *testing.T) {
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, batches := written(t, Options{Keys: keys, NoSync: true})
			rng := rand.New(rand.NewPCG(3, 4))
			flips, caught := rafttest.Flips(40), 0
			for range flips {
				copied := filepath.Join(t.TempDir(), "state")
				must(t, os.CopyFS(copied, os.DirFS(dir)))
				s, err := Open(copied, Options{Keys: keys, NoSync: true}, nil)
				must(t, err)
				files, err := filepath.Glob(filepath.Join(copied, "*.sst"))
				must(t, err)
				file := files[rng.IntN(len(files))]
				bit := rafttest.FlipOne(t, file, rng)
				switch at, err := place(s); {
				case errors.Is(err, ErrDamaged):
					caught++
					if st := s.Stats(); st.Damaged == 0 || len(st.DamagedFiles) != 1 || st.DamagedFiles[0].Path != file {
						t.Errorf("bit %d of %s: counted are %d, in %+v", bit, filepath.Base(file), st.Damaged, st.DamagedFiles)
					}
				case err != nil || at != batches:
					t.Errorf("bit %d of %s: at %d, %v", bit, filepath.Base(file), at, err)
				}
				_ = s.Close() // what it says of damage is beside the point
			}
			t.Logf("%s: of %d bits %d were caught, and %d lay in bytes that were not read", name, flips, caught, flips-caught)
			if caught == 0 {
				t.Error("no flip was caught")
			}
		})
	}
}

// written is the directory of a closed store that has so many batches, in several tables.
func written(t *testing.T, o Options) (dir string, batches int) {
	t.Helper()
	dir, batches = filepath.Join(t.TempDir(), "state"), 60
	s, err := Open(dir, o, nil)
	must(t, err)
	for n := 1; n <= batches; n++ {
		must(t, write(s, n))
		if n%20 == 0 {
			must(t, s.Flush())
		}
	}
	must(t, s.Close())
	return dir, batches
}
