package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/local/process/conformance"
)

// The process surface of a node answers the recorded requests as the program of its own does.
func TestProcessVectorsInANode(t *testing.T) {
	t.Parallel()
	const token = "a token"
	conformance.Run(t, token, func(t *testing.T) string {
		home, err := os.MkdirTemp("", "h") // a socket's path is short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(home) })
		if err := os.WriteFile(filepath.Join(home, "process.token"), []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := cairntest.StartDevIn(t, home)
		if !strings.HasPrefix(p.Line.Process, home) {
			t.Fatalf("ready line: %+v", p.Line)
		}
		return p.Line.Process
	})
}
