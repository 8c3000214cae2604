package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/node/access"
)

// TestNoTokenIsInTheHistory: neither as a flag nor as the argument of a verb that names a token by its text.
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
