package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestContextsReplaceNoDevice: what stands for a user without contexts, as /dev/null does, is not replaced by a file.
func TestContextsReplaceNoDevice(t *testing.T) {
	dir := t.TempDir()
	null := filepath.Join(dir, "null")
	if err := os.Symlink(os.DevNull, null); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CAIRN_CONTEXTS", null)
	c, err := OpenContexts()
	if err != nil || len(c.All) != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := c.Save(); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("got %v", err)
	}
	if to, err := os.Readlink(null); err != nil || to != os.DevNull {
		t.Errorf("it is %q now, %v", to, err)
	}
}
