package logstore

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestACrashAtEveryStep cuts the power before each write, sync, rename and removal in the life of a log. Acknowledged
// records survive, deleted ones do not come back, and of an unfinished change any part may exist that a reader can
// interpret.
func TestACrashAtEveryStep(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for name, o := range map[string]Options{"plain": smallSegments(nil, nil), "sealed": smallSegments(nil, newRing()),
		"leader": {SegmentBytes: 2 << 10, Leads: func() bool { return true }}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && o.Leads == nil {
				t.Skip("skipped in -short: one goroutine, in which there is no race")
			}
			steps := 0
			for at := 1; ; at++ {
				if !crashAtStep(t, o, at) {
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

// compareLogAndKept returns how a log differs from its model, whose retained records are kept or mayKeep.
func compareLogAndKept(log *Store, want, kept, mayKeep []*hraft.Log) error {
	err := compareLog(log, want)
	if err == nil && compareKept(log, mayKeep, want) != nil {
		err = compareKept(log, kept, want)
	}
	if err != nil && len(kept) == len(mayKeep) && compareLog(log, want) == nil { // some were erased, and others not yet
		some := slices.Clone(kept)
		r := log.Reader()
		defer r.Close()
		for i, l := range mayKeep {
			if got, err := r.Read(l.Index); err == nil && bytes.Equal(got.Data, l.Data) {
				some[i] = l
			}
		}
		err = compareKept(log, some, want)
	}
	return err
}

// erasedData is the data with which eraseData replaces a record's data, once.
var erasedData = []byte("erased")

func eraseData(_ uint64, data []byte) ([]byte, error) {
	if bytes.Equal(data, erasedData) {
		return nil, nil
	}
	return erasedData, nil
}

// withErased returns records as Erase leaves them.
func withErased(kept []*hraft.Log, before uint64) (all []*hraft.Log) {
	for _, l := range kept {
		if l.Index < before && l.Type == hraft.LogCommand && !bytes.Equal(l.Data, erasedData) {
			of := *l
			of.Data, of.Extensions, l = erasedData, erased, &of
		}
		all = append(all, l)
	}
	return all
}

// crashAtStep cuts the power at a step, and reports whether there were that many steps.
func crashAtStep(t *testing.T, o Options, at int) bool {
	rng := rand.New(rand.NewPCG(7, 7)) // the same sequence each time
	s := &modelStore{t: t, files: newMemory(), o: o}
	s.open()
	dead, step := false, 0
	s.files.op = func(string, string) error {
		if step++; step >= at {
			dead = true
			return syscall.EIO
		}
		return nil
	}
	var may [][]*hraft.Log   // contents that are allowed besides want
	var mayKeep []*hraft.Log // retained records that are allowed instead of kept
	var reached [2]uint64    // the newest end, by term and index, that a cut may have removed
	reach := func() {
		if l := s.want[len(s.want)-1]; slices.Compare([]uint64{l.Term, l.Index}, reached[:]) > 0 {
			reached = [2]uint64{l.Term, l.Index}
		}
	}
	committed := uint64(0)
	try := func(do func() error, then ...[]*hraft.Log) bool {
		err := do()
		if err == nil && len(then) > 0 {
			err = s.log.WaitSynced(1 << 60)
		}
		if err != nil {
			may = then
			return false
		}
		s.kept = mayKeep
		if len(then) > 0 {
			s.want = then[len(then)-1]
		}
		return !dead // only a mark failed
	}
	prefixes := func(more []*hraft.Log) (all [][]*hraft.Log) {
		for n := range len(more) {
			all = append(all, slices.Concat(s.want, more[:n+1]))
		}
		return all
	}
	next, on := uint64(1), true
	for i := 0; i < 60 && on; i++ {
		mayKeep = s.kept
		switch n := i % 15; {
		case n == 8 && len(s.want) > 4:
			left := rng.IntN(len(s.want)-2) + 1
			var ends [][]*hraft.Log
			for n := len(s.want) - 1; n >= left; n-- {
				ends = append(ends, s.want[:n])
			}
			next = s.want[left].Index
			reach()
			on = try(func() error { return s.log.DeleteRange(s.want[left].Index, s.last()) }, ends...)
		case n == 11 && len(s.want) > 4:
			gone := rng.IntN(len(s.want) - 2)
			s.retain += uint64(rng.IntN(8))
			mayKeep = s.retained(s.want[:gone+1])
			on = try(func() error { return s.log.DeleteRange(1, s.want[gone].Index) }, s.want[gone+1:])
		case n == 12 && i < 30:
			before := s.want[0].Index - 1
			mayKeep = withErased(s.kept, before)
			on = try(func() error { return s.log.Erase(before, eraseData) })
		case n == 12:
			on = try(func() error { return s.log.Reseal(s.last()) })
		case n == 13:
			on = try(func() error {
				s.log.NoteCommitted(committed + 1)
				err := s.log.StoreCommitted()
				if err == nil {
					committed++
				}
				return err
			})
		case n == 14 && i > 40:
			mayKeep = nil
			reach()
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
			was := compareLogAndKept(log, s.want, s.kept, mayKeep)
			if was != nil && !slices.ContainsFunc(may,
				func(want []*hraft.Log) bool { return compareLogAndKept(log, want, s.kept, mayKeep) == nil }) {
				t.Fatalf("crash at step %d: %v", at, was)
			}
			if got := log.Committed(); got != committed && got != committed+1 {
				t.Fatalf("crash at step %d: committed up to %d, not %d", at, got, committed)
			}
			last, _ := log.LastIndex()
			var end hraft.Log
			if last > 0 {
				must(t, log.GetLog(last, &end))
			}
			cutTerm, cutIndex := log.LastCut()
			if slices.Compare([]uint64{end.Term, end.Index}, reached[:]) < 0 &&
				slices.Compare([]uint64{cutTerm, cutIndex}, reached[:]) < 0 {
				t.Fatalf("crash at step %d: the log, which ends at %d (term %d), forgot that it had reached %v", at, last,
					end.Term, reached)
			}
			l := record(last+1, 5, 100)
			if err := errors.Join(log.StoreLog(l), log.WaitSynced(l.Index), log.DeleteRange(l.Index, l.Index)); err != nil {
				t.Fatalf("crash at step %d: going on: %v", at, err)
			}
			must(t, log.Close())
		}
	}
	return true
}
