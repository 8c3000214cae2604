package logstore

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	hraft "github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

// TestAFullDisk: a write that finds no space, or not enough, leaves nothing; the log goes on once there is space.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	for name, full := range map[string]error{"at once": syscall.ENOSPC, "in the middle": errPart} {
		t.Run(name, func(t *testing.T) {
			for at := range 40 {
				s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, nil)}
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
					logs := []*hraft.Log{record(i, i+uint64(step)<<8, 300), record(i+1, i+uint64(step)<<16, 300)} // different records at each attempt
					err := s.log.StoreLogs(logs)
					if err == nil {
						s.want = append(s.want, logs...)
						i += 2
					} else if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrUnsynced) {
						t.Fatal(err)
					}
					if err := compareLog(s.log, s.want); err != nil {
						t.Fatalf("full at step %d: %v", at, err)
					}
					s.files.op = nil
					files := s.files.killed()
					other, err := Open("log", smallSegments(files, nil))
					must(t, err)
					if err := compareLog(other, s.want); err != nil {
						t.Fatalf("full at step %d, killed: %v", at, err)
					}
				}
			}
		})
	}
}

// TestTheLogOnADiskThatFillsUp: an operation that finds no space at any of its writes changes nothing, also after a
// kill or a loss of power.
func TestTheLogOnADiskThatFillsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, nil)}
		s.open()
		// made runs do while the disk fills up, and reports whether it succeeded.
		made := func(t *rapid.T, do func() error) bool {
			step, at, until := 0, rapid.IntRange(1, 8).Draw(t, "full at"), rapid.IntRange(0, 10).Draw(t, "until")
			full := rapid.SampledFrom([]error{syscall.ENOSPC, errPart}).Draw(t, "with")
			s.files.op = func(op, _ string) error {
				if step++; step < at || step > until || op != "write" && op != "create" {
					return nil
				}
				if op == "create" {
					return syscall.ENOSPC
				}
				return full
			}
			err := do()
			if s.files.op = nil; err != nil && !LacksSpace(err) {
				t.Fatal(err)
			}
			return err == nil
		}
		// reopen opens the log, perhaps while the disk refuses every write.
		reopen := func(t *rapid.T) {
			if full := rapid.SampledFrom([]error{nil, syscall.ENOSPC, errPart}).Draw(t, "opened with"); full != nil {
				s.files.op = func(op, _ string) error {
					if op == "create" {
						return syscall.ENOSPC
					}
					if op == "write" {
						return full
					}
					return nil
				}
			}
			s.open()
			s.files.op = nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				s.t = t
				must(t, compareLog(s.log, s.want))
			},
			"store": func(t *rapid.T) {
				var logs []*hraft.Log
				for range rapid.IntRange(1, 5).Draw(t, "records") {
					logs = append(logs,
						record(s.last()+uint64(len(logs))+1, rapid.Uint64().Draw(t, "chance"), rapid.IntRange(0, 900).Draw(t, "size")))
				}
				if made(t, func() error { return s.log.StoreLogs(logs) }) {
					s.want = append(s.want, logs...)
				}
			},
			"cut the beginning": func(t *rapid.T) {
				if n := rapid.IntRange(0, max(0, len(s.want)-1)).Draw(t, "records"); n > 0 &&
					made(t, func() error { return s.log.DeleteRange(1, s.want[n-1].Index) }) {
					s.want = s.want[n:]
				}
			},
			"cut the end": func(t *rapid.T) {
				if n := rapid.IntRange(1, max(1, len(s.want))).Draw(t, "left"); n < len(s.want) &&
					made(t, func() error { return s.log.DeleteRange(s.want[n].Index, s.last()) }) {
					s.want = s.want[:n]
				}
			},
			"rewrite": func(t *rapid.T) { made(t, func() error { return s.log.Reseal(s.last()) }) },
			"kill": func(t *rapid.T) {
				s.files = s.files.killed()
				reopen(t)
			},
			"lose power": func(t *rapid.T) {
				s.files = s.files.crashed(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), 0)))
				reopen(t)
			},
		})
	})
}

