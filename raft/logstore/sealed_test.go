package logstore

import (
	"errors"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

func newRing() *seal.Ring { return seal.Ephemeral([]seal.Master{seal.NewMaster()}) }

// TestTheKeyMustFit: a log of another kind, or under another key, is rejected and does not count as damaged.
func TestTheKeyMustFit(t *testing.T) {
	t.Parallel()
	files, keys := newMemory(), newRing()
	fill := func(keys *seal.Ring) {
		log, err := Open("log", smallSegments(files, keys))
		must(t, err)
		must(t, errors.Join(log.StoreLog(record(1, 1, 0)), log.Close()))
	}
	fill(keys)
	for _, tc := range []struct {
		keys *seal.Ring
		want error
	}{{nil, seal.ErrSealed}, {newRing(), seal.ErrKey}} {
		if _, err := Open("log", smallSegments(files, tc.keys)); !errors.Is(err, tc.want) || errors.Is(err, ErrDamaged) {
			t.Errorf("got %v, want %v", err, tc.want)
		}
	}
	files = newMemory()
	fill(nil)
	if _, err := Open("log", smallSegments(files, keys)); !errors.Is(err, seal.ErrPlain) {
		t.Errorf("a plain log: %v", err)
	}
}

// TestReseal: segments under a replaced key are rewritten, newer ones are not. Afterwards the log needs only the new
// key.
func TestReseal(t *testing.T) {
	t.Parallel()
	home, masters := t.TempDir(), []seal.Master{seal.NewMaster()}
	keys, err := seal.Create(home, masters)
	must(t, err)
	s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, keys)}
	s.open()
	store := func(n int) {
		t.Helper()
		for range n {
			l := record(s.last()+1, 3, 300)
			must(t, s.log.StoreLog(l))
			s.want = append(s.want, l)
		}
	}
	next := func(keep int) {
		t.Helper()
		must(t, s.log.Close())
		if s.o.Keys, _, err = seal.Open(home, masters); err != nil || len(s.o.Keys.Keys()) != keep {
			t.Fatal(s.o.Keys.Keys(), err)
		}
		s.open()
	}
	for n := range 3 {
		store(7 + n) // a segment has a few
		if n == 1 {
			must(t, s.log.DeleteRange(1, 3))
			s.want = s.want[3:]
		}
		must(t, s.o.Keys.Rotate())
		next(2)
		last := s.last()
		store(10)
		segs := len(s.log.segs)
		newest := s.log.segs[segs-1]
		must(t, s.log.Reseal(last))
		if len(s.log.segs) != segs || s.log.segs[segs-1] != newest {
			t.Error("what was written under the active key was written again")
		}
		must(t, errors.Join(compareLog(s.log, s.want), s.o.Keys.Retire()))
		next(1)
		must(t, compareLog(s.log, s.want))
	}
}
