package home

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestWordsOfTheLastRun checks how the next start handles each note, with an intact or a damaged state, in a cluster
// or alone.
func TestWordsOfTheLastRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		notes          []string
		damaged, peers bool
		flipped        bool     // the note has a flipped bit
		separate       bool     // the state shares no table with a checkpoint
		moved          []string // files that the start moves aside
		left           []string // notes that the start leaves
	}{
		{name: "no word", damaged: true},
		{name: "found damaged", notes: []string{DamageFile}, moved: []string{"state", "log"}},
		{name: "found damaged, and the word is no run's", notes: []string{DamageFile}, peers: true, flipped: true},
		{name: "suspected, sound", notes: []string{SuspectFile}, peers: true},
		{name: "suspected, damaged", notes: []string{SuspectFile}, damaged: true, peers: true, moved: []string{"state", "log"}},
		{name: "suspected, damaged, alone", notes: []string{SuspectFile}, damaged: true, separate: true,
			moved: []string{"state"}, left: []string{rebuildingFile}},
		{name: "suspected, damaged with its checkpoint, alone", notes: []string{SuspectFile}, damaged: true},
		{name: "to be built anew", notes: []string{RebuildFile}, moved: []string{"state"}, left: []string{rebuildingFile}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := soleNodeConfig(t)
			cfg.Peers = c.peers
			fill(t, cfg)
			dir := filepath.Join(cfg.Dir, StateDir)
			for _, w := range c.notes {
				must(t, WriteNote(cfg, w, errors.New("at index 401: what was found")))
				if c.flipped {
					rafttest.FlipOne(t, filepath.Join(cfg.Dir, w), rand.New(rand.NewPCG(1, 1)))
				}
			}
			if n := len(Damaged(cfg.Dir)); n != len(c.notes) {
				t.Errorf("%d words are told, want %d", n, len(c.notes))
			}
			if c.separate { // no checkpoint shares its tables any more
				aside := filepath.Join(t.TempDir(), "copy")
				must(t, os.CopyFS(aside, os.DirFS(filepath.Join(dir, "1"))))
				must(t, os.RemoveAll(filepath.Join(dir, "1")))
				must(t, os.Rename(aside, filepath.Join(dir, "1")))
			}
			if c.damaged {
				flipRow(t, dir)
			}
			must(t, SetAsideDamaged(cfg, dir, state.Options{}))
			var moved []string
			for name, path := range map[string]string{"state": filepath.Join(dir, "1"), "log": filepath.Join(cfg.Dir, "raft", "log")} {
				if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
					moved = append(moved, name)
				}
			}
			if len(moved) != len(c.moved) || len(SetAsideNames(cfg.Dir)) != len(moved) {
				t.Errorf("moved aside: %v, want %v; kept: %v", moved, c.moved, SetAsideNames(cfg.Dir))
			}
			if left := Damaged(cfg.Dir); len(left) != len(c.left) {
				t.Errorf("words left: %+v, want %v", left, c.left)
			}
			if len(c.left) == 0 {
				return
			}
			if err := CheckRebuilt(cfg, 400); !IsLoss(err) { // the state was at 401
				t.Errorf("a log that ends before the state did: %v", err)
			}
			must(t, CheckRebuilt(cfg, 401))
			must(t, CheckRebuilt(cfg, 0)) // the note is gone
		})
	}
}

// flipRow flips a bit in the middle of a table. The state can still be opened.
func flipRow(t *testing.T, dir string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "*", "*.sst"))
	must(t, err)
	raw, err := os.ReadFile(tables[0])
	must(t, err)
	raw[len(raw)/2] ^= 1
	must(t, os.WriteFile(tables[0], raw, 0o600))
	st, err := state.Open(dir, state.Options{})
	must(t, err)
	if err := st.Verify(); !errors.Is(err, state.ErrState) {
		t.Fatalf("the flip is told as %v", err)
	}
	must(t, st.Close())
}

// TestWhatWasSetAsideStays checks that a second state that is moved aside does not replace the first.
func TestWhatWasSetAsideStays(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), StateDir)
	for range 2 {
		must(t, os.MkdirAll(dir, 0o700))
		_, err := SetAside(dir)
		must(t, err)
	}
	if _, err := SetAside(dir); err != nil { // there is no state
		t.Error(err)
	}
	if all := SetAsideNames(filepath.Dir(dir)); len(all) != 2 {
		t.Errorf("kept: %v", all)
	}
}

// TestFlipsOfNotes checks that a flipped bit does not turn a note into another valid one: erasing begins again, and a
// rebuilt state counts as one with a loss.
func TestFlipsOfNotes(t *testing.T) {
	t.Parallel()
	cfg := soleNodeConfig(t)
	must(t, WriteNote(cfg, rebuildingFile, errors.New("at index 401: what was found")))
	was := Erased{Cut: 1234, Rewritten: 1200}
	must(t, was.Write(cfg.Dir))
	rng, ends := rand.New(rand.NewPCG(8, 1)), rafttest.Ends{}
	for name, read := range map[string]func() (same bool, says string){
		rebuildingFile: func() (bool, string) {
			err := CheckRebuilt(cfg, 400)
			if !IsLoss(err) {
				t.Fatalf("a log that ends before the state did: %v", err)
			}
			return false, err.Error()
		},
		erasedFile: func() (bool, string) {
			e, err := ReadErased(cfg.Dir)
			if err == nil {
				return e == was, ""
			}
			if e != (Erased{}) {
				t.Errorf("with an error it is %+v", e)
			}
			return false, err.Error()
		},
	} {
		path := filepath.Join(cfg.Dir, name)
		whole, err := os.ReadFile(path)
		must(t, err)
		for range rafttest.Flips(200) {
			bit := rafttest.FlipOne(t, path, rng)
			switch same, says := read(); {
			case same:
				ends.Add(name, rafttest.Dead)
			case strings.Contains(says, path):
				ends.Add(name, rafttest.Caught)
			default:
				t.Errorf("bit %d of %s is read as another: %s", bit, name, says)
			}
			must(t, os.WriteFile(path, whole, 0o600))
		}
	}
	ends.Report(t)
}
