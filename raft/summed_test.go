package raft

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/rafttest"
)

// heldBy is what a log says of itself.
func heldBy(s store) (votes [3]string, logs []hraft.Log, err error) {
	for i, key := range []string{keyTerm, keyVoteTerm, keyVote} {
		v, err := s.Get([]byte(key))
		if err != nil {
			return votes, nil, err
		}
		votes[i] = string(v)
	}
	first, err := s.FirstIndex()
	if err != nil {
		return votes, nil, err
	}
	last, err := s.LastIndex()
	for i := first; err == nil && i <= last; i++ {
		var l hraft.Log
		if err = s.GetLog(i, &l); err == nil {
			l.AppendedAt, l.Extensions = time.Time{}, nil // nobody asks for them
			logs = append(logs, l)
		}
	}
	return votes, logs, err
}

func reopen(dir string, keys *seal.Ring, covered uint64) (s store, err error) {
	n := &Node{cfg: Config{Dir: dir, JournalBytes: 128 << 10, Keys: keys, NoSync: true}.withDefaults()}
	n.log = n.cfg.Logger
	return n.openStore(filepath.Join(dir, "raft.db"), covered)
}

// TestAFlippedBitIsFoundOrHarmless: whatever bit of a log's files changes while it is closed, the log is refused or is
// what it was, encrypted or not.
func TestAFlippedBitIsFoundOrHarmless(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		for _, file := range []string{"raft.db", "raft.db.journal"} {
			t.Run(name+" "+file, func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(3, 7))
				dir := t.TempDir()
				s, err := reopen(dir, keys, 0)
				if err != nil {
					t.Fatal(err)
				}
				shelf := &shelf{t: t, rng: rng, dir: dir, log: s}
				for range 40 {
					if err := s.StoreLogs(shelf.some()); err != nil {
						t.Fatal(err)
					}
					last, err := s.LastIndex()
					if err != nil {
						t.Fatal(err)
					}
					shelf.gone = last
				}
				for _, err := range []error{s.SetUint64([]byte(keyTerm), 9), s.SetUint64([]byte(keyVoteTerm), 9), s.Set([]byte(keyVote), []byte("node 3"))} {
					if err != nil {
						t.Fatal(err)
					}
				}
				var last []*hraft.Log
				if file != "raft.db" { // which takes what is in the journal when somebody votes
					for range 5 {
						last = shelf.some()
						if err := s.StoreLogs(last); err != nil {
							t.Fatal(err)
						}
						shelf.gone = last[len(last)-1].Index
					}
				}
				votes, logs, err := heldBy(s)
				if err != nil {
					t.Fatal(err)
				}
				still := logFilesOf(t, dir) // as a killed process leaves it
				may := map[int]int{}        // the last frame may be missed, by the sector in which it has no more than a sliver
				if file != "raft.db" {
					may = slivers(t, still[file], len(last))
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				found, harmless := 0, 0
				flips := 200
				if testing.Short() { // the race detector loses track of the stack when a panic is recovered from, and in the end its own
					flips = 20
				}
				for range flips {
					dir := t.TempDir()
					at, bit := still.write(t, dir, file, rng)
					s, err := reopen(dir, keys, 0)
					if err != nil {
						found++
						continue
					}
					v, l, err := heldBy(s)
					if err != nil || v != votes || !reflect.DeepEqual(l, logs[:min(len(l), len(logs))]) || len(l) < len(logs)-may[at/sector] {
						t.Errorf("bit %d of byte %d of %s passed: %v; %d records of %d, votes %q", bit, at, file, err, len(l), len(logs), v)
					}
					harmless++
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if found == 0 && !testing.Short() {
					t.Error("nothing was found")
				}
				t.Logf("%d found, %d harmless", found, harmless)
			})
		}
	}
}

// slivers are the sectors in which a journal's last frame has little, and how many records it has.
func slivers(t *testing.T, raw []byte, records int) map[int]int {
	t.Helper()
	begin, end := journalHead, journalHead
	for {
		r, ok := frameOf(raw[end:], generation(t, raw))
		if !ok {
			break
		}
		begin, end = end, end+frameHead+len(r)
	}
	out := map[int]int{}
	for s := begin / sector; s <= (end-1)/sector; s++ {
		if min(end, (s+1)*sector)-max(begin, s*sector) < sliver {
			out[s] = records
		}
	}
	return out
}

// logFiles is what the two files of a log hold.
type logFiles map[string][]byte

func logFilesOf(t *testing.T, dir string) logFiles {
	t.Helper()
	im := logFiles{}
	for _, name := range []string{"raft.db", "raft.db.journal"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		im[name] = raw
	}
	return im
}

// write makes the files anew, one of them with a bit changed in a page that is not empty.
func (im logFiles) write(t *testing.T, dir, file string, rng *rand.Rand) (at int, bit int) {
	t.Helper()
	for name, raw := range im {
		used := bytes.TrimRight(raw, "\x00")
		if name == file {
			most := len(used)
			if file != "raft.db" {
				_, most = frames(t, raw)
			}
			used = append(bytes.Clone(used), make([]byte, 4096)...)
			for at = rng.IntN(most); len(bytes.Trim(raw[at&^4095:min(len(raw), at&^4095+4096)], "\x00")) == 0; {
				at = rng.IntN(most)
			}
			bit = rng.IntN(8)
			used[at] ^= 1 << bit
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, used, 0o600), os.Truncate(path, int64(len(raw)))); err != nil {
			t.Fatal(err)
		}
	}
	return at, bit
}

