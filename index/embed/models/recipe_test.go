package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestARecipeThatACrashHasTaken: if a model's files are whole, the next fetch writes its recipe files that are
// missing or invalid JSON, without a network. It keeps those that an operator has written.
func TestARecipeThatACrashHasTaken(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("numbers"))
	m := &Model{Name: "small", Files: []File{{"model.safetensors", 7, hex.EncodeToString(sum[:])}},
		recipe: &recipe{tokens: 256, question: "query: "}}
	f := Fetcher{Mirror: "http://127.0.0.1:1", Folder: t.TempDir()}
	at := func(name string) string { return filepath.Join(f.Dir(m), name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const prompts = `{"prompts":{"query":"ask: "}}`
	write("model.safetensors", "numbers")
	write("modules.json", "")
	write("1_Pooling/config.json", "\x00\x00\x00")
	write("config_sentence_transformers.json", prompts)
	if dir, fetched, err := f.Fetch(t.Context(), m); err != nil || fetched || dir != f.Dir(m) {
		t.Fatalf("%s, %v, %v", dir, fetched, err)
	}
	for _, name := range []string{"modules.json", "1_Pooling/config.json", "sentence_bert_config.json"} {
		if raw, err := os.ReadFile(at(name)); err != nil || !json.Valid(raw) {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
	if raw, err := os.ReadFile(at("config_sentence_transformers.json")); err != nil || string(raw) != prompts {
		t.Errorf("%q, %v", raw, err)
	}
}
