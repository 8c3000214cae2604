package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/node/access"
)

// TestNoTokenIsInTheHistory: lines with a token, as a flag or an argument, are not written to the history file.
func TestNoTokenIsInTheHistory(t *testing.T) {
	t.Parallel()
	h := &lineHistory{path: filepath.Join(t.TempDir(), "cairn", "history")}
	token := access.NewToken()
	for _, line := range []string{"stats", "stats --token " + token, "stats -t secret", "token limit " + token + " --rps 5",
		"token revoke '" + token + "'", "list --type episodic"} {
		h.Add(line)
	}
	kept, err := os.ReadFile(h.path)
	if want := "stats\nlist --type episodic\n"; err != nil || string(kept) != want {
		t.Errorf("%q, %v; want %q", kept, err, want)
	}
}
