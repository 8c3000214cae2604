package text

import (
	"os"

	"pgregory.net/rapid"
)

// tempDir returns a temporary directory, like t.TempDir, which rapid lacks.
func tempDir(t *rapid.T) string {
	dir, err := os.MkdirTemp("", "text")
	if err != nil {
		t.Fatalf("temp dir: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
