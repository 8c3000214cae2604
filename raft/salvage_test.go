package raft

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/raft/recovery"
)

// crashed holds what a kill leaves of a lone node: its files as they were after the last acknowledged record, and a
// state that is behind, as of its last checkpoint.
type crashed struct {
	cfg      Config
	want     []string
	behind   int // how many of these the state has
	at, term uint64
}

// crash makes a node acknowledge 90 records, in several segments.
func crash(t *testing.T) crashed { return crashWith(t, nil, func(*Node) {}) }

// crashWith is crash with what happens before the last 10 records, under keys.
func crashWith(t *testing.T, keys *seal.Ring, happens func(*Node)) crashed {
	t.Helper()
	c := &cluster{t: t, addrs: []string{"127.0.0.1:0"}, nodes: make([]*Node, 1), sms: []*list{{}}}
	cfg := Config{NodeID: 1, Dir: t.TempDir(), Addr: "127.0.0.1:0", Credentials: Credentials{Secret: "secret"}, Keys: keys,
		Alone: true, Timing: Timing{SegmentBytes: 2 << 10}, Handler: noHandler{}}
	c.sms[0].dir = savedDir(cfg.Dir)
	n, err := Open(context.Background(), cfg, c.sms[0])
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	c.nodes[0] = n
	out := crashed{want: c.propose(0, 30)}
	out.at, out.term = c.sms[0].Applied()
	out.behind = len(out.want)
	out.want = append(out.want, c.propose(30, 80)...)
	happens(n)
	out.want = append(out.want, c.propose(80, 90)...)
	out.cfg = cfg
	out.cfg.Dir = t.TempDir()
	if err := rafttest.CopyHome(out.cfg.Dir, cfg.Dir); err != nil {
		t.Fatal(err)
	}
	return out
}

// copy is the same crash again.
func (c crashed) copy(t *testing.T) crashed {
	t.Helper()
	to := t.TempDir()
	if err := rafttest.CopyHome(to, c.cfg.Dir); err != nil {
		t.Fatal(err)
	}
	c.cfg.Dir = to
	return c
}

func (c crashed) state() *list {
	return &list{Index: c.at, Term: c.term, Items: slices.Clone(c.want[:c.behind]), dir: savedDir(c.cfg.Dir)}
}

// start opens the node on what is left, and returns what it has when it leads.
func (c crashed) start(t *testing.T) ([]string, error) {
	t.Helper()
	sm := c.state()
	n, err := Open(context.Background(), c.cfg, sm)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	cl := &cluster{t: t, nodes: []*Node{n}, sms: []*list{sm}}
	cl.leader()
	return sm.items(), nil
}

// damagedBelow flips a bit of a record that the state has.
func (c crashed) damagedBelow(t *testing.T) {
	t.Helper()
	rafttest.Flip(t, segments(t, c.cfg.Dir)[0], "entry-12")
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// TestALoneNodeKeepsWhatItsFilesProve: its state is behind, and the log is damaged after a kill, but in no record
// that the state lacks.
func TestALoneNodeKeepsWhatItsFilesProve(t *testing.T) {
	t.Parallel()
	made := crash(t)
	last := func(t *testing.T, c crashed) string { all := segments(t, c.cfg.Dir); return all[len(all)-1] }
	for name, damage := range map[string]func(*testing.T, crashed){
		"nothing":                   func(*testing.T, crashed) {},
		"what the state has":        func(t *testing.T, c crashed) { c.damagedBelow(t) },
		"the first segment gone":    func(t *testing.T, c crashed) { os.Remove(segments(t, c.cfg.Dir)[0]) },
		"the first segment cut":     func(t *testing.T, c crashed) { os.Truncate(segments(t, c.cfg.Dir)[0], 100) },
		"a bit of what lies beside": func(t *testing.T, c crashed) { flip(t, filepath.Join(c.cfg.Dir, "log", "meta"), 12) },
		"what lies beside gone":     func(t *testing.T, c crashed) { os.Remove(filepath.Join(c.cfg.Dir, "log", "meta")) },
		"a vote": func(t *testing.T, c crashed) {
			rafttest.Flip(t, filepath.Join(c.cfg.Dir, "log", "votes.db"), "CurrentTerm")
		},
		"votes gone":               func(t *testing.T, c crashed) { os.Remove(filepath.Join(c.cfg.Dir, "log", "votes.db")) },
		"the header of a segment":  func(t *testing.T, c crashed) { flip(t, segments(t, c.cfg.Dir)[2], 10) },
		"the salt of a segment":    func(t *testing.T, c crashed) { flip(t, segments(t, c.cfg.Dir)[2], 17) },
		"the header of the newest": func(t *testing.T, c crashed) { flip(t, last(t, c), 10) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := made.copy(t)
			damage(t, c)
			got, err := c.start(t)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%d of %d records are there: %v", len(got), len(c.want), err)
			}
		})
	}
}

