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

// crashedNode holds what a kill leaves of a node that is alone: its files as of the last acknowledged record, and an
// older state, as of its last checkpoint.
type crashedNode struct {
	cfg      Config
	want     []string
	behind   int // number of items in the state
	at, term uint64
}

// crashNode makes a node acknowledge 90 records in several segments, and kills it.
func crashNode(t *testing.T) crashedNode { return crashNodeWith(t, nil, func(*Node) {}) }

// crashNodeWith makes and kills the node of crashNode with its files under keys, and calls happens before the last 10
// records.
func crashNodeWith(t *testing.T, keys *seal.Ring, happens func(*Node)) crashedNode {
	t.Helper()
	c := &cluster{t: t, addrs: []string{"127.0.0.1:0"}, nodes: make([]*Node, 1), sms: []*listMachine{{}}}
	cfg := Config{NodeID: 1, Dir: t.TempDir(), Addr: "127.0.0.1:0", Credentials: Credentials{Secret: "secret"}, Keys: keys,
		Alone: true, Timing: Timing{SegmentBytes: 2 << 10}, Handler: noHandler{}}
	c.sms[0].dir = savedDir(cfg.Dir)
	n, err := Open(context.Background(), cfg, c.sms[0])
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	c.nodes[0] = n
	out := crashedNode{want: c.propose(0, 30)}
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

// copy returns a copy of the crashed node.
func (c crashedNode) copy(t *testing.T) crashedNode {
	t.Helper()
	to := t.TempDir()
	if err := rafttest.CopyHome(to, c.cfg.Dir); err != nil {
		t.Fatal(err)
	}
	c.cfg.Dir = to
	return c
}

func (c crashedNode) state() *listMachine {
	return &listMachine{Index: c.at, Term: c.term, Items: slices.Clone(c.want[:c.behind]), dir: savedDir(c.cfg.Dir)}
}

// start opens the node on the remaining files, and returns its items once it leads.
func (c crashedNode) start(t *testing.T) ([]string, error) {
	t.Helper()
	sm := c.state()
	n, err := Open(context.Background(), c.cfg, sm)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	cl := &cluster{t: t, nodes: []*Node{n}, sms: []*listMachine{sm}}
	cl.leader()
	return sm.items(), nil
}

// damageAppliedRecord flips a bit of a record that the state has applied.
func (c crashedNode) damageAppliedRecord(t *testing.T) {
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

// TestALoneNodeKeepsWhatItsFilesProve: after a kill the state is older than the log, and a record that the state has
// applied is damaged in the log. The node loses nothing.
func TestALoneNodeKeepsWhatItsFilesProve(t *testing.T) {
	t.Parallel()
	made := crashNode(t)
	last := func(t *testing.T, c crashedNode) string { all := segments(t, c.cfg.Dir); return all[len(all)-1] }
	for name, damage := range map[string]func(*testing.T, crashedNode){
		"nothing":                   func(*testing.T, crashedNode) {},
		"what the state has":        func(t *testing.T, c crashedNode) { c.damageAppliedRecord(t) },
		"the first segment gone":    func(t *testing.T, c crashedNode) { os.Remove(segments(t, c.cfg.Dir)[0]) },
		"the first segment cut":     func(t *testing.T, c crashedNode) { os.Truncate(segments(t, c.cfg.Dir)[0], 100) },
		"a bit of what lies beside": func(t *testing.T, c crashedNode) { flip(t, filepath.Join(c.cfg.Dir, "log", "meta"), 12) },
		"what lies beside gone":     func(t *testing.T, c crashedNode) { os.Remove(filepath.Join(c.cfg.Dir, "log", "meta")) },
		"a vote": func(t *testing.T, c crashedNode) {
			rafttest.Flip(t, filepath.Join(c.cfg.Dir, "log", "votes.db"), "CurrentTerm")
		},
		"votes gone":               func(t *testing.T, c crashedNode) { os.Remove(filepath.Join(c.cfg.Dir, "log", "votes.db")) },
		"the header of a segment":  func(t *testing.T, c crashedNode) { flip(t, segments(t, c.cfg.Dir)[2], 10) },
		"the salt of a segment":    func(t *testing.T, c crashedNode) { flip(t, segments(t, c.cfg.Dir)[2], 17) },
		"the header of the newest": func(t *testing.T, c crashedNode) { flip(t, last(t, c), 10) },
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

// TestEveryFlippedBitOfALoneLog: after any bit of the log is flipped, the node either has every acknowledged record,
// or it names the lost record and does not start.
func TestEveryFlippedBitOfALoneLog(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	made := crashNode(t)
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

// TestALossIsNamedAndWaits: a node names the records that are in no file, does not start, and leaves its files
// unchanged. After its operator accepts the loss, it has every other record and uses no index twice.
func TestALossIsNamedAndWaits(t *testing.T) {
	t.Parallel()
	c := crashNode(t)
	const lostItem = "entry-50"
	for _, path := range segments(t, c.cfg.Dir) {
		if raw, err := os.ReadFile(path); err == nil && slices.Contains(slices.Collect(chunksOf(raw, len(lostItem))), lostItem) {
			rafttest.Flip(t, path, lostItem)
		}
	}
	at := c.at + uint64(slices.Index(c.want, lostItem)-c.behind) + 1
	want := []recovery.Span{{First: at, Last: at}}
	for range 2 { // the second start reports the same
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

// chunksOf returns the substrings of a given length that begin at each byte.
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
// which records it had, and waits for its operator.
func TestWhatIsNotKnownToBeWholeWaits(t *testing.T) {
	t.Parallel()
	made := crashNode(t)
	for name, lose := range map[string]func(crashedNode) error{
		"the newest segment": func(c crashedNode) error { all := segments(t, c.cfg.Dir); return os.Remove(all[len(all)-1]) },
		"a part of it":       func(c crashedNode) error { all := segments(t, c.cfg.Dir); return os.Truncate(all[len(all)-1], 90) },
		"all files":          func(c crashedNode) error { return os.RemoveAll(logDir(c.cfg.Dir)) },
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

// TestASnapshotIsNotTheLog: the state and a snapshot end at the same record, and the log after them is missing.
func TestASnapshotIsNotTheLog(t *testing.T) {
	t.Parallel()
	c := crashNode(t)
	c.damageAppliedRecord(t)
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

// TestSalvageIsFinished: a start completes a salvage that was killed between the steps that install the new log.
func TestSalvageIsFinished(t *testing.T) {
	t.Parallel()
	c := crashNode(t)
	c.damageAppliedRecord(t)
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
