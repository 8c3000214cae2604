package rafttest

import (
	"bytes"
	"os"
	"testing"
)

// Flip changes a bit at the end of a text, wherever a file has it.
func Flip(t testing.TB, path, text string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := bytes.Index(raw, []byte(text))
	if at < 0 {
		t.Fatalf("%s does not hold %q", path, text)
	}
	for ; at >= 0; at = bytes.Index(raw, []byte(text)) {
		last := at + len(text) - 1
		raw[last] ^= 1
		if _, err := f.WriteAt(raw[last:last+1], int64(last)); err != nil {
			t.Fatal(err)
		}
	}
}
