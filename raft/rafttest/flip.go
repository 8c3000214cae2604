package rafttest

import (
	"bytes"
	"os"
	"path/filepath"
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

// FlipTables changes a bit in each block of rows of a state's tables. What a process that has them open has read before stays as
// it is in its memory.
func FlipTables(t testing.TB, state string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(state, "*", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("%s has no tables: %v", state, err)
	}
	for _, table := range tables {
		f, err := os.OpenFile(table, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		one := make([]byte, 1)
		for at := min(600, info.Size()/4); at < info.Size()*3/4; at += 1000 {
			if _, err := f.ReadAt(one, at); err != nil {
				t.Fatal(err)
			}
			one[0] ^= 4
			if _, err := f.WriteAt(one, at); err != nil {
				t.Fatal(err)
			}
		}
	}
}