// TestEveryFlippedBitOfALoneLog: wherever a bit of the log is flipped, the node has all that was acknowledged, or it
// names the record that is lost and does not start.
func TestEveryFlippedBitOfALoneLog(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	made := crash(t)
	whole, named := 0, 0
	for i, path := range segments(t, made.cfg.Dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := int64(i); at < info.Size(); at += info.Size()/7 + 7 {
			c := made.copy(t)
			flip(t, segments(t, c.cfg.Dir)[i], at)
			got, err := c.start(t)
			var lost *recovery.LossError
			switch {
			case err == nil && slices.Equal(got, c.want):
				whole++
			case errors.As(err, &lost) && len(lost.Lost) == 1 && lost.Lost[0].First == lost.Lost[0].Last && !lost.Open:
				named++
			default:
				t.Errorf("byte %d of segment %d: %d of %d records are there: %v", at, i, len(got), len(c.want), err)
			}
		}
	}
	t.Logf("%d starts with everything, %d losses named", whole, named)
	if whole == 0 || named == 0 {
		t.Error("nothing was tested")
	}
}

// TestALossIsNamedAndWaits: what is in no file any more is named, the node does not start and leaves its files; told
// to go on without it, it has everything else and takes no number twice.
func TestALossIsNamedAndWaits(t *testing.T) {
	t.Parallel()
	c := crash(t)
	const lostItem = "entry-50"
	for _, path := range segments(t, c.cfg.Dir) {
		if raw, err := os.ReadFile(path); err == nil && slices.Contains(slices.Collect(chunksOf(raw, len(lostItem))), lostItem) {
			rafttest.Flip(t, path, lostItem)
		}
	}
	at := c.at + uint64(slices.Index(c.want, lostItem)-c.behind) + 1
	want := []recovery.Span{{First: at, Last: at}}
	for range 2 { // the second start says it again
		_, err := c.start(t)
		var lost *recovery.LossError
		if !errors.As(err, &lost) || !slices.Equal(lost.Lost, want) || lost.Open {
			t.Fatalf("got %v, want %v lost", err, want)
		}
	}
	lost, err := AcceptLoss(c.cfg, c.state())
	if err != nil || lost == nil || !slices.Equal(lost.Lost, want) {
		t.Fatalf("accepted %v, %v; want %v", lost, err, want)
	}
	left := slices.DeleteFunc(slices.Clone(c.want), func(item string) bool { return item == lostItem })
	if got, err := c.start(t); err != nil || !slices.Equal(got, left) {
		t.Errorf("after the loss: %q, %v, want %q", got, err, left)
	}
	if lost, err := AcceptLoss(c.cfg, c.state()); err != nil || lost != nil {
		t.Errorf("a whole log: %v, %v", lost, err)
	}
}

// chunksOf are the texts of a length that begin at each byte.
func chunksOf(raw []byte, size int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(raw) - size {
			if !yield(string(raw[i : i+size])) {
				return
			}
		}
	}
}

// TestWhatIsNotKnownToBeWholeWaits: without its newest segment, or without any file of the log, a node cannot know
// what it had.
func TestWhatIsNotKnownToBeWholeWaits(t *testing.T) {
	t.Parallel()
	made := crash(t)
	for name, lose := range map[string]func(crashed) error{
		"the newest segment": func(c crashed) error { all := segments(t, c.cfg.Dir); return os.Remove(all[len(all)-1]) },
		"a part of it":       func(c crashed) error { all := segments(t, c.cfg.Dir); return os.Truncate(all[len(all)-1], 90) },
		"all files":          func(c crashed) error { return os.RemoveAll(logDir(c.cfg.Dir)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := made.copy(t)
			if err := lose(c); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				var lost *recovery.LossError
				if _, err := c.start(t); !errors.As(err, &lost) || !lost.Open {
					t.Fatalf("got %v", err)
				}
			}
			if lost, err := AcceptLoss(c.cfg, c.state()); err != nil || lost == nil {
				t.Fatal(lost, err)
			}
			if got, err := c.start(t); err != nil || len(got) < c.behind || !slices.Equal(got, c.want[:len(got)]) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestASnapshotIsNotTheLog: the state and a snapshot end at the same record, and the log behind them is gone.
func TestASnapshotIsNotTheLog(t *testing.T) {
	t.Parallel()
	c := crash(t)
	c.damagedBelow(t)
	if got, err := c.start(t); err != nil || !slices.Equal(got, c.want) {
		t.Fatal(got, err)
	}
	if err := os.RemoveAll(logDir(c.cfg.Dir)); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		var lost *recovery.LossError
		if _, err := c.start(t); !errors.As(err, &lost) || !lost.Open {
			t.Fatalf("start %d: got %v", i, err)
		}
	}
}

// TestSalvageIsFinished: a kill between the steps that put the new log in its place.
func TestSalvageIsFinished(t *testing.T) {
	t.Parallel()
	c := crash(t)
	c.damagedBelow(t)
	n := newNode(c.cfg.withDefaults(), c.state())
	rest, lost := recovery.RebuildLog(logstore.Salvage(logDir(c.cfg.Dir), n.storeOptions(), c.at+1), c.at, c.term)
	if len(lost) > 0 || len(rest) == 0 {
		t.Fatal(rest, lost)
	}
	if err := offline(c.cfg, c.state(), func(*Node) error { return nil }); err == nil {
		t.Fatal("a node that only looks took a damaged log for a whole one")
	}
	if err := n.snapshotState(c.at, c.term); err != nil {
		t.Fatal(err)
	}
	if err := recovery.WriteSalvaged(c.cfg.Dir, n.storeOptions(), rest, 9); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(logDir(c.cfg.Dir), logDir(c.cfg.Dir)+".corrupt-1"); err != nil {
		t.Fatal(err)
	}
	if got, err := c.start(t); err != nil || !slices.Equal(got, c.want) {
		t.Errorf("%q, %v", got, err)
	}
}
