package process

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
)

// No archive writes outside of its destination, and every archive is removed.
func FuzzUnpack(f *testing.F) {
	for _, h := range []tar.Header{{Name: "a/b", Typeflag: tar.TypeReg, Size: 1, Mode: 0o644},
		{Name: "../out", Typeflag: tar.TypeReg, Size: 1}, {Name: "/abs", Typeflag: tar.TypeDir},
		{Name: "l", Linkname: "/etc", Typeflag: tar.TypeSymlink}, {Name: ".", Typeflag: tar.TypeDir}} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if w.WriteHeader(&h) != nil || h.Size > 0 && func() bool { _, err := w.Write([]byte("x")); return err != nil }() ||
			w.Close() != nil {
			f.Fatal(h.Name)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 1<<20 {
			return
		}
		root := t.TempDir()
		archive, dest, guard := filepath.Join(root, "a.tgz"), filepath.Join(root, "in", "dest"), filepath.Join(root, "in", "guard")
		if err := os.MkdirAll(filepath.Dir(dest), 0o700); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(in); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		for path, content := range map[string][]byte{archive: b.Bytes(), guard: []byte("guard")} {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = unpack(archive, dest) // it may return an error
		if _, err := os.Lstat(archive); !os.IsNotExist(err) {
			t.Errorf("the archive stays: %v", err)
		}
		for dir, most := range map[string]int{root: 1, filepath.Join(root, "in"): 2} {
			if l, err := os.ReadDir(dir); err != nil || len(l) > most {
				t.Errorf("%s holds %v (%v)", dir, l, err)
			}
		}
		if got, err := os.ReadFile(guard); err != nil || string(got) != "guard" {
			t.Errorf("the neighbour became %q (%v)", got, err)
		}
	})
}
