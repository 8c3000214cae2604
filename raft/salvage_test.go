package raft

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	hraft "github.com/hashicorp/raft"
)

// crashed is what a kill leaves of a lone node: its files as they were after the last acknowledged record, and a state that
// is behind, as of its last checkpoint.
type crashed struct {
	cfg      Config
	want     []string
	behind   int // how many of these the state has
	at, term uint64
}

// crash makes a node acknowledge 90 records: the log's file has the first 60 of them at least, the journal the rest.
func crash(t *testing.T) crashed {
	t.Helper()
	c := &cluster{t: t, addrs: []string{"127.0.0.1:0"}, nodes: make([]*Node, 1), sms: []*list{{}}}
	cfg := Config{NodeID: 1, Dir: t.TempDir(), Addr: "127.0.0.1:0", Secret: "secret", Alone: true, JournalBytes: 16 << 10, Handler: noHandler{}}
	n, err := Open(context.Background(), cfg, c.sms[0])
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	c.nodes[0] = n
	out := crashed{want: c.propose(0, 30)}
	out.at, out.term = c.sms[0].Applied()
	out.behind = len(out.want)
	out.want = append(out.want, c.propose(30, 60)...)
	if err := n.logs.SetUint64([]byte("puts the journal into the file"), 1); err != nil {
		t.Fatal(err)
	}
	if err := journalOf(n.logs).DeleteRange(1<<40, 1<<40); err != nil {
		t.Fatal(err)
	}
	out.want = append(out.want, c.propose(60, 90)...)
	out.cfg = cfg
	out.cfg.Dir = t.TempDir()
	if err := os.CopyFS(out.cfg.Dir, os.DirFS(cfg.Dir)); err != nil {
		t.Fatal(err)
	}
	return out
}

func journalOf(s store) *journal {
	if sealed, ok := s.(*sealed); ok {
		s = sealed.store
	}
	return s.(*journal)
}

// copy is the same crash again.
func (c crashed) copy(t *testing.T) crashed {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(c.cfg.Dir)); err != nil {
		t.Fatal(err)
	}
	c.cfg.Dir = to
	return c
}

