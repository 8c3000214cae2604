package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"pgregory.net/rapid"

	"github.com/cairndb/cairn/oplog/seal"
)

// fataler is a testing.TB or a rapid.T.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// modelStore is a store together with a model of its content.
type modelStore struct {
	t     fataler
	files *memoryFS
	o     Options
	log   *Store
	want  []*hraft.Log // the log's records, in order
	kept  []*hraft.Log // the retained records before want

	committed uint64 // the committed index that is certainly on disk

	retain uint64 // result of Options.Retain
}

// smallSegments returns options with which a few records fill a segment.
func smallSegments(files FS, keys *seal.Ring) Options {
	return Options{FS: files, Keys: keys, SegmentBytes: 2 << 10}
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *modelStore) open() {
	s.t.Helper()
	s.o.FS, s.o.Retain = s.files, func() uint64 { return s.retain }
	s.o.Lost = func(err error) { s.t.Fatalf("lost: %v", err) }
	log, err := Open("log", s.o)
	if err != nil {
		s.t.Fatalf("open: %v", err)
	}
	s.log = log
}

func (s *modelStore) last() uint64 {
	if len(s.want) == 0 {
		return 0
	}
	return s.want[len(s.want)-1].Index
}

// retained returns the records of a cut that are retained.
func (s *modelStore) retained(cut []*hraft.Log) []*hraft.Log {
	return slices.DeleteFunc(slices.Concat(s.kept, cut), func(l *hraft.Log) bool { return l.Index < s.retain })
}

// record returns a unique record.
func record(index, chance uint64, size int) *hraft.Log {
	l := &hraft.Log{Index: index, Term: 1 + chance%9, Type: hraft.LogType(chance % 6),
		Data: fmt.Appendf(nil, "record %d %s", chance, make([]byte, size))}
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

// compareLog returns how a store's log differs from want.
func compareLog(log *Store, want []*hraft.Log) error {
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

// compareKept returns how the records that a Reader finds differ from kept and want.
func compareKept(log *Store, kept, want []*hraft.Log) error {
	all := slices.Concat(kept, want)
	if len(all) == 0 {
		return nil
	}
	if first := log.FirstKept(); first != all[0].Index {
		return fmt.Errorf("the first kept record is %d, not %d", first, all[0].Index)
	}
	r := log.Reader()
	defer r.Close()
	for _, w := range all {
		l, err := r.Read(w.Index)
		if err != nil {
			return err
		}
		if l.Term != w.Term || l.Type != w.Type || !bytes.Equal(l.Data, w.Data) || !bytes.Equal(l.Extensions, w.Extensions) {
			return fmt.Errorf("record %d is %v, not %v", w.Index, l, w)
		}
	}
	for _, i := range []uint64{all[0].Index - 1, all[len(all)-1].Index + 1} {
		if _, err := r.Read(i); !errors.Is(err, hraft.ErrLogNotFound) {
			return fmt.Errorf("record %d, which there is not: %v", i, err)
		}
	}
	return nil
}

// TestTheLogIsWhatWasStored performs the library's operations on a log in random order, and compares it with a slice
// of records.
func TestTheLogIsWhatWasStored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var keys *seal.Ring
		if rapid.Bool().Draw(t, "encrypted") {
			keys = newRing()
		}
		s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, keys)}
		early := rapid.Bool().Draw(t, "a leader")
		s.o.Leads = func() bool { return early }
		s.open()
		next := rapid.Uint64Range(1, 500).Draw(t, "first")
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				s.t = t
				must(t, errors.Join(compareLog(s.log, s.want), compareKept(s.log, s.kept, s.want)))
				if got := s.log.Committed(); got < s.committed {
					t.Fatalf("committed up to %d, not %d", got, s.committed)
				}
			},
			"store": func(t *rapid.T) {
				var logs []*hraft.Log
				for range rapid.IntRange(1, 5).Draw(t, "records") {
					logs = append(logs, record(next, rapid.Uint64().Draw(t, "chance"), rapid.IntRange(0, 900).Draw(t, "size")))
					next++
				}
				must(t, s.log.StoreLogs(logs))
				s.want = append(s.want, logs...)
			},
			"cut the beginning": func(t *rapid.T) {
				if len(s.want) == 0 {
					t.Skip("nothing to cut")
				}
				n := rapid.IntRange(1, len(s.want)).Draw(t, "records")
				must(t, s.log.DeleteRange(s.want[0].Index, s.want[n-1].Index))
				if s.kept = s.retained(s.want[:n]); n == len(s.want) {
					s.kept = nil
				}
				s.want = s.want[n:]
			},
			"want less": func(t *rapid.T) {
				s.retain += rapid.Uint64Range(0, 20).Draw(t, "by")
			},
			"cut the end": func(t *rapid.T) {
				if len(s.want) == 0 {
					t.Skip("nothing to cut")
				}
				n := rapid.IntRange(0, len(s.want)-1).Draw(t, "left")
				must(t, s.log.DeleteRange(s.want[n].Index, s.last()+rapid.Uint64Range(0, 9).Draw(t, "more")))
				next = s.want[n].Index
				if s.want = s.want[:n]; n == 0 {
					s.kept = nil
				}
			},
			"go on behind a snapshot": func(t *rapid.T) {
				next += rapid.Uint64Range(1, 100).Draw(t, "by")
				l := record(next, 1, 0)
				must(t, s.log.StoreLog(l))
				next++
				s.want, s.kept = []*hraft.Log{l}, nil
			},
			"erase": func(t *rapid.T) {
				before := uint64(0)
				if len(s.want) > 0 {
					before = s.want[0].Index - min(s.want[0].Index, rapid.Uint64Range(0, 20).Draw(t, "kept"))
				}
				must(t, s.log.Erase(before, eraseData))
				s.kept = withErased(s.kept, before)
				if all := slices.Concat(s.kept, s.want); len(all) > 0 && s.log.segs[0].first != all[0].Index {
					t.Fatalf("the files begin at %d, not %d", s.log.segs[0].first, all[0].Index)
				}
			},
			"rewrite under another key": func(t *rapid.T) {
				if keys != nil {
					must(t, keys.Rotate())
				}
				must(t, s.log.Reseal(s.last()))
			},
			"commit": func(t *rapid.T) {
				s.log.NoteCommitted(s.log.Committed() + rapid.Uint64Range(0, 9).Draw(t, "more"))
			},
			"store what is committed": func(t *rapid.T) {
				must(t, s.log.StoreCommitted())
				s.committed = s.log.Committed()
			},
			"close": func(t *rapid.T) {
				s.committed = s.log.Committed()
				must(t, s.log.Close())
				s.open()
			},
			"kill": func(t *rapid.T) {
				must(t, s.log.WaitSynced(s.last()))
				s.files = s.files.killed()
				s.open()
			},
			"lose power": func(t *rapid.T) {
				must(t, s.log.WaitSynced(s.last()))
				s.files = s.files.crashed(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), 0)))
				s.open()
			},
		})
	})
}

