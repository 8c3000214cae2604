package text

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

func newRing() *seal.Ring { return seal.Ephemeral([]seal.Master{seal.NewMaster()}) }

func compressed(b []byte) int {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestCompression) // the level is a valid one
	w.Write(b)
	w.Close()
	return out.Len()
}

// TestNothingReadableInAnEncryptedIndex writes marked words to an encrypted index and to a plain one, with merges and
// restarts under a new data key, and searches every byte of every file for them.
func TestNothingReadableInAnEncryptedIndex(t *testing.T) {
	t.Parallel()
	dirs := map[bool]string{true: filepath.Join(t.TempDir(), "text"), false: filepath.Join(t.TempDir(), "text")}
	keys := newRing()
	ring := map[bool]*seal.Ring{true: keys}
	const rounds, each = 8, 200
	for round := range rounds {
		if err := keys.Rotate(); err != nil {
			t.Fatal(err)
		}
		for encrypted, dir := range dirs {
			x, err := Open(Config{Dir: dir, Keys: ring[encrypted]})
			if err != nil {
				t.Fatal(err)
			}
			var rows []Row
			for i := range uint32(each) {
				n := uint32(round)*each + i
				rows = append(rows, Row{Row: n, Group: 1, Text: fmt.Sprintf("zzplanted%d stands zzhere", n)})
			}
			if err := x.Apply(rows, nil); err != nil {
				t.Fatal(err)
			}
			if err := x.Sync(context.Background()); err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{0, round * each, round*each + each - 1} {
				if hits := find(t, x, Query{Text: fmt.Sprintf("zzplanted%d", n), K: 5}); len(hits) != 1 || hits[0].Row != uint32(n) {
					t.Errorf("encrypted %v, word %d: %v", encrypted, n, hits)
				}
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for encrypted, dir := range dirs {
		n, size, packed := 0, 0, 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			n += bytes.Count(raw, []byte("planted")) + bytes.Count(raw, []byte("zzher"))
			if filepath.Ext(path) == ".zap" { // the root file has free pages in both
				size += len(raw)
				packed += compressed(raw)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && encrypted {
			t.Errorf("%d words readable", n)
		}
		// Segments store words in automata, where a search for bytes does not find them. But unencrypted files
		// compress well.
		if ratio := float64(packed) / float64(size); (ratio > .8) != encrypted {
			t.Errorf("encrypted %v: %d bytes compress to %d", encrypted, size, packed)
		}
	}
	// Without the key, or with another, opening fails and the error names the file.
	for name, r := range map[string]*seal.Ring{"none": nil, "another": newRing()} {
		copied := filepath.Join(t.TempDir(), "text")
		if err := os.CopyFS(copied, os.DirFS(dirs[true])); err != nil {
			t.Fatal(err)
		}
		x, err := Open(Config{Dir: copied, Keys: r})
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("key %s: %v", name, err)
		}
		if err == nil {
			x.Close()
		}
	}
}
