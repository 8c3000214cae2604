package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"pgregory.net/rapid"

	"github.com/cairndb/cairn/oplog/seal"
)

// shelf is a store, and beside it what it must hold.
type shelf struct {
	t interface {
		Helper()
		Fatalf(string, ...any)
	}
	files *memory
	o     Options
	log   *Store
	want  []*hraft.Log // one after the other
	chain []byte
}

// small are options with which a few records fill a segment.
func small(files FS, keys *seal.Ring) Options {
	return Options{FS: files, Keys: keys, SegmentBytes: 2 << 10}
}

func newRing() *seal.Ring { return seal.Ephemeral([]seal.Master{seal.NewMaster()}) }

func (s *shelf) open() {
	s.t.Helper()
	s.o.FS = s.files
	log, err := Open("log", s.o)
	if err != nil {
		s.t.Fatalf("open: %v", err)
	}
	s.log = log
}

func (s *shelf) last() uint64 {
	if len(s.want) == 0 {
		return 0
	}
	return s.want[len(s.want)-1].Index
}

// record makes one that is like no other.
func record(index, chance uint64, size int) *hraft.Log {
	l := &hraft.Log{Index: index, Term: 1 + chance%9, Type: hraft.LogType(chance % 6), Data: fmt.Appendf(nil, "record %d %s", chance, make([]byte, size))}
	if chance%2 == 0 {
		l.AppendedAt = time.Unix(0, int64(chance>>2)+1)
	}
	if chance%4 == 0 {
		l.Extensions = fmt.Appendf(nil, "extension %d", chance)
	}
	if chance%5 == 0 {
		l.Data = nil
	}
	return l
}

// holds says how a store differs from what it must hold.
func holds(log *Store, want []*hraft.Log) error {
	first, err := log.FirstIndex()
	last, err2 := log.LastIndex()
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if len(want) == 0 {
		if first != 0 || last != 0 {
			return fmt.Errorf("an empty log holds %d to %d", first, last)
		}
		return nil
	}
	if to := want[len(want)-1].Index; first != want[0].Index || last != to {
		return fmt.Errorf("it holds %d to %d, not %d to %d", first, last, want[0].Index, to)
	}
	for _, w := range want {
		var l hraft.Log
		if err := log.GetLog(w.Index, &l); err != nil {
			return fmt.Errorf("record %d: %w", w.Index, err)
		}
		if !l.AppendedAt.Equal(w.AppendedAt) {
			return fmt.Errorf("record %d was appended at %v, not %v", w.Index, l.AppendedAt, w.AppendedAt)
		}
		l.AppendedAt = w.AppendedAt
		if !reflect.DeepEqual(&l, w) {
			return fmt.Errorf("record %d is %v, not %v", w.Index, l, w)
		}
	}
	var l hraft.Log
	for _, i := range []uint64{first - 1, last + 1} {
		if err := log.GetLog(i, &l); !errors.Is(err, hraft.ErrLogNotFound) {
			return fmt.Errorf("record %d, which there is not: %v", i, err)
		}
	}
	return nil
}

