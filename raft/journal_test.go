package raft

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
)

// shelf is a log on a disk, and beside it what it must hold.
type shelf struct {
	t    *testing.T
	rng  *rand.Rand
	dir  string
	log  store
	want []*hraft.Log // one after the other
	gone uint64       // the last record there was before the first of want
}

func (s *shelf) open() {
	s.t.Helper()
	n := &Node{cfg: Config{Dir: s.dir, JournalBytes: 32 << 10}.withDefaults()}
	n.log = n.cfg.Logger
	log, err := n.openStore(filepath.Join(s.dir, "raft.db"), s.gone)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { log.Close() })
	s.log = log
}

func (s *shelf) last() uint64 {
	if len(s.want) == 0 {
		return s.gone
	}
	return s.want[len(s.want)-1].Index
}

// some makes records that follow on the last.
func (s *shelf) some() (logs []*hraft.Log) {
	for i := range 1 + s.rng.IntN(4) {
		l := &hraft.Log{Index: s.last() + 1 + uint64(i), Term: 1 + s.rng.Uint64N(9), Type: hraft.LogType(s.rng.IntN(5)),
			Data: fmt.Appendf(nil, "record %d %s", s.rng.Uint64(), make([]byte, s.rng.IntN(500)))}
		if s.rng.IntN(2) == 0 {
			l.AppendedAt = time.Unix(s.rng.Int64N(1<<33), 5)
		}
		if s.rng.IntN(4) == 0 {
			l.Extensions = []byte("extension")
		}
		logs = append(logs, l)
	}
	return logs
}

func (s *shelf) step() {
	s.t.Helper()
	var err error
	switch n := s.rng.IntN(60); {
	case n == 0 && len(s.want) > 0: // what a snapshot holds goes
		k := 1 + s.rng.IntN(len(s.want))
		err = s.log.DeleteRange(s.want[0].Index, s.want[k-1].Index)
		s.gone, s.want = s.want[k-1].Index, s.want[k:]
	case n == 1 && len(s.want) > 1: // another leader's log was another
		k := s.rng.IntN(len(s.want)-1) + 1
		err = s.log.DeleteRange(s.want[k].Index, s.last())
		s.want = s.want[:k]
	case n == 2:
		err = s.log.SetUint64([]byte(keyTerm), s.rng.Uint64())
	case n == 3: // more than a journal takes at once
		big := &hraft.Log{Index: s.last() + 1, Term: 7, Data: make([]byte, 40<<10)}
		err = s.log.StoreLogs([]*hraft.Log{big})
		s.want = append(s.want, big)
	case n == 4 && len(s.want) > 0: // after a snapshot from elsewhere
		err = s.log.DeleteRange(s.want[0].Index, s.last())
		s.gone, s.want = s.last()+100, nil
	default:
		logs := s.some()
		err = s.log.StoreLogs(logs)
		s.want = append(s.want, logs...)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) check() {
	s.t.Helper()
	first, err := s.log.FirstIndex()
	last, err2 := s.log.LastIndex()
	if err != nil || err2 != nil {
		s.t.Fatal(err, err2)
	}
	if len(s.want) == 0 {
		if first != 0 || last != 0 {
			s.t.Fatalf("an empty log holds %d to %d", first, last)
		}
		return
	}
	if first != s.want[0].Index || last != s.last() {
		s.t.Fatalf("it holds %d to %d, not %d to %d", first, last, s.want[0].Index, s.last())
	}
	for _, w := range s.want {
		var l hraft.Log
		if err := s.log.GetLog(w.Index, &l); err != nil {
			s.t.Fatalf("record %d: %v", w.Index, err)
		}
		if !l.AppendedAt.Equal(w.AppendedAt) {
			s.t.Fatalf("record %d was appended at %v, not %v", w.Index, l.AppendedAt, w.AppendedAt)
		}
		l.AppendedAt = w.AppendedAt
		if len(l.Extensions) == 0 {
			l.Extensions = nil
		}
		if !reflect.DeepEqual(&l, w) {
			s.t.Fatalf("record %d is %v, not %v", w.Index, l, w)
		}
	}
	var l hraft.Log
	for _, i := range []uint64{first - 1, last + 1} {
		if err := s.log.GetLog(i, &l); !errors.Is(err, hraft.ErrLogNotFound) {
			s.t.Fatalf("record %d, which there is not: %v", i, err)
		}
	}
}

// die is what a machine leaves that loses power in the middle of a write to the journal.
func (s *shelf) die() {
	s.t.Helper()
	s.dir = copied(s.t, s.dir)
	path := journalPath(filepath.Join(s.dir, "raft.db"))
	raw, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	_, at := frames(s.t, raw)
	frame := appendFrame(nil, generation(s.t, raw), []*hraft.Log{{Index: s.last() + 1, Extensions: []byte("never acknowledged")}})
	copy(raw[at:], frame[:s.rng.IntN(len(frame)-1)])
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestTheLogIsWhatWasStored does all that the library does to a log, closes it, and pulls the plug.
func TestTheLogIsWhatWasStored(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			s := &shelf{t: t, rng: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir()}
			s.open()
			for range 400 {
				s.step()
				switch s.rng.IntN(50) {
				case 0:
					s.check()
				case 1:
					if err := s.log.Close(); err != nil {
						t.Fatal(err)
					}
					s.open()
					s.check()
				case 2:
					s.die()
					if err := s.log.Close(); err != nil {
						t.Fatal(err)
					}
					s.open()
					s.check()
				}
			}
			s.check()
		})
	}
}

