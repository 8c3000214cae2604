package archive

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
)

// TestADamagedSealedBackupIsNamed: for encrypted backups with flipped bits, truncated files, and blocks of other
// files, Verify names the file, and nothing is restored from it.
func TestADamagedSealedBackupIsNamed(t *testing.T) {
	t.Parallel()
	keys := seal.Ephemeral([]seal.Master{seal.NewMaster()})
	_, dir, files := backedUp(t, 300, 50, keys)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for i, f := range files {
		whole := bytesOf(t, f.Path)
		other := bytesOf(t, files[1-i].Path)
		damages := map[string][]byte{"cut by a sector": whole[:len(whole)-512], "cut to half": whole[:len(whole)/2], "empty": nil,
			"head of another":  append(bytes.Clone(other[:512]), whole[512:]...),
			"block of another": append(bytes.Clone(whole[:512]), other[512:]...)}
		for range 2 {
			bad, bit := bytes.Clone(whole), rng.IntN(8*len(whole))
			bad[bit/8] ^= 1 << (bit % 8)
			damages[fmt.Sprint("bit ", bit)] = bad
		}
		for name, bad := range damages {
			writeFile(t, f.Path, bad)
			if _, err := Verify(t.Context(), dir, "", keys); err == nil || !strings.Contains(err.Error(), filepath.Base(f.Path)) {
				t.Errorf("seed %d: %s, %s: %v", seed, filepath.Base(f.Path), name, err)
			}
		}
		writeFile(t, f.Path, whole)
	}
}

// TestARefusedRestoreLeavesNothing: a restore without the key or from a damaged file leaves no state behind, so that
// the next restore can succeed.
func TestARefusedRestoreLeavesNothing(t *testing.T) {
	t.Parallel()
	keys := seal.Ephemeral([]seal.Master{seal.NewMaster()})
	w, dir := newWorld(t, state.Options{}), t.TempDir()
	w.keys = keys
	w.remember(20)
	w.put(dir, 0)
	path := filepath.Join(t.TempDir(), "state")
	for name, keys := range map[string]*seal.Ring{"no key": nil, "another key": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		if _, err := Restore(t.Context(), dir, path, Target{}, keys); err == nil {
			t.Errorf("%s: restored", name)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: it left a state: %v", name, err)
		}
	}
	if _, err := Restore(t.Context(), dir, path, Target{}, keys); err != nil {
		t.Error(err)
	}
}
