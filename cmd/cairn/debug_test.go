package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
)

// TestDebugBundle checks that a bundle has its files, and no memory, token or secret.
func TestDebugBundle(t *testing.T) {
	t.Parallel()
	_, home := cairntest.StartDev(t)
	const planted = "a phrase that was planted"
	cairntest.Run(t, "remember", planted, "--home", home)
	token, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "b.tar.gz")
	if output, code := cairntest.Run(t, "debug", "bundle", "--home", home, "-o", out, "--json"); code != 0 ||
		!strings.Contains(output, `"file": "`) {
		t.Fatalf("exit %d, %s", code, output)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		parts[filepath.Base(h.Name)] = string(b)
	}
	for name, want := range map[string]string{"doctor.txt": "fsync", "status.json": "state_hash", "metrics.txt": "cairn_applied_index",
		"files.txt": "state/", "goroutines.txt": "goroutine 1", "heap.pprof": ""} {
		if got, ok := parts[name]; !ok || !strings.Contains(got, want) || strings.HasPrefix(got, "not available") {
			t.Errorf("%s: %.200s", name, got)
		}
	}
	for name, text := range parts {
		if strings.Contains(text, planted) || strings.Contains(text, strings.TrimSpace(string(token))) {
			t.Errorf("%s gives away what it must not", name)
		}
	}
}
