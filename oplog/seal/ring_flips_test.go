package seal_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestFlipsOfAKeyring: a keyring with any flipped bit is reported as damaged, not as one of another master key.
func TestFlipsOfAKeyring(t *testing.T) {
	t.Parallel()
	home, masters := t.TempDir(), []seal.Master{seal.NewMaster()}
	r, err := seal.Create(home, masters)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Rotate(); err != nil { // the ring has two keys then
		t.Fatal(err)
	}
	path := filepath.Join(home, seal.RingFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(6, 1))
	ends := rafttest.Ends{}
	for range rafttest.Flips(300) {
		bit := rafttest.FlipOne(t, path, rng)
		if r, err := seal.Load(home, masters); !errors.Is(err, seal.ErrDamaged) || errors.Is(err, seal.ErrKey) {
			raw, _ := os.ReadFile(path)
			t.Errorf("bit %d: %v, and %v is read of\n%s", bit, err, r, raw)
		}
		ends.Add("keyring", rafttest.Caught)
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := seal.Load(home, masters); err != nil {
		t.Error(err)
	}
	ends.Report(t)
}
