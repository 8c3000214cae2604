package serve

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// TestGreeting: the greeting contains the console's URL, the token's path, and commands that work for this node.
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
