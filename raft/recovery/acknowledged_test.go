package recovery

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/raft/rafttest"
)

// TestAcknowledgementsGrow: an older position never replaces a newer one.
func TestAcknowledgementsGrow(t *testing.T) {
	t.Parallel()
	var a Acknowledged
	for _, p := range []Position{{2, 10, "a"}, {1, 90, "b"}, {2, 9, "c"}, {3, 4, "d"}, {3, 4, "e"}, {2, 50, "f"}} {
		a.Note(1, p)
	}
	if got, want := a.last, map[uint32]Position{1: {3, 4, "d"}}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAFullDiskLosesNoAcknowledgement: positions that cannot be stored leave earlier ones intact, and are stored once
// there is space.
func TestAFullDiskLosesNoAcknowledgement(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "full")
	rafttest.SmallDisk(t, dir, 1)
	path := filepath.Join(dir, "acknowledged")
	stored := func() Position {
		t.Helper()
		var read Acknowledged
		if err := read.Load(path); err != nil {
			t.Fatal(err)
		}
		return read.Of(1)
	}
	var a Acknowledged
	a.Note(1, Position{2, 10, "r"})
	if err := a.Store(path, true); err != nil {
		t.Fatal(err)
	}
	release := rafttest.Fill(t, dir)
	a.Note(1, Position{2, 11, "r"})
	err := a.Store(path, true)
	if got := stored(); err == nil || got != (Position{2, 10, "r"}) {
		t.Errorf("on a full disk: %v, %v", got, err)
	}
	release()
	if err := a.Store(path, true); err != nil {
		t.Fatal(err)
	}
	if got := stored(); got != (Position{2, 11, "r"}) {
		t.Errorf("with room again: %v", got)
	}
}

// TestFlipsOfAcknowledgements: no flipped bit of the file changes the position of a member.
func TestFlipsOfAcknowledgements(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "acknowledged")
	var a Acknowledged
	for id := range uint32(5) {
		a.Note(id+1, Position{Term: 3, Index: 1234 + uint64(id)})
	}
	if err := a.Store(path, false); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng, ends := rand.New(rand.NewPCG(7, 7)), rafttest.Ends{}
	for range rafttest.Flips(1000) {
		bit := rafttest.FlipOne(t, path, rng)
		var read Acknowledged
		switch err := read.Load(path); {
		case err == nil:
			t.Errorf("bit %d: it is read as %v", bit, read.last)
		case len(read.last) > 0 || !strings.Contains(err.Error(), path):
			t.Errorf("bit %d: %v is left, and %v", bit, read.last, err)
		}
		ends.Add("acknowledged", rafttest.Caught)
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ends.Report(t)
	var read Acknowledged
	if err := read.Load(path); err != nil || !maps.Equal(read.last, a.last) {
		t.Errorf("%v, %v", read.last, err)
	}
}