// TestTheLogIsWhatWasStored does all that the library does to a log, in any order, beside a slice of records.
func TestTheLogIsWhatWasStored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var keys *seal.Ring
		if rapid.Bool().Draw(t, "encrypted") {
			keys = newRing()
		}
		s := &shelf{t: t, files: newMemory(), o: small(nil, keys)}
		early := rapid.Bool().Draw(t, "a leader")
		s.o.Leads = func() bool { return early }
		s.open()
		next := rapid.Uint64Range(1, 500).Draw(t, "first")
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				s.t = t
				if err := holds(s.log, s.want); err != nil {
					t.Fatal(err)
				}
				if chain := s.log.Chain(); !bytes.Equal(chain, s.chain) {
					t.Fatalf("chain %q, not %q", chain, s.chain)
				}
			},
			"store": func(t *rapid.T) {
				var logs []*hraft.Log
				for range rapid.IntRange(1, 5).Draw(t, "records") {
					logs = append(logs, record(next, rapid.Uint64().Draw(t, "chance"), rapid.IntRange(0, 900).Draw(t, "size")))
					next++
				}
				if err := s.log.StoreLogs(logs); err != nil {
					t.Fatal(err)
				}
				s.want = append(s.want, logs...)
			},
			"cut the beginning": func(t *rapid.T) {
				if len(s.want) == 0 {
					t.Skip("nothing to cut")
				}
				n := rapid.IntRange(1, len(s.want)).Draw(t, "records")
				if err := s.log.DeleteRange(s.want[0].Index, s.want[n-1].Index); err != nil {
					t.Fatal(err)
				}
				s.want = s.want[n:]
			},
			"cut the end": func(t *rapid.T) {
				if len(s.want) == 0 {
					t.Skip("nothing to cut")
				}
				n := rapid.IntRange(0, len(s.want)-1).Draw(t, "left")
				if err := s.log.DeleteRange(s.want[n].Index, s.last()+rapid.Uint64Range(0, 9).Draw(t, "more")); err != nil {
					t.Fatal(err)
				}
				next = s.want[n].Index
				s.want = s.want[:n]
			},
			"go on behind a snapshot": func(t *rapid.T) {
				next += rapid.Uint64Range(1, 100).Draw(t, "by")
				l := record(next, 1, 0)
				if err := s.log.StoreLog(l); err != nil {
					t.Fatal(err)
				}
				next++
				s.want = []*hraft.Log{l}
			},
			"erase": func(t *rapid.T) {
				if err := s.log.Erase(); err != nil {
					t.Fatal(err)
				}
				if len(s.want) > 0 && s.log.segs[0].first != s.want[0].Index {
					t.Fatalf("the files begin at %d", s.log.segs[0].first)
				}
			},
			"rewrite under another key": func(t *rapid.T) {
				if keys != nil {
					if err := keys.Rotate(); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.log.Reseal(s.last()); err != nil {
					t.Fatal(err)
				}
			},
			"chain": func(t *rapid.T) {
				s.chain = rapid.SliceOf(rapid.Byte()).Draw(t, "chain")
				if err := s.log.SetChain(s.chain); err != nil {
					t.Fatal(err)
				}
			},
			"close": func(t *rapid.T) {
				if err := s.log.Close(); err != nil {
					t.Fatal(err)
				}
				s.open()
			},
			"kill": func(t *rapid.T) {
				if err := s.log.WaitSynced(s.last()); err != nil {
					t.Fatal(err)
				}
				s.files = s.files.killed()
				s.open()
			},
			"lose power": func(t *rapid.T) {
				if err := s.log.WaitSynced(s.last()); err != nil {
					t.Fatal(err)
				}
				s.files = s.files.crashed(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), 0)))
				s.open()
			},
		})
	})
}

// TestACrashAtEveryStep ends the power before each write, sync, rename and removal in the life of a log. What was acknowledged is
// there, what was taken away is not, and of what was under way there is a part that makes sense.
func TestACrashAtEveryStep(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"plain": small(nil, nil), "sealed": small(nil, newRing()), "leader": {SegmentBytes: 2 << 10, Leads: func() bool { return true }}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := 0
			for at := 1; ; at++ {
				if !liveUntil(t, o, at) {
					break
				}
				steps = at
			}
			if steps < 100 {
				t.Errorf("only %d steps", steps)
			}
			t.Logf("%d crashes", steps)
		})
	}
}

