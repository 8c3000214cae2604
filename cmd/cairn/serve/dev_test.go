package serve

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// TestGreeting: a person who starts a node reads where its console and its token are, and commands that find this
// node as they stand.
func TestGreeting(t *testing.T) {
	t.Setenv("CAIRN_HOME", "")
	usual, err := filepath.Abs(cli.DefaultHome)
	if err != nil {
		t.Fatal(err)
	}
	for home, flag := range map[string]string{usual: "", "/srv/other": " --home /srv/other",
		"/srv/Ada's $data": ` --home '/srv/Ada'\''s $data'`} {
		got := greeting(cli.Ready{Home: home, HTTP: "http://127.0.0.1:7438"}, "http://127.0.0.1:7438/#sign-in=c0de", false)
		for _, want := range []string{"console  http://127.0.0.1:7438/\n", "token    " + home + "/token\n",
			"sign in  http://127.0.0.1:7438/#sign-in=c0de\n", "cairn status" + flag + "\n", "payments?\"" + flag + "\n",
			"team\"" + flag + "\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %s", want, got)
			}
		}
	}
}
