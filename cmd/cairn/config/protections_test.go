package config

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMisspelledProtections: an unknown key in a section that protects a port or the disk prevents the start, in any
// case of the section's name, because the decoder ignores case.
func TestMisspelledProtections(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[tls]\ncert_paht = \"x\"\n", "[TLS]\ncert_paht = \"x\"\n",
		"[Tls.Cluster]\nkye_path = \"x\"\n", "[Encryption]\nkey_fiel = \"x\"\n", "ENCRYPTION.key_fiel = \"x\"\n"} {
		path := filepath.Join(t.TempDir(), "cairn.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, false, func(*File) {}, func(string) string { return "" }, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err == nil || !strings.Contains(err.Error(), "unprotected") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