// filled is a directory whose journal holds records, as a killed process leaves it.
func filled(t *testing.T) (dir string) {
	s := &shelf{t: t, rng: rand.New(rand.NewPCG(1, 1)), dir: t.TempDir()}
	s.open()
	for range 12 {
		logs := s.some()
		if err := s.log.StoreLogs(logs); err != nil {
			t.Fatal(err)
		}
		s.want = append(s.want, logs...)
	}
	return copied(t, s.dir)
}

// TestADamagedJournalIsNamed: records that were acknowledged are missed, not passed over.
func TestADamagedJournalIsNamed(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(journalPath(filepath.Join(filled(t), "raft.db")))
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := frames(t, whole); n < 2 {
		t.Fatalf("%d frames are few", n)
	}
	for name, harm := range map[string]func([]byte) []byte{
		"flipped in the header": func(b []byte) []byte { b[10] ^= 4; return b },
		"flipped in a frame":    func(b []byte) []byte { b[journalHead+40] ^= 4; return b },
		"flipped in a length":   func(b []byte) []byte { b[journalHead+5] ^= 4; return b },
		"flipped in a mark":     func(b []byte) []byte { b[journalHead+9] ^= 4; return b },
		"torn":                  func(b []byte) []byte { return b[:len(b)/3] },
		"empty":                 func([]byte) []byte { return nil },
		"gone":                  nil,
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			path := journalPath(filepath.Join(dir, "raft.db"))
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if harm != nil {
				if err := os.WriteFile(path, harm(b), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			n := &Node{cfg: Config{Dir: dir}.withDefaults()}
			if s, err := n.openStore(filepath.Join(dir, "raft.db"), 0); !errors.Is(err, errJournal) {
				if err == nil {
					s.Close()
				}
				t.Fatalf("it was opened: %v", err)
			}
		})
	}
}

// frames are how many a journal holds, and where they end.
func frames(t *testing.T, raw []byte) (n, end int) {
	t.Helper()
	for end = journalHead; ; n++ {
		records, ok := frameOf(raw[end:], generation(t, raw))
		if !ok {
			return n, end
		}
		end += frameHead + len(records)
	}
}

func generation(t *testing.T, raw []byte) uint64 {
	t.Helper()
	gen, _, err := readJournal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return gen
}

func FuzzJournal(f *testing.F) {
	logs := []*hraft.Log{{Index: 7, Term: 1, Data: []byte("one")}, {Index: 8, Term: 2, Type: hraft.LogBarrier, AppendedAt: time.Unix(9, 0)}}
	frame := appendFrame(nil, 3, logs)
	f.Add(frame, []byte{})
	f.Add(append(slices.Clone(frame), frame...), []byte{})
	f.Add(frame[:len(frame)-1], frame)
	f.Fuzz(func(t *testing.T, frames, rest []byte) {
		raw := append(make([]byte, journalHead), frames...)
		raw = append(raw, rest...)
		copy(raw, journalHeader(3, int64(len(raw)), 0))
		gen, logs, err := readJournal(raw)
		if err != nil {
			return
		}
		var again []byte
		for _, l := range logs {
			again = appendFrame(again, gen, []*hraft.Log{l})
		}
		raw = append(raw[:journalHead:journalHead], again...)
		copy(raw, journalHeader(3, int64(len(raw)), 0))
		_, twice, err := readJournal(raw)
		if err != nil || len(twice) != len(logs) {
			t.Fatalf("%d records became %d: %v", len(logs), len(twice), err)
		}
	})
}
