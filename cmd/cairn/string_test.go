package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// stringExec runs one command through the stringd surface of a node.
func stringExec(t testing.TB, p *cairntest.Node, cmd string) (content string, ok bool) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"cmd": cmd, "topic": "main"})
	if err != nil {
		t.Fatal(err)
	}
	return stringPost(t, p, "/exec", string(body))
}

func stringPost(t testing.TB, p *cairntest.Node, path, body string) (content string, ok bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.Line.String+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Agent-Id", "e2e")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), strings.Contains(string(b), `"ok":true`)
}

// stringDo runs a command, and repeats it while there is no leader or the answer is late, because an election may
// happen on a busy machine at any time.
func stringDo(t testing.TB, p *cairntest.Node, cmd string) string {
	t.Helper()
	for begin := time.Now(); ; sleep(t.Context(), 20*time.Millisecond) {
		got, ok := stringExec(t, p, cmd)
		if ok {
			return got
		}
		later := slices.ContainsFunc([]string{"NO_LEADER", "READONLY", "TIMEOUT"},
			func(code string) bool { return strings.Contains(got, `"`+code+`"`) })
		if !later || time.Since(begin) > suite.Patience {
			t.Fatalf("%s: %s", cmd, got)
		}
	}
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return strings.Trim(s, "} \"\\\n")
}

// TestStringInDev checks that `cairn dev` writes only below its home, prints the address of stringd, and ends
// although a shell runs.
func TestStringInDev(t *testing.T) {
	t.Parallel()
	p, home := cairntest.StartDev(t)
	if got, _ := stringPost(t, p, "/agents", `{"agent_id":"e2e"}`); !strings.Contains(got, filepath.Join(home, "run", "string", "agents", "e2e")) {
		t.Errorf("home: %s", got)
	}
	if _, err := os.Stat(filepath.Join(home, "run", "string", "daemon", "agents.json")); err != nil {
		t.Error(err)
	}
	body := `{"cmd":"sleep 1000 & echo $!","topic":"bash:x"}`
	if got, ok := stringPost(t, p, "/exec", body); !ok {
		t.Errorf("shell: %s", got)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, p.Log)
	}
}