// TestALogWithoutSumsIsRead: one that was written before there were any.
func TestALogWithoutSumsIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := &Node{cfg: Config{Dir: dir}.withDefaults()}
	n.log = n.cfg.Logger
	s, err := n.openFile(filepath.Join(dir, "raft.db"))
	if err != nil {
		t.Fatal(err)
	}
	bare := s.(*journal).BoltStore
	for i := range uint64(20) {
		l := &hraft.Log{Index: i + 1, Term: 1, Data: fmt.Appendf(nil, "record %d", i)}
		if err := bare.StoreLogs([]*hraft.Log{l}); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{bare.SetUint64([]byte(keyTerm), 4), bare.Set([]byte(keyVote), []byte("node 3")), s.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		s, err := reopen(dir, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		term, err := s.GetUint64([]byte(keyTerm))
		cand, err2 := s.Get([]byte(keyVote))
		if err != nil || err2 != nil || term != 4 || string(cand) != "node 3" {
			t.Errorf("term %d (%v), vote for %q (%v)", term, err, cand, err2)
		}
		var l hraft.Log
		if err := s.GetLog(7, &l); err != nil || string(l.Data) != "record 6" {
			t.Errorf("record 7: %v, %v", l, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestALogWithAHole: what no snapshot stands for is missed.
func TestALogWithAHole(t *testing.T) {
	t.Parallel()
	s := &shelf{t: t, rng: rand.New(rand.NewPCG(1, 1)), dir: t.TempDir(), gone: 100}
	s.open()
	for range 5 {
		logs := s.some()
		if err := s.log.StoreLogs(logs); err != nil {
			t.Fatal(err)
		}
		s.want = append(s.want, logs...)
	}
	if err := s.log.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := reopen(s.dir, nil, 99); !errors.Is(err, errSum) {
		if err == nil {
			s.Close()
		}
		t.Errorf("a log that begins at 101 behind a snapshot at 99: %v", err)
	}
	log, err := reopen(s.dir, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAMemberStopsAtARecordThatHasChanged: under the process, when it is to be sent to another. The others go on, and
// make the member whole after its next start.
func TestAMemberStopsAtARecordThatHasChanged(t *testing.T) {
	t.Parallel()
	c := startSteady(t, 3)
	want := c.propose(0, 20)
	l := c.leader()
	at := int(l.cfg.NodeID - 1)
	away := (at + 1) % 3
	if err := c.nodes[away].Close(); err != nil {
		t.Fatal(err)
	}
	want = append(want, c.propose(20, 20+2*logCache)...)
	large := strings.Repeat("large ", 200_000) // goes into the file, with all that is before it
	if _, _, err := l.Propose(t.Context(), []byte(large)).Wait(); err != nil {
		t.Fatal(err)
	}
	want = append(want, large)
	rafttest.Flip(t, filepath.Join(c.dirs[at], "raft.db"), "entry-30")
	c.reopen(away, "secret", slices.Delete(slices.Clone(c.addrs), away, away+1))
	c.wait("the member to notice", func() bool { return l.broken() != nil })
	if err := l.broken(); !errors.Is(err, errSum) {
		t.Errorf("it says %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	want = append(want, c.propose(1000, 1010)...)
	c.wait("the member that was away to have all", func() bool { return slices.Equal(c.sms[away].items(), want) })
	c.sms[at] = &list{}
	c.reopen(at, "secret", slices.Delete(slices.Clone(c.addrs), at, at+1))
	c.wait("the member to be whole again", func() bool { return c.nodes[at].Whole() && slices.Equal(c.sms[at].items(), want) })
}

// TestOneNodeKeepsWhatItsDamagedLogHolds: no other node has what the state has not taken yet, and the journal still has the record
// that changed in the file.
func TestOneNodeKeepsWhatItsDamagedLogHolds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		damaged, behind bool
	}{
		"in what the state has taken":      {damaged: true},
		"in what it has not":               {damaged: true, behind: true},
		"nowhere, and the state is behind": {behind: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 1)
			want := c.propose(0, 40)
			if err := c.nodes[0].Close(); err != nil {
				t.Fatal(err)
			}
			if tc.damaged {
				rafttest.Flip(t, filepath.Join(c.dirs[0], "raft.db"), "entry-25")
			}
			if tc.behind {
				c.sms[0] = &list{}
			}
			for range 2 {
				c.reopen(0, "secret", nil)
				c.leader()
				if got := c.sms[0].items(); !slices.Equal(got, want) {
					t.Fatalf("it has %d: %q", len(got), got)
				}
				if err := c.nodes[0].Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestKeysOfTwoTasks: the vote is stored while another task cuts the whole log away. Neither takes the other's key out of the list.
func TestKeysOfTwoTasks(t *testing.T) {
	t.Parallel()
	b, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(t.TempDir(), "raft.db"), NoSync: true, MsgpackUseNewTimeFormat: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := sumLog(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for i := range 50 {
			if err := s.SetUint64(fmt.Appendf(nil, "key %d", i), 1); err != nil {
				t.Error(err)
			}
		}
	})
	tasks.Go(func() {
		for i := range uint64(50) {
			if err := errors.Join(s.StoreLog(&hraft.Log{Index: i + 1, Term: 1}), s.DeleteRange(1, i+1)); err != nil {
				t.Error(err)
			}
		}
	})
	tasks.Wait()
	for i := range 50 {
		if !s.lists(fmt.Appendf(nil, "key %d", i)) {
			t.Errorf("key %d is not in the list", i)
		}
	}
	if err := s.whole(); err != nil {
		t.Error(err)
	}
}
