package text

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

// TestFlippedSegmentInUse flips bits everywhere in a segment, one at a time, while it is searched. Each search either
// answers, or returns ErrCorrupt and reports the damage to the owner.
func TestFlippedSegmentInUse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			told := 0
			x, err := Open(Config{Dir: dir, Keys: keys, Damaged: func(error) { told++ }})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			var rows []Row
			for i := range uint32(12) {
				rows = append(rows, Row{Row: i, Text: fmt.Sprintf("harbour lighthouse number %d with a keeper", i%5)})
			}
			apply(t, x, rows)
			settle(t, x)
			files, err := filepath.Glob(filepath.Join(dir, "*.zap"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			raw, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(files[0], os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			write := func(at int, b byte) {
				if _, err := f.WriteAt([]byte{b}, int64(at)); err != nil {
					t.Fatal(err)
				}
			}
			corrupt := 0
			var found Found
			for bit := 0; bit < len(raw)*8; bit += 3 {
				write(bit/8, raw[bit/8]^1<<(bit%8))
				for _, q := range []string{"harbour keeper 3", "lighthuose"} {
					switch err := x.Find(Query{Text: q, K: 5}, &found); {
					case errors.Is(err, ErrCorrupt):
						corrupt++
					case err != nil:
						t.Fatalf("bit %d: %v", bit, err)
					}
				}
				write(bit/8, raw[bit/8])
			}
			if corrupt == 0 || told != corrupt {
				t.Errorf("%d searches failed, and the owner was told of %d", corrupt, told)
			}
			t.Logf("of %d searches %d found the index corrupt", 2*8*len(raw)/3, corrupt)
		})
	}
}