// TestALargeLogHasFewFiles: each segment is an open file, so a large log must not have too many.
func TestALargeLogHasFewFiles(t *testing.T) {
	t.Parallel()
	s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, nil)}
	s.open()
	for i := range uint64(3000) {
		l := record(i+1, 1, 1000)
		must(t, s.log.StoreLog(l))
		s.want = append(s.want, l)
	}
	if n := len(s.log.segs); n > 5*manySegments {
		t.Errorf("%d files", n)
	}
	if err := compareLog(s.log, s.want); err != nil {
		t.Error(err)
	}
}

// TestOneProcessHasTheLog: only one process at a time can open a log.
func TestOneProcessHasTheLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, err := Open(dir, Options{})
	must(t, err)
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
	want := []*hraft.Log{record(1, 1, 10), record(2, 2, 10)}
	must(t, errors.Join(log.StoreLogs(want), log.Close()))
	if log, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(compareLog(log, want), log.Close()); err != nil {
		t.Error(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			log, err := Open(b.TempDir(), Options{})
			must(b, err)
			defer log.Close()
			index := uint64(0)
			for b.Loop() {
				logs := make([]*hraft.Log, batch)
				for i := range logs {
					index++
					logs[i] = &hraft.Log{Index: index, Term: 1, Data: make([]byte, 1024)}
				}
				must(b, log.StoreLogs(logs))
				if index%10_000 < uint64(batch) && index > 10_000 {
					must(b, log.DeleteRange(1, index-10_000))
				}
			}
		})
	}
}

// BenchmarkOpen opens a log of raft.Config.TrailingBytes, with single memories and with batches.
func BenchmarkOpen(b *testing.B) {
	const long = 128 << 20
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		for _, size := range []int{1 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				dir := b.TempDir()
				log, err := Open(dir, Options{Keys: keys})
				must(b, err)
				for index := uint64(1); index < long/uint64(size); {
					logs := make([]*hraft.Log, 16)
					for i := range logs {
						logs[i] = &hraft.Log{Index: index, Term: 1, Data: make([]byte, size)}
						index++
					}
					must(b, log.StoreLogs(logs))
				}
				must(b, log.Close())
				b.SetBytes(long)
				for b.Loop() {
					log, err := Open(dir, Options{Keys: keys})
					must(b, err)
					must(b, log.Close())
				}
			})
		}
	}
}
