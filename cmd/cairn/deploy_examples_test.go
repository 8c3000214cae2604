package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestExamplesRun runs each example of deploy/examples against a single node and against two of three nodes.
func TestExamplesRun(t *testing.T) {
	suite.Full(t)
	suite.NotShort(t, "other programs, in which the detector sees nothing")
	dir, clients := examplesDir(t)
	nodes, token := startThreeIn(t, t.TempDir(), shortElection, 0, 1, 2)
	env := append(os.Environ(), "CAIRN_TOKEN="+token, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+filepath.Join(clients, "python"))
	// command returns a command of an example. It skips the test if the program is not installed.
	command := func(t *testing.T, program, file string, args ...string) *exec.Cmd {
		t.Helper()
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: %s is not run", program, file)
		}
		c := exec.CommandContext(suite.Context(t), program, append([]string{file}, args...)...)
		c.Dir, c.Env = dir, env
		return c
	}
	one, another := nodes[0].Line.HTTP, nodes[1].Line.HTTP
	home := filepath.Join(t.TempDir(), "h")
	cairntest.StartDevIn(t, home)
	tried := []string{"webhook.mjs"}
	for _, e := range []struct {
		program, file, says string
		args                []string
	}{
		{"node", "agent.mjs",
			"What should Ada eat? A mushroom risotto.\nAda is vegetarian and allergic to nuts.\n0 memories are left\n",
			[]string{one, another}},
		{"python3", "agent.py",
			"What should Ada eat? A mushroom risotto.\nAda is vegetarian and allergic to nuts.\n0 memories are left\n",
			[]string{one, another}},
		{"python3", "shared_facts.py", "6 facts, none lost\n", []string{one, another}},
		{"sh", "session_hooks.sh", "the quota of eu-west is used up", []string{filepath.Join(dir, "cairn"), home}},
	} {
		tried = append(tried, e.file)
		t.Run(e.file, func(t *testing.T) {
			for range 2 { // a second run finds what the first one stored
				c := command(t, e.program, e.file, e.args...)
				if e.program == "sh" { // it works in another directory, where a relative path leads nowhere
					c.Env = append(cairntest.Command(t.Context()).Env, cairntest.AsCairn+"=1", "CAIRN_TOKEN_FILE=./token")
				}
				if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), e.says) {
					t.Errorf("%v\n%s", err, out)
				}
			}
		})
	}
	t.Run("webhook.mjs", func(t *testing.T) { callsTheWebhook(t, command, nodes[0], token) })
	files, err := os.ReadDir(filepath.Join(repositoryFromCmd, "deploy", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(tried, f.Name()) {
			t.Errorf("no test runs deploy/examples/%s", f.Name())
		}
	}
}

// examplesDir makes a directory with the examples, the binary, and the TypeScript client as npm would install it.
func examplesDir(t *testing.T) (dir, clients string) {
	t.Helper()
	dir = t.TempDir()
	clients, err := filepath.Abs(filepath.Join(repositoryFromCmd, "wire", "client"))
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(filepath.Join(repositoryFromCmd, "deploy", "examples")))
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "node_modules"), 0o700)
	}
	if err == nil {
		err = os.Symlink(filepath.Join(clients, "typescript"), filepath.Join(dir, "node_modules", "cairn-client"))
	}
	if err == nil {
		err = os.Symlink(os.Args[0], filepath.Join(dir, "cairn"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, clients
}

// callsTheWebhook runs the webhook, stops it, starts it again, and checks that it is called for the changes in
// between.
func callsTheWebhook(t *testing.T, command func(t *testing.T, program, file string, args ...string) *exec.Cmd, node *cairntest.Node, token string) {
	calls := make(chan map[string]any, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event map[string]any
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
			t.Error(err)
		}
		calls <- event
	}))
	defer hook.Close()
	place := filepath.Join(t.TempDir(), "cursor")
	start := func(says string) (stop func()) {
		c := command(t, "node", "webhook.mjs", hook.URL, place, node.Line.HTTP)
		c.Stderr = t.Output()
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if lines := bufio.NewScanner(out); says != "" && (!lines.Scan() || lines.Text() != says) {
			t.Errorf("it says %q, want %q", lines.Text(), says)
		}
		return func() {
			if err := c.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = c.Wait() // it was killed
		}
	}
	told := func(rid string) {
		t.Helper()
		for event := range calls { // earlier events may come twice
			if event["id"] == rid && event["type"] == "stored" {
				return
			}
		}
	}
	remember := func(text string) string {
		t.Helper()
		out, code := cairntest.Run(t, "remember", text, "--json", "--token", token, "--endpoints", node.Line.HTTP)
		var stored struct{ RID string }
		if err := json.Unmarshal([]byte(out), &stored); code != 0 || err != nil {
			t.Fatalf("%d %v %s", code, err, out)
		}
		return stored.RID
	}
	stop := start("following")
	told(remember("told at once"))
	if err := waitFor(place); err != nil {
		t.Fatal(err)
	}
	stop()
	missed := remember("told after a restart")
	defer start("")() // it continues without new events
	told(missed)
}

// waitFor waits until a file exists.
func waitFor(path string) (err error) {
	suite.Within(suite.Patience, func() bool {
		_, err = os.Stat(path)
		return err == nil
	})
	return err
}