// TestACutThatFindsNoRoomCutsNothing: after a failed cut the library goes on as if the old end were there, so no
// record may be gone. With space the cut succeeds.
func TestACutThatFindsNoRoomCutsNothing(t *testing.T) {
	t.Parallel()
	s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, nil)}
	s.open()
	for i := uint64(1); len(s.log.segs) < 3; i++ {
		l := record(i, 1, 300)
		must(t, s.log.StoreLog(l))
		s.want = append(s.want, l)
	}
	first := s.log.segs[1].first
	full := true
	s.files.op = func(op, name string) error {
		if full && op == "create" && strings.HasSuffix(name, segmentSuffix+unfinished) {
			return syscall.ENOSPC
		}
		return nil
	}
	if err := s.log.DeleteRange(first-2, s.last()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	must(t, compareLog(s.log, s.want))
	full = false
	must(t, s.log.DeleteRange(first-2, s.last()))
	s.want = s.want[:first-3]
	must(t, errors.Join(compareLog(s.log, s.want), s.log.Close()))
	s.open()
	must(t, compareLog(s.log, s.want))
}

// TestASegmentWithoutRoomForMetaStaysAway: a segment was begun, but there is no space for meta, which names it.
// Records that fit then go to the last segment, and no crash brings the new segment back.
func TestASegmentWithoutRoomForMetaStaysAway(t *testing.T) {
	t.Parallel()
	for chance := range uint64(20) {
		s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, nil)}
		s.open()
		s.want = []*hraft.Log{record(1, 1, 300)}
		must(t, s.log.StoreLogs(s.want))
		s.files.op = func(op, name string) error {
			if op == "create" && name == metaFile+unfinished {
				return syscall.ENOSPC
			}
			return nil
		}
		if err := s.log.StoreLog(record(2, 1, 1900)); !LacksSpace(err) {
			t.Fatal(err)
		}
		s.want = append(s.want, record(2, 2, 100))
		must(t, s.log.StoreLog(s.want[1]))
		s.files = s.files.crashed(rand.New(rand.NewPCG(chance, 1)))
		s.open()
		must(t, compareLog(s.log, s.want))
	}
}

// TestALogOpensOnAFullDisk: a log opens without free space, whether it was closed or killed.
func TestALogOpensOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{true, false} {
		files, want := newUsedLog(t, nil, closed)
		full := true
		files.op = func(op, _ string) error {
			if full && (op == "create" || op == "write") {
				return syscall.ENOSPC
			}
			return nil
		}
		log, err := Open("log", smallSegments(files, nil))
		must(t, err)
		if err := compareLog(log, want); err != nil {
			t.Error(err)
		}
		next := want[len(want)-1].Index + 1
		more := []*hraft.Log{record(next, 3, 2000), record(next+1, 4, 2000)}
		if err := log.StoreLogs(more); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("records on a full disk: %v", err)
		}
		full = false
		if err := errors.Join(log.StoreLogs(more), compareLog(log, slices.Concat(want, more))); err != nil {
			t.Error(err)
		}
	}
}

// TestNoRoomForAChangeOfMembers: a leader waits for space for a change of members, and stops if there is none: the
// library considers the change made either way. Other records, and a follower's, are rejected, and the member goes
// on.
func TestNoRoomForAChangeOfMembers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind          hraft.LogType
		leads, always bool
		stops, stored bool
	}{
		"a leader's change": {hraft.LogConfiguration, true, true, true, false},
		"room comes":        {hraft.LogConfiguration, true, false, false, true},
		"a follower's":      {hraft.LogConfiguration, false, true, false, false}, "another record": {hraft.LogCommand, true, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, nil)}
				s.open()
				full := 3
				s.files.op = func(op, _ string) error {
					if full--; op == "write" && (c.always || full > 0) {
						return syscall.ENOSPC
					}
					return nil
				}
				d := &Disk{Ctx: t.Context(), Log: slog.New(slog.DiscardHandler), Leads: func() bool { return c.leads }}
				log := &Failstop{LogStore: s.log, Disk: d}
				r := record(1, 1, 300)
				r.Type = c.kind
				if err := log.StoreLogs([]*hraft.Log{r}); (err == nil) != c.stored || (d.Err() != nil) != c.stops {
					t.Errorf("stored: %v; the disk: %v", err, d.Err())
				}
			})
		})
	}
}
