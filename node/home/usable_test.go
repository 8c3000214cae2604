package home_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
)

// TestAnOldHomeIsRefused checks that a home of a version before the first release is rejected with instructions, and
// stays unchanged.
func TestAnOldHomeIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := home.Usable(dir); err != nil {
		t.Errorf("an empty home: %v", err)
	}
	old := filepath.Join(dir, "state.db")
	if err := os.WriteFile(old, []byte("rows"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := home.Usable(dir)
	var refused *oplog.Error
	if !errors.As(err, &refused) || refused.Kind != oplog.TooOld || !strings.Contains(err.Error(), old) ||
		!strings.Contains(err.Error(), "cairn export") {
		t.Errorf("got %v", err)
	}
	if raw, err := os.ReadFile(old); err != nil || string(raw) != "rows" {
		t.Errorf("its state is %q, %v", raw, err)
	}
}
