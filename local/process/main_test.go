package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMain sets a simple login shell, because that of the user may be slow.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "shell")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sh := filepath.Join(dir, "sh")
	if err := os.WriteFile(sh, []byte("#!/bin/sh\nexec /bin/sh -c \"$4\"\n"), 0o700); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("SHELL", sh)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}
