package index

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
)

// follower is a state with the index that follows it, inside this package.
type follower struct {
	t     *testing.T
	state *statetest.State
	index *Index
	last  oplog.Index
	cfg   Config
}

func newFollower(t *testing.T, cfg Config) *follower {
	f := &follower{t: t, cfg: cfg}
	var err error
	if f.state, err = statetest.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true}, statetest.NewLog()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.state.Close() })
	f.cfg.Dir, f.cfg.State = filepath.Join(t.TempDir(), "index"), f.state.State
	f.open()
	f.apply(0, &oplog.Init{Cluster: "c", At: 1})
	t.Cleanup(func() { f.index.Close() })
	return f
}

func (f *follower) open() {
	f.t.Helper()
	var err error
	if f.index, _, err = Open(f.t.Context(), f.cfg); err != nil {
		f.t.Fatal(err)
	}
}

// applyState applies operations of a database to the state in one entry, and returns the outcomes for the index.
func (f *follower) applyState(db oplog.DB, ops ...oplog.Op) []oplog.Outcome {
	f.t.Helper()
	body, err := oplog.Entry{Node: 1, DB: db, Ops: ops}.Encode()
	if err != nil {
		f.t.Fatal(err)
	}
	f.last++
	out, err := f.state.Apply([]oplog.Record{{Index: f.last, Term: 1,
		Data: oplog.EncodeRecord(oplog.MakeHLC(1_700_000_000_000+uint64(f.last), 0, 1), body)}})
	if err != nil || out[0].Err != nil {
		f.t.Fatal(err, out)
	}
	return out
}

func (f *follower) apply(db oplog.DB, ops ...oplog.Op) {
	f.t.Helper()
	if err := f.index.Follow(f.t.Context(), f.applyState(db, ops...)); err != nil {
		f.t.Fatal(err)
	}
}

func memory(rid, text string) *oplog.Remember {
	return &oplog.Remember{Content: oplog.Content{RID: rid, Text: text, Namespace: "default", Importance: .5,
		HalfLife: 604800, Type: "semantic", Created: 1}}
}

func (f *follower) found(text string) (rids []string) {
	f.t.Helper()
	hits, _, err := f.index.Search(f.t.Context(), 1, Query{Text: text, K: 10, Now: time.Unix(1, 0)})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, h := range hits {
		rids = append(rids, h.Memory.RID)
	}
	return rids
}

// TestACheckpointClaimsNothingThatIsLeft: a question begins to open an index while an entry creates its files. A
// checkpoint either contains the entries that arrive then, or records that it lacks them.
func TestACheckpointClaimsNothingThatIsLeft(t *testing.T) {
	t.Parallel()
	f := newFollower(t, Config{Small: 2})
	f.apply(1, memory("a", "the violin"), memory("b", "the cello"))
	f.index.closeUnused(time.Now().Add(time.Hour))
	f.index.awaitOpenings()
	out := f.applyState(1, memory("c", "the harp")) // too many for an index without files
	turn := f.index.turn(1)
	turn.Lock()
	followed := make(chan error)
	go func() { followed <- f.index.Follow(t.Context(), out) }()
	for f.index.following.TryLock() { // Follow has it, and waits for the turn
		f.index.following.Unlock()
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	o, mine := f.index.begin(1)
	if !mine {
		t.Fatal("the question does not open the index")
	}
	turn.Unlock()
	if err := <-followed; err != nil {
		t.Fatal(err)
	}
	f.apply(1, memory("d", "the tuba"))
	f.index.following.Lock()
	f.index.startCheckpoint()
	f.index.checkpoints.wait()
	f.index.following.Unlock()
	killed := filepath.Join(t.TempDir(), "killed")
	copyDir(t, f.cfg.Dir, killed)
	if d, err := f.index.openNow(1, o); err == nil {
		d.release()
	}
	if got := f.found("tuba"); len(got) != 1 {
		t.Errorf("tuba: %v", got)
	}
	f.index.Close()
	f.cfg.Dir = killed
	f.open()
	for _, text := range []string{"violin", "harp", "tuba"} {
		if got := f.found(text); len(got) != 1 {
			t.Errorf("after a crash, %s: %v", text, got)
		}
	}
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestAnOpeningThatFailedLeavesNothing: an index whose files could not be completed is built again, without rows of
// the failed attempt.
func TestAnOpeningThatFailedLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFollower(t, Config{Small: 2})
	f.applyState(1, memory("a", "the violin"), memory("b", "the cello"), memory("c", "the harp"))
	try := func() (d *database) {
		t.Helper()
		err := f.state.Read(func(v *state.View) (err error) {
			info, _ := v.Database(1)
			d, err = f.index.openFromFiles(t.Context(), v, info, f.index.live, databaseFiles{})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := try()
	if err := d.words.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.words.Close() // as after an error in a later step
	text := "the trumpet"
	f.applyState(1, &oplog.Correct{RID: "a", Text: &text, Reason: "wrong", At: 2}, &oplog.Forget{RID: "b", At: 2})
	if err := f.index.install(1, try()); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"violin": "", "cello": "", "harp": "c", "trumpet": "a"} {
		if got := strings.Join(f.found(text), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if n := f.index.database(1).words.Totals().Rows; n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}
