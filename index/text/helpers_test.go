package text

import (
	"os"

	"pgregory.net/rapid"
)

// tempDir is t.TempDir for rapid.
func tempDir(t *rapid.T) string {
	dir, err := os.MkdirTemp("", "text")
	if err != nil {
		t.Fatalf("temp dir: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
