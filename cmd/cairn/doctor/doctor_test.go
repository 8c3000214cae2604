package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// TestAConfigurationWithoutASecret: other users may read the file, and an unknown key is reported without a log's
// time and level.
func TestAConfigurationWithoutASecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "node.toml")
	text := "[server]\nbind = \"127.0.0.1\"\nwirre_port = 3\ndata_dir = \"" + dir + "/data\"\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	e := examination{t: &cli.Target{}, path: path}
	e.t.IsSet = func(string) bool { return false }
	found := e.configure()
	if said := found[0].Says; found[0].Status != Warn || !strings.Contains(said, "server.wirre_port") || strings.Contains(said, "time=") ||
		strings.Contains(said, "level=") {
		t.Errorf("of the configuration: %+v", found)
	}
	for _, f := range e.secretFiles(context.Background()) {
		if f.Status == Fail {
			t.Errorf("of secrets: %+v", f)
		}
	}
}

func TestWhyANodeIsNotReady(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"ready":false,"behind":null,"applied_index":7}`: "it hears no leader",
		`{"ready":false,"behind":12,"applied_index":7}`:   "its search index lacks 12 acknowledged entries",
		"no route": "no route",
	} {
		if got := whyNotReady(errors.New(text)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
