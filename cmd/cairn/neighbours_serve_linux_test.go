package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/local/sift"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/suite"
)

// closedServe starts `cairn serve` with only the given lines in section [local], where DIR stands for the parent
// directory of the home.
func closedServe(t *testing.T, local string) *cairntest.Node {
	t.Helper()
	dir, base := shortDir(t), cairntest.FreePorts(t, config.PortsEach)
	n := config.LocalNode(filepath.Join(dir, "h"), 1, 1, base, home.NewSecret())
	conf := filepath.Join(dir, "c.toml")
	if err := config.Write(conf, n, nil); err != nil {
		t.Fatal(err)
	}
	addToSection(t, conf, "local", strings.ReplaceAll(local, "DIR", dir))
	p := &cairntest.Node{T: t, Args: []string{"serve", "--strict", "--config", conf}}
	t.Cleanup(p.Kill)
	p.Launch()()
	return p
}

// processAsk sends a request to the process surface of a node, which may close the connection instead of answering.
func processAsk(t *testing.T, p *cairntest.Node, method, params string) string {
	t.Helper()
	nc, err := net.Dial("unix", p.Line.Process)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(suite.Patience))
	fmt.Fprintf(nc, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s,"auth":%q}`+"\n", method, params,
		fileText(t, filepath.Join(p.Line.Home, "process.token")))
	line, err := bufio.NewReader(nc).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return line
}

// TestServeRunsNoShellAndIsNotStopped checks that a member of a cluster accepts neither shell commands nor a shutdown
// from clients on its own host, in any dialect, and gives agents access only to their own directories, unless its
// configuration allows more.
func TestServeRunsNoShellAndIsNotStopped(t *testing.T) {
	t.Parallel()
	p := closedServe(t, "")
	stringPost(t, p, "/agents", `{"agent_id":"e2e"}`)
	for _, body := range []string{`{"cmd":"/exec id"}`, `{"cmd":"id","topic":"bash:x"}`} {
		if got, ok := stringPost(t, p, "/exec", body); ok || !strings.Contains(got, "The shell is off on this node") ||
			strings.Contains(got, "uid=") {
			t.Errorf("%s: %s", body, got)
		}
	}
	for _, dir := range []string{"/", p.Line.Home} {
		for _, body := range []string{`{"agent_id":"e2e","allowed_paths":["` + dir + `"]}`, `{"agent_id":"x","home":"` + dir + `"}`} {
			if got, _ := stringPost(t, p, "/agents", body); !strings.Contains(got,
				"lies outside the directories this node gives to agents") {
				t.Errorf("%s: %s", body, got)
			}
		}
	}
	if got, _ := stringPost(t, p, "/exec",
		`{"cmd":"/open `+filepath.Join(p.Line.Home, "string.token")+`"}`); !strings.Contains(got, "FILE_NOT_ALLOWED") {
		t.Errorf("a secret was opened: %s", got)
	}
	const no = "shutdown is not allowed on this node"
	socket := siftOpenAt(t, p.Line.Home, shortDir(t))
	_, err := sift.Call(t.Context(), socket, json.RawMessage(`{"kind":"shutdown"}`))
	web, _ := stringPost(t, p, "/shutdown", "")
	hub, _ := stringPost(t, p, "/exec", `{"cmd":"/stop","topic":"system"}`)
	for dialect, got := range map[string]string{"siftcoder": fmt.Sprint(err), "stringd": web, "stringd's hub": hub,
		"claustrum": processAsk(t, p, "server.shutdown", "{}")} {
		if !strings.Contains(got, no) {
			t.Errorf("%s: %s", dialect, got)
		}
	}
	if got, ok := stringPost(t, p, "/exec", `{"cmd":"/info"}`); !ok {
		t.Errorf("afterwards: %s", got)
	}
}

// TestARootThatHoldsTheNode checks that an agent with access to the parent directory of the node's home cannot open
// the node's files through it.
func TestARootThatHoldsTheNode(t *testing.T) {
	t.Parallel()
	p := closedServe(t, "string_roots = [\"DIR\"]\n")
	around := filepath.Dir(p.Line.Home)
	if err := os.WriteFile(filepath.Join(around, "notes.md"), []byte("# notes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := stringPost(t, p, "/agents",
		`{"agent_id":"e2e","allowed_paths":["`+around+`"]}`); !strings.Contains(got, `"created":true`) {
		t.Fatalf("a root: %s", got)
	}
	for path, want := range map[string]string{"notes.md": "# notes", "h/string.token": "FILE_NOT_ALLOWED",
		"h/run/covenant/peers/operator.token": "FILE_NOT_ALLOWED",
		"h/run/string/agents/e2e/none.md":     "ERROR(NOT_FOUND)"} {
		if got, _ := stringPost(t, p, "/exec", `{"cmd":"/open `+filepath.Join(around, path)+`"}`); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestProgramsSeeNoSecrets checks that programs that run for a client do not inherit the node's configuration in
// their environment.
func TestProgramsSeeNoSecrets(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	home := filepath.Join(shortDir(t), "h")
	p := &cairntest.Node{T: t, Args: []string{"dev", "--home", home, "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))},
		Env: []string{"CAIRN_ENCRYPTION_KEY_ENV=MY_OWN_KEY", "MY_OWN_KEY=" + strings.Repeat("5e", 32),
			"CAIRN_CLUSTER_SECRET=hush", "YANTRIKDB_CLUSTER_SECRET=hush", "YQL_TOKEN=hush", "CAIRN_SOMETHING_NEW=hush", "HARMLESS=seen"}}
	t.Cleanup(p.Kill)
	p.Launch()()
	stringPost(t, p, "/agents", `{"agent_id":"e2e"}`)
	page := "# p\n```act.env\nCLI env\n```\n"
	if got, ok := stringPost(t, p, "/exec", string(mustJSON(t, map[string]string{"cmd": "/write p.md\n" + page}))); !ok {
		t.Fatalf("write: %s", got)
	}
	stringPost(t, p, "/exec", `{"cmd":"/open p.md"}`)
	seen := map[string]string{}
	for name, body := range map[string]string{"/exec": `{"cmd":"/exec env"}`,
		"a bash topic": `{"cmd":"env","topic":"bash:x"}`, "an action": `{"cmd":"/act.env"}`} {
		seen[name], _ = stringPost(t, p, "/exec", body)
	}
	out := filepath.Join(shortDir(t), "env")
	processAsk(t, p, "process.spawn",
		fmt.Sprintf(`{"id":"e","command":"/bin/sh","args":["-c","env >%[1]s.new && mv %[1]s.new %[1]s"]}`, out))
	suite.Eventually(t, "the program to run",
		func() bool { b, err := os.ReadFile(out); seen["process.spawn"] = string(b); return err == nil })
	for name, env := range seen {
		if !strings.Contains(env, "HARMLESS=seen") {
			t.Errorf("%s shows no environment", name)
		}
		for _, secret := range []string{"hush", "5e5e", "MY_OWN_KEY", "CAIRN_", "YANTRIKDB_"} {
			if strings.Contains(env, secret) {
				t.Errorf("%s shows %s", name, secret)
			}
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
