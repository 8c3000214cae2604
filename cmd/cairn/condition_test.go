package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAConditionInOneWord stops one node of a cluster and then a second, and checks that status, health and metrics
// report the same condition, that exit codes differ, and that a rejected write returns the reason at once instead of
// waiting for its timeout.
func TestAConditionInOneWord(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	nodes, token := startThreeIn(t, t.TempDir(), func(*config.NodeFile) {}, 0, 1, 2)
	l := leaderOf(t, nodes)
	p := nodes[l]
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	at := []string{"--endpoints", p.Line.HTTP, "--token-file", tokenFile}
	status := func(more ...string) (string, int) {
		return cairntest.Run(t, append(append([]string{"status"}, at...), more...)...)
	}
	get := func(path string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Line.HTTP+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	is := func(condition string, plain, coded int) {
		t.Helper()
		if !suite.Within(suite.Patience, func() bool {
			out, code := status()
			return code == plain && strings.Contains(out, "  "+condition+"\n") &&
				strings.Contains(get("/v1/health"), `"condition":"`+condition+`"`)
		}) {
			out, code := status()
			t.Fatalf("want %q and exit code %d: exit %d, %s\n%s", condition, plain, code, out, get("/v1/health"))
		}
		if out, code := status("--exit-code"); code != coded {
			t.Errorf("--exit-code: %d, want %d: %s", code, coded, out)
		}
		word, _, _ := strings.Cut(condition, ":")
		if m := fmt.Sprintf("cairn_cluster_condition{condition=%q} 1", word); !suite.Within(suite.Patience,
			func() bool { return strings.Contains(get("/metrics"), m) }) {
			t.Errorf("no %s", m)
		}
	}
	is("healthy", cli.ExitOK, cli.ExitOK)
	a, b := nodes[(l+1)%3], nodes[(l+2)%3]
	a.Kill()
	is(fmt.Sprintf("degraded: node %d unreachable", a.Line.NodeID), cli.ExitOK, 3)
	if out, code := cairntest.Run(t, append([]string{"doctor", "--config", p.Args[3]}, at...)...); code != cli.ExitFailed ||
		!strings.Contains(out, "cluster remove --node-id") {
		t.Errorf("doctor: exit %d, %s", code, out)
	}
	b.Kill()
	first, second := min(a.Line.NodeID, b.Line.NodeID), max(a.Line.NodeID, b.Line.NodeID)
	is(fmt.Sprintf("not healthy: no quorum, node %d and node %d unreachable", first, second), cli.ExitFailed, cli.ExitFailed)
	if !suite.Within(suite.Patience, func() bool {
		// shorter than the timeout of the write
		c := cairntest.Command(suite.Context(t), "remember", "lost to time", "--endpoints", p.Line.Wire, "--token-file",
			tokenFile, "--timeout", "10m")
		var errs strings.Builder
		c.Stderr = &errs
		_ = c.Run() // the exit code is checked below
		return c.ProcessState.ExitCode() == cli.ExitFailed && strings.Contains(errs.String(), "no quorum")
	}) {
		t.Error("a write does not say that there is no quorum")
	}
	gateway := cli.Target{Endpoints: []string{p.Line.HTTP}, TokenFile: tokenFile, Timeout: suite.Patience}
	if err := gateway.Get(t.Context(), "POST", "/v1/remember", map[string]any{"text": "lost over HTTP"}, nil); err == nil ||
		!strings.Contains(err.Error(), "read-only: no leader elected: no quorum") {
		t.Errorf("a write over HTTP: %v", err)
	}
	if err := gateway.Get(t.Context(), "POST", "/v1/cluster/remove", map[string]any{"node_id": a.Line.NodeID}, nil); err == nil ||
		!strings.Contains(err.Error(), "no leader elected: no quorum") {
		t.Errorf("a change of members: %v", err)
	}
	out, code := cairntest.Run(t, append([]string{"doctor", "--config", p.Args[3]}, at...)...)
	if code != cli.ExitFailed || !strings.Contains(out, "no quorum") || strings.Contains(out, "cluster remove") ||
		strings.Contains(out, "clocks agree") {
		t.Errorf("doctor without a quorum: exit %d, %s", code, out)
	}
	// The environment names the running node, the configuration the stopped one.
	c := cairntest.Command(t.Context(), "doctor", "--config", a.Args[3])
	c.Env = append(c.Env, "CAIRN_ENDPOINTS="+p.Line.Wire, "CAIRN_TOKEN_FILE="+tokenFile)
	dead, err := c.CombinedOutput()
	if strings.Contains(string(dead), "the node runs and answers") || !strings.Contains(string(dead), a.Line.Home) {
		t.Errorf("doctor of a node that is dead: %v, %s", err, dead)
	}
	c = cairntest.Command(t.Context(), "status", "--home", a.Line.Home)
	c.Env = append(c.Env, "CAIRN_ENDPOINTS="+p.Line.HTTP, "CAIRN_TOKEN_FILE="+tokenFile)
	if dead, err := c.CombinedOutput(); err == nil || !strings.Contains(string(dead), "start the node of the home "+a.Line.Home) {
		t.Errorf("status of a node that is dead: %v, %s", err, dead)
	}
}
