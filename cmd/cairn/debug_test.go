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
)

// TestDebugBundle: it holds what it should, and no memory, token or secret.
func TestDebugBundle(t *testing.T) {
	t.Parallel()
	_, home := startDev(t)
	const planted = "a phrase that was planted"
	cli(t, "remember", planted, "--home", home)
	token, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "b.tar.gz")
	if _, code := cli(t, "debug", "bundle", "--home", home, "-o", out); code != 0 {
		t.Fatalf("exit %d", code)
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
		"files.txt": "state.db", "goroutines.txt": "goroutine 1", "heap.pprof": ""} {
		if got, ok := parts[name]; !ok || !strings.Contains(got, want) || strings.HasPrefix(got, "not to be had") {
			t.Errorf("%s: %.200s", name, got)
		}
	}
	for name, text := range parts {
		if strings.Contains(text, planted) || strings.Contains(text, strings.TrimSpace(string(token))) {
			t.Errorf("%s gives away what it must not", name)
		}
	}
}

func TestConfigurationsAreRedacted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	text := "[cluster]\ncluster_secret = \"hidden1\"\nother_cluster_secret=\"hidden2\"\nnode_id = 3\n[embedding]\nurl = \"https://me:hidden3@host/v1\"\nkey_file = \"hidden4\"\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := redacted(path)
	if err != nil || strings.Contains(string(b), "hidden") || !strings.Contains(string(b), "node_id = 3") {
		t.Errorf("%s, %v", b, err)
	}
}