func (c crashed) state() *list {
	return &list{Index: c.at, Term: c.term, Items: slices.Clone(c.want[:c.behind])}
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

// TestALoneNodeKeepsWhatItsFilesProve: its state is behind, and one of the two files of its log is damaged after a kill. All that
// was acknowledged is in the other one, or in the state.
func TestALoneNodeKeepsWhatItsFilesProve(t *testing.T) {
	t.Parallel()
	made := crash(t)
	db := func(c crashed) string { return filepath.Join(c.cfg.Dir, "raft.db") }
	journal := func(c crashed) string { return journalPath(db(c)) }
	for name, damage := range map[string]func(*testing.T, crashed){
		"nothing":                   func(*testing.T, crashed) {},
		"a meta page of the file":   func(t *testing.T, c crashed) { flip(t, db(c), 40) },
		"the other meta page":       func(t *testing.T, c crashed) { flip(t, db(c), 4096+40) },
		"the file cut short":        func(t *testing.T, c crashed) { loseLog["torn"](t, db(c)) },
		"the file gone":             func(t *testing.T, c crashed) { loseLog["removed"](t, db(c)) },
		"the file scribbled over":   func(t *testing.T, c crashed) { loseLog["scribbled over"](t, db(c)) },
		"the journal's header":      func(t *testing.T, c crashed) { flip(t, journal(c), 12) },
		"a frame of the journal":    func(t *testing.T, c crashed) { flip(t, journal(c), journalHead+200) },
		"the journal's first frame": func(t *testing.T, c crashed) { flip(t, journal(c), journalHead+10) },
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

// TestEveryFlippedBitOfALoneLog: wherever a bit of the log's file is flipped, the node has all that was acknowledged, or it names
// records that are lost and does not start.
func TestEveryFlippedBitOfALoneLog(t *testing.T) {
	t.Parallel()
	made := crash(t)
	info, err := os.Stat(filepath.Join(made.cfg.Dir, "raft.db"))
	if err != nil {
		t.Fatal(err)
	}
	whole, named := 0, 0
	for at := int64(0); at < info.Size(); at += info.Size()/40 + 7 {
		c := made.copy(t)
		flip(t, filepath.Join(c.cfg.Dir, "raft.db"), at)
		got, err := c.start(t)
		var lost *LossError
		switch {
		case err == nil && slices.Equal(got, c.want):
			whole++
		case errors.As(err, &lost) && len(lost.Lost) > 0 && !lost.Open:
			named++
		default:
			t.Errorf("byte %d: %d of %d records are there: %v", at, len(got), len(c.want), err)
		}
	}
	t.Logf("%d starts with everything, %d losses named", whole, named)
	if whole == 0 {
		t.Error("no start")
	}
}

// TestALossIsNamedAndWaits: what is in no file any more is named, the node does not start and leaves its files; told to go on
// without it, it has everything else and takes no number twice.
func TestALossIsNamedAndWaits(t *testing.T) {
	t.Parallel()
	c := crash(t)
	db := filepath.Join(c.cfg.Dir, "raft.db")
	if err := os.Remove(db); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(journalPath(db))
	if err != nil {
		t.Fatal(err)
	}
	gen, _, err := readJournal(raw)
	if err != nil {
		t.Fatal(err)
	}
	for at := journalHead; at < len(raw); at++ { // frames that an earlier generation left are written over
		if _, ok := frameOf(raw[at:], gen-1); ok {
			raw[at+frameHead] ^= 0xFF
		}
		if _, ok := frameOf(raw[at:], gen-2); ok {
			raw[at+frameHead] ^= 0xFF
		}
	}
	if err := os.WriteFile(journalPath(db), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	_, records, err := readJournal(raw)
	if err != nil || len(records) == 0 {
		t.Fatal(len(records), err)
	}
	want := []Span{{c.at + 1, records[0].Index - 1}}
	for range 2 { // the second start says it again
		_, err = c.start(t)
		var lost *LossError
		if !errors.As(err, &lost) || !slices.Equal(lost.Lost, want) || lost.Open {
			t.Fatalf("got %v, want %v lost", err, want)
		}
	}
	lost, err := AcceptLoss(c.cfg, c.state())
	if err != nil || lost == nil || !slices.Equal(lost.Lost, want) {
		t.Fatalf("accepted %v, %v; want %v", lost, err, want)
	}
	left := slices.Concat(c.want[:c.behind], c.want[len(c.want)-len(records):])
	if got, err := c.start(t); err != nil || !slices.Equal(got, left) {
		t.Errorf("after the loss: %q, %v, want %q", got, err, left)
	}
	if lost, err := AcceptLoss(c.cfg, c.state()); err != nil || lost != nil {
		t.Errorf("a whole log: %v, %v", lost, err)
	}
}

// TestWhatIsNotKnownToBeWholeWaits: without its journal, or without any file of the log, a node cannot know what it had.
func TestWhatIsNotKnownToBeWholeWaits(t *testing.T) {
	t.Parallel()
	made := crash(t)
	for name, names := range map[string][]string{"the journal": {"raft.db.journal"}, "both files": {"raft.db", "raft.db.journal"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := made.copy(t)
			for _, name := range names {
				if err := os.Remove(filepath.Join(c.cfg.Dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				var lost *LossError
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
	loseLog["removed"](t, filepath.Join(c.cfg.Dir, "raft.db"))
	if got, err := c.start(t); err != nil || !slices.Equal(got, c.want) {
		t.Fatal(got, err)
	}
	for _, name := range []string{"raft.db", "raft.db.journal"} {
		if err := os.Remove(filepath.Join(c.cfg.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		var lost *LossError
		if _, err := c.start(t); !errors.As(err, &lost) || !lost.Open {
			t.Fatalf("start %d: got %v", i, err)
		}
	}
}

// TestSalvageIsFinished: a kill between the steps that put the new log in its place.
func TestSalvageIsFinished(t *testing.T) {
	t.Parallel()
	c := crash(t)
	loseLog["torn"](t, filepath.Join(c.cfg.Dir, "raft.db"))
	n := &Node{cfg: c.cfg.withDefaults(), sm: c.state()}
	n.log = n.cfg.Logger
	r := n.remains(filepath.Join(c.cfg.Dir, "raft.db"))
	rest, lost := r.continues(c.at, c.term)
	if len(lost) > 0 || len(rest) == 0 {
		t.Fatal(rest, lost)
	}
	if err := offline(c.cfg, c.state(), func(*Node, hraft.SnapshotStore) error { return nil }); err == nil {
		t.Fatal("a node that only looks took a damaged log for a whole one")
	}
	snaps, err := n.openSnapshots()
	if err != nil {
		t.Fatal(err)
	}
	n.transport = &transport{n: n}
	if err := n.snapshotState(snaps, c.at, c.term); err != nil {
		t.Fatal(err)
	}
	if err := n.writeSalvaged(rest, 9); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(c.cfg.Dir, salvageDir, "raft.db.journal"), filepath.Join(c.cfg.Dir, "raft.db.journal")); err != nil {
		t.Fatal(err)
	}
	if got, err := c.start(t); err != nil || !slices.Equal(got, c.want) {
		t.Errorf("%q, %v", got, err)
	}
}