// liveUntil has the power go at a step, and says whether there were so many.
func liveUntil(t *testing.T, o Options, at int) bool {
	rng := rand.New(rand.NewPCG(7, 7)) // the same life each time
	s := &shelf{t: t, files: newMemory(), o: o}
	s.open()
	dead, step := false, 0
	s.files.op = func(string, string) error {
		if step++; step >= at {
			dead = true
			return syscall.EIO
		}
		return nil
	}
	var may [][]*hraft.Log // what may be there besides want
	chain := byte(0)
	try := func(do func() error, then ...[]*hraft.Log) bool {
		err := do()
		if err == nil && len(then) > 0 {
			err = s.log.WaitSynced(1 << 60)
		}
		if err != nil {
			may = then
			return false
		}
		if len(then) > 0 {
			s.want = then[len(then)-1]
		}
		return !dead // what failed was a mark
	}
	prefixes := func(more []*hraft.Log) (all [][]*hraft.Log) {
		for n := range len(more) {
			all = append(all, slices.Concat(s.want, more[:n+1]))
		}
		return all
	}
	next, on := uint64(1), true
	for i := 0; i < 60 && on; i++ {
		switch n := i % 15; {
		case n == 8 && len(s.want) > 4:
			left := rng.IntN(len(s.want)-2) + 1
			var ends [][]*hraft.Log
			for n := len(s.want) - 1; n >= left; n-- {
				ends = append(ends, s.want[:n])
			}
			next = s.want[left].Index
			on = try(func() error { return s.log.DeleteRange(s.want[left].Index, s.last()) }, ends...)
		case n == 11 && len(s.want) > 4:
			gone := rng.IntN(len(s.want) - 2)
			on = try(func() error { return s.log.DeleteRange(1, s.want[gone].Index) }, s.want[gone+1:])
		case n == 12 && i < 30:
			on = try(s.log.Erase)
		case n == 12:
			on = try(func() error { return s.log.Reseal(s.last()) })
		case n == 13:
			on = try(func() error {
				err := s.log.SetChain([]byte{chain + 1})
				if err == nil {
					chain++
				}
				return err
			})
		case n == 14 && i > 40:
			on = try(func() error { return s.log.DeleteRange(1, s.last()) }, nil)
			next += 50
		default:
			var logs []*hraft.Log
			for range 1 + rng.IntN(3) {
				logs = append(logs, record(next, rng.Uint64(), rng.IntN(400)))
				next++
			}
			on = try(func() error { return s.log.StoreLogs(logs) }, prefixes(logs)...)
		}
	}
	if !dead {
		return false
	}
	for chance := range uint64(4) {
		files := s.files.killed()
		if chance > 0 {
			files = s.files.crashed(rand.New(rand.NewPCG(chance, uint64(at))))
		}
		o := o
		o.FS = files
		for range 2 {
			log, err := Open("log", o)
			if err != nil {
				t.Fatalf("crash at step %d: %v", at, err)
			}
			was := holds(log, s.want)
			if was != nil && !slices.ContainsFunc(may, func(want []*hraft.Log) bool { return holds(log, want) == nil }) {
				t.Fatalf("crash at step %d: %v", at, was)
			}
			if got := append(log.Chain(), 0)[0]; got != chain && got != chain+1 {
				t.Fatalf("crash at step %d: chain %d, not %d", at, got, chain)
			}
			last, _ := log.LastIndex()
			l := record(last+1, 5, 100)
			if err := errors.Join(log.StoreLog(l), log.WaitSynced(l.Index), log.DeleteRange(l.Index, l.Index)); err != nil {
				t.Fatalf("crash at step %d: going on: %v", at, err)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return true
}

// TestAFullDisk: a write that found no room, or room for a part, leaves nothing; the log goes on when there is room again.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	for name, full := range map[string]error{"at once": syscall.ENOSPC, "in the middle": errPart} {
		t.Run(name, func(t *testing.T) {
			for at := range 40 {
				s := &shelf{t: t, files: newMemory(), o: small(nil, nil)}
				s.open()
				step := 0
				s.files.op = func(op, _ string) error {
					if op != "write" && op != "create" {
						return nil
					}
					if step++; step > at && step <= at+3 {
						if op == "create" {
							return syscall.ENOSPC
						}
						return full
					}
					return nil
				}
				for i := uint64(1); i <= 12; {
					logs := []*hraft.Log{record(i, i+uint64(step)<<8, 300), record(i+1, i+uint64(step)<<16, 300)} // another at each try
					err := s.log.StoreLogs(logs)
					if err == nil {
						s.want = append(s.want, logs...)
						i += 2
					} else if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrUnsynced) {
						t.Fatal(err)
					}
					if err := holds(s.log, s.want); err != nil {
						t.Fatalf("full at step %d: %v", at, err)
					}
					s.files.op = nil
					files := s.files.killed()
					other, err := Open("log", small(files, nil))
					if err != nil {
						t.Fatal(err)
					}
					if err := holds(other, s.want); err != nil {
						t.Fatalf("full at step %d, killed: %v", at, err)
					}
				}
			}
		})
	}
}

