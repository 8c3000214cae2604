package logstore

import (
	"errors"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

func newRing() *seal.Ring { return seal.Ephemeral([]seal.Master{seal.NewMaster()}) }

// TestTheKeyMustFit: a log of another kind, or key, is refused and not taken for damaged.
func TestTheKeyMustFit(t *testing.T) {
	t.Parallel()
	files, keys := newMemory(), newRing()
	fill := func(keys *seal.Ring) {
		log, err := Open("log", small(files, keys))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(log.StoreLog(record(1, 1, 0)), log.Close()); err != nil {
			t.Fatal(err)
		}
	}
	fill(keys)
	for _, tc := range []struct {
		keys *seal.Ring
		want error
	}{{nil, seal.ErrSealed}, {newRing(), seal.ErrKey}} {
		if _, err := Open("log", small(files, tc.keys)); !errors.Is(err, tc.want) || errors.Is(err, ErrDamaged) {
			t.Errorf("got %v, want %v", err, tc.want)
		}
	}
	files = newMemory()
	fill(nil)
	if _, err := Open("log", small(files, keys)); !errors.Is(err, seal.ErrPlain) {
		t.Errorf("a plain log: %v", err)
	}
}

// TestReseal: segments that were written under a key that was replaced are rewritten, those that came later are not; then the log needs the new key alone.
func TestReseal(t *testing.T) {
	t.Parallel()
	home, masters := t.TempDir(), []seal.Master{seal.NewMaster()}
	keys, err := seal.Create(home, masters)
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{t: t, files: newMemory(), o: small(nil, keys)}
	s.open()
	store := func(n int) {
		t.Helper()
		for range n {
			l := record(s.last()+1, 3, 300)
			if err := s.log.StoreLog(l); err != nil {
				t.Fatal(err)
			}
			s.want = append(s.want, l)
		}
	}
	next := func(keep int) {
		t.Helper()
		if err := s.log.Close(); err != nil {
			t.Fatal(err)
		}
		if s.o.Keys, _, err = seal.Open(home, masters); err != nil || len(s.o.Keys.Keys()) != keep {
			t.Fatal(s.o.Keys.Keys(), err)
		}
		s.open()
	}
	for n := range 3 {
		store(7 + n) // a segment has a few
		if n == 1 {
			if err := s.log.DeleteRange(1, 3); err != nil {
				t.Fatal(err)
			}
			s.want = s.want[3:]
		}
		if err := s.o.Keys.Rotate(); err != nil {
			t.Fatal(err)
		}
		next(2)
		last := s.last()
		store(10)
		segs := len(s.log.segs)
		newest := s.log.segs[segs-1]
		if err := s.log.Reseal(last); err != nil {
			t.Fatal(err)
		}
		if len(s.log.segs) != segs || s.log.segs[segs-1] != newest {
			t.Error("what was written under the active key was written again")
		}
		if err := errors.Join(holds(s.log, s.want), s.o.Keys.Retire()); err != nil {
			t.Fatal(err)
		}
		next(1)
		if err := holds(s.log, s.want); err != nil {
			t.Fatal(err)
		}
	}
}