// TestALogOpensOnAFullDisk: to be read it needs no room, whether it was closed or killed.
func TestALogOpensOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{true, false} {
		files, want := lived(t, nil, closed)
		full := true
		files.op = func(op, _ string) error {
			if full && op == "create" {
				return syscall.ENOSPC
			}
			return nil
		}
		log, err := Open("log", small(files, nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := holds(log, want); err != nil {
			t.Error(err)
		}
		next := want[len(want)-1].Index + 1
		more := []*hraft.Log{record(next, 3, 2000), record(next+1, 4, 2000)}
		if err := log.StoreLogs(more); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("records on a full disk: %v", err)
		}
		full = false
		if err := errors.Join(log.StoreLogs(more), holds(log, slices.Concat(want, more))); err != nil {
			t.Error(err)
		}
	}
}

// TestALargeLogHasFewFiles: each is open while the store is.
func TestALargeLogHasFewFiles(t *testing.T) {
	t.Parallel()
	s := &shelf{t: t, files: newMemory(), o: small(nil, nil)}
	s.open()
	for i := range uint64(3000) {
		l := record(i+1, 1, 1000)
		if err := s.log.StoreLog(l); err != nil {
			t.Fatal(err)
		}
		s.want = append(s.want, l)
	}
	if n := len(s.log.segs); n > 5*manySegments {
		t.Errorf("%d files", n)
	}
	if err := holds(s.log, s.want); err != nil {
		t.Error(err)
	}
}

// TestAFailedSyncIsTheLast: what a disk that did not sync holds is not known before it was read again.
func TestAFailedSyncIsTheLast(t *testing.T) {
	t.Parallel()
	s := &shelf{t: t, files: newMemory(), o: small(nil, nil)}
	s.open()
	if err := s.log.StoreLog(record(1, 1, 0)); err != nil {
		t.Fatal(err)
	}
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
	if holds(s.log, s.want) != nil && holds(s.log, append(s.want, record(2, 1, 0))) != nil {
		t.Error(holds(s.log, s.want))
	}
}

// TestALeadersRecordsAreSyncedBeside: StoreLogs does not wait for the disk of a leader, and all that rests on records does.
func TestALeadersRecordsAreSyncedBeside(t *testing.T) {
	t.Parallel()
	goOn := make(chan error)
	files := newMemory()
	log, err := Open("log", Options{FS: slowSync{files, goOn}, Leads: func() bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	noop := &hraft.Log{Index: 1, Term: 1, Type: hraft.LogNoop}
	stored := make(chan error, 1)
	go func() { stored <- log.StoreLog(noop) }()
	goOn <- nil // the library acts on it by itself: it is waited for
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	if err := log.StoreLog(&hraft.Log{Index: 2, Term: 1}); err != nil {
		t.Fatal(err)
	}
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

// slowSync waits in each sync of a segment that has its name for a word.
type slowSync struct {
	*memory
	goOn chan error
}

func (f slowSync) Create(name string) (File, error) {
	file, err := f.memory.Create(name)
	return &slowFile{file, f.goOn, 0}, err
}

type slowFile struct {
	File
	goOn  chan error
	syncs int
}

func (f *slowFile) Sync() error {
	if f.syncs++; f.syncs > 1 { // the first makes it
		if err := <-f.goOn; err != nil {
			return err
		}
	}
	return f.File.Sync()
}

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

// TestOneProcessHasTheLog on the machine's file system.
func TestOneProcessHasTheLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
	want := []*hraft.Log{record(1, 1, 10), record(2, 2, 10)}
	if err := errors.Join(log.StoreLogs(want), log.Close()); err != nil {
		t.Fatal(err)
	}
	if log, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(holds(log, want), log.Close()); err != nil {
		t.Error(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			log, err := Open(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer log.Close()
			index := uint64(0)
			for b.Loop() {
				logs := make([]*hraft.Log, batch)
				for i := range logs {
					index++
					logs[i] = &hraft.Log{Index: index, Term: 1, Data: make([]byte, 1024)}
				}
				if err := log.StoreLogs(logs); err != nil {
					b.Fatal(err)
				}
				if index%10_000 < uint64(batch) && index > 10_000 {
					if err := log.DeleteRange(1, index-10_000); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
