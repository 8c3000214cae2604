package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
)

// A user has a home, a project in it, and a node.
type user struct {
	t       testing.TB
	home    string // the user's
	project string
	node    string // the node's home
	env     []string
	hookOf  string // whose hooks it runs
}

func newUser(t testing.TB) *user {
	home, err := os.MkdirTemp("", "cairn") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	u := &user{t: t, home: home, project: filepath.Join(home, "work"), node: filepath.Join(home, "node"), hookOf: "claude"}
	if err := os.Mkdir(u.project, 0o755); err != nil {
		t.Fatal(err)
	}
	u.env = slices.DeleteFunc(cairntest.Command(t.Context()).Env, func(v string) bool { // a variable without a value is set for some agents
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"}, name)
	})
	u.env = append(u.env, "HOME="+home, "PWD="+u.project)
	return u
}

// run runs cairn as the user, in the project.
func (u *user) run(stdin string, args ...string) (out, said string, code int) {
	u.t.Helper()
	c := cairntest.Command(u.t.Context(), args...)
	c.Env, c.Dir, c.Stdin = u.env, u.project, strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil && c.ProcessState == nil {
		u.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), c.ProcessState.ExitCode()
}

// must runs a command that must succeed, and returns its output.
func (u *user) must(stdin string, args ...string) string {
	u.t.Helper()
	out, said, code := u.run(stdin, args...)
	if code != 0 {
		u.t.Fatalf("cairn %s: exit %d: %s", strings.Join(args, " "), code, said)
	}
	return out
}

// hook runs an agent's hook and returns the context in its answer.
func (u *user) hook(event, more string) string {
	u.t.Helper()
	out := u.must(fmt.Sprintf(`{"session_id":"s","cwd":%q,"hook_event_name":%q%s}`, u.project, event, more), "hook", u.hookOf, event)
	var a struct {
		Specific struct {
			Event   string `json:"hookEventName"`
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
		Context string `json:"additionalContext"` // of OpenCode's plugin
	}
	if out == "" {
		return ""
	}
	if err := json.Unmarshal([]byte(out), &a); err != nil || a.Specific.Event != event && a.Context == "" {
		u.t.Fatalf("%s: %v: %q", event, err, out)
	}
	return a.Specific.Context + a.Context
}

// used returns the hook input for a tool's use.
func used(command, output string) string {
	return fmt.Sprintf(`,"tool_name":"Bash","tool_input":{"command":%q},"tool_response":{"stdout":%q}`, command, output)
}

// TestASessionKnowsItsProject: the context includes a project's captures, however many other memories there are.
func TestASessionKnowsItsProject(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	cairntest.StartDevIn(t, u.node)
	u.must("", "connect", "claude", "--home", u.node, "--yes")
	u.hook("PostToolUse", used("make deploy", "the deploy failed: quota"))
	var much strings.Builder
	for i := range 80 {
		fmt.Fprintf(&much, "{\"text\":\"Team number %d meets in the room behind the stairs of house %d\"}\n", i, i)
	}
	u.must(much.String(), "import", "--home", u.node)
	u.shows("Team number ", "the deploy failed")
}

// TestConnected goes from `cairn connect` to `cairn connect --undo`, with a node that runs, is killed, and restarts.
// Captures made without the node are stored afterwards, and an unreachable memory is never reported as empty.
func TestConnected(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	if _, said, code := u.run("", "connect", "claude", "--home", u.node, "--yes"); code == 0 || !strings.Contains(said, "cairn dev") {
		t.Errorf("without a node: exit %d, %s", code, said)
	}
	p := cairntest.StartDevIn(t, u.node)
	if out, _, code := u.run("n\n", "connect", "claude", "--home", u.node); code == 0 || !strings.Contains(out, "+") {
		t.Errorf("a user who says no: exit %d, %s", code, out)
	}
	u.must("", "connect", "claude", "--home", u.node, "--dry-run")
	if left := tree(t, filepath.Join(u.home, ".claude")); len(left) > 0 {
		t.Errorf("written without consent: %v", left)
	}
	u.must("y\n", "connect", "claude", "--home", u.node)
	if out := u.must("", "connect", "claude", "--home", u.node); out != "" {
		t.Errorf("a second time it changes\n%s", out)
	}

	token := filepath.Join(u.home, ".config", "cairn", "connect", "claude.token")
	secret, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	if i, err := os.Stat(token); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v, %v", i.Mode(), err)
	}
	for name, content := range tree(t, u.home) {
		if strings.Contains(content, string(secret)) && !strings.HasSuffix(name, ".token") {
			t.Errorf("%s holds the token", name)
		}
	}
	var state []ToolState
	if err := json.Unmarshal([]byte(u.must("", "connect", "--json")), &state); err != nil {
		t.Fatal(err)
	}
	if c := state[0]; c.Tool != "claude" || !c.Found || len(c.Connected) != 1 || !c.Connected[0].Whole {
		t.Errorf("listed as %+v", c)
	}

	var headers map[string]string
	if err := json.Unmarshal([]byte(u.must("", "hook", "claude", "headers")), &headers); err != nil {
		t.Fatal(err)
	}
	if code := statusOf(t, p, headers["Authorization"]); code != http.StatusOK {
		t.Errorf("the node answers the headers with %d", code)
	}
	if known := u.hook("SessionStart", ""); !strings.Contains(known, "nothing is known") {
		t.Errorf("an empty memory: %s", known)
	}
	u.must("", "remember", "Alice leads the payments team", "--home", u.node)
	const password = "hunter2-hunter2"
	u.hook("PostToolUse", used("make deploy", "the deploy failed: quota; password="+password))
	u.shows("Alice leads the payments team", "the deploy failed")
	if known := u.hook("SessionStart", ""); strings.Contains(known, password) {
		t.Errorf("a secret is told: %s", known)
	}

	p.Kill()
	if known := u.hook("SessionStart", ""); !strings.Contains(known, "memory unreachable") || strings.Contains(known, "nothing is known") {
		t.Errorf("while the node is away: %s", known)
	}
	u.hook("PostToolUse", used("make test", "three tests are red; password="+password))
	u.hook("Stop", `,"last_assistant_message":"The red tests come from the time zone."`)
	u.hook("SessionEnd", "")
	waits := tree(t, filepath.Join(u.home, ".config", "cairn", "connect", "claude.spool"))
	if len(waits) < 2 {
		t.Errorf("in the spool: %v", waits)
	}
	for name, content := range waits {
		if i, err := os.Stat(filepath.Join(u.home, ".config", "cairn", "connect", "claude.spool", name)); err != nil ||
			i.Mode().Perm() != 0o600 || strings.Contains(content, password) {
			t.Errorf("in the spool: %v, %v, %s", i, err, content)
		}
	}

	p.Launch()()
	u.shows("Alice leads the payments team", "three tests are red", "the time zone")
	suite.Eventually(t, "an empty spool", func() bool {
		u.hook("SessionEnd", "")
		return spool(filepath.Join(u.home, ".config", "cairn", "connect", "claude.spool")).count() == 0
	})

	u.must("", "connect", "claude", "--home", u.node, "--undo", "--yes")
	if left := tree(t, u.home); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if code := statusOf(t, p, headers["Authorization"]); code != http.StatusUnauthorized {
		t.Errorf("the node answers the old token with %d", code)
	}
	if out, _, code := u.run(`{"session_id":"s"}`, "hook", "claude", "SessionStart"); code != 0 || out != "" {
		t.Errorf("a hook that is not connected: exit %d, %s", code, out)
	}
}

// shows waits until the context at the start of a session contains all texts.
func (u *user) shows(texts ...string) {
	u.t.Helper()
	known, missing, begins := "", "", "SessionStart"
	if u.hookOf == "opencode" {
		begins = "session.created"
	}
	if !suite.Within(suite.Patience, func() bool {
		known = u.hook(begins, "")
		for _, missing = range texts {
			if !strings.Contains(known, missing) {
				return false
			}
		}
		return true
	}) {
		u.t.Fatalf("%q is not in %s", missing, known)
	}
}

// statusOf returns the status of a node's answer to a request with an Authorization header.
func statusOf(t testing.TB, p *cairntest.Node, authorization string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", p.Line.HTTP+"/v1/memories", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", authorization)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// away connects a tool to a node that never runs.
func away(t testing.TB, name string) *record {
	t.Helper()
	t.Setenv("CAIRN_CONTEXTS", filepath.Join(t.TempDir(), "contexts.json"))
	base, err := recordsDir()
	if err != nil {
		t.Fatal(err)
	}
	r := &record{Tool: name, Endpoint: "http://127.0.0.1:1", Home: t.TempDir(), dir: base, Entries: []writtenEntry{{File: "/f", Format: "file"}}}
	if err := r.save(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEveryToolsInput: each tool's input becomes one capture, and its start of a session gets an answer in its form.
func TestEveryToolsInput(t *testing.T) {
	for _, c := range []struct{ tool, event, in, tells, keeps string }{
		{"claude", "SessionStart", `{"session_id":"s","cwd":"/"}`,
			`{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"Cairn`, ""},
		{"claude", "PostToolUse",
			`{"session_id":"s","cwd":"/","tool_name":"Read","tool_input":{"file_path":"/a"},"tool_response":"x"}`, "",
			`"tool":"Read","source":"claude"`},
		{"claude", "PostToolUse", `{"session_id":"s","cwd":"/","tool_name":"mcp__cairn__recall","tool_input":{}}`, "", ""},
		{"claude", "Stop", `{"session_id":"s","cwd":"/","last_assistant_message":""}`, "", ""},
		{"codex", "PostToolUse",
			`{"session_id":"s","cwd":"/","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":"x"}`, "",
			`"tool":"Bash","source":"codex"`},
		{"gemini", "AfterAgent", `{"session_id":"s","cwd":"/","prompt":"p","prompt_response":"It is done."}`, "",
			`"message":"It is done."`},
		{"gemini", "AfterTool",
			`{"session_id":"s","cwd":"/","tool_name":"run_shell_command","tool_input":{"command":"ls"},"tool_response":{"llmContent":"x"}}`,
			"", `"tool":"Bash","source":"gemini"`},
		{"cursor", "sessionStart", `{"conversation_id":"s","workspace_roots":["/"]}`, `{"additional_context":"Cairn`, ""},
		{"cursor", "afterAgentResponse", `{"conversation_id":"s","workspace_roots":["/"],"text":"Done."}`, "", `"session":"s"`},
		{"copilot", "postToolUse",
			`{"sessionId":"s","cwd":"/","toolName":"bash","toolArgs":{"command":"ls"},"toolResult":{"textResultForLlm":"x"}}`,
			"", `"tool":"Bash","source":"copilot"`},
		{"opencode", "session.created", `{"session_id":"s","cwd":"/"}`, `{"additionalContext":"Cairn`, ""},
	} {
		t.Run(c.tool+" "+c.event, func(t *testing.T) {
			r := away(t, c.tool)
			var out bytes.Buffer
			err := runHook(t.Context(), &cli.Streams{In: strings.NewReader(c.in), Out: &out, Err: io.Discard}, c.tool, c.event)
			if (err != nil) != (c.keeps != "") || err != nil && !strings.HasPrefix(err.Error(), "kept until a later hook can send it: ") {
				t.Errorf("%v", err)
			}
			if !strings.HasPrefix(out.String(), c.tells) || (c.tells == "") != (out.Len() == 0) {
				t.Errorf("tells %q, want %q", &out, c.tells)
			}
			kept := fmt.Sprint(tree(t, string(r.spool())))
			if !strings.Contains(kept, c.keeps) || (c.keeps == "") != (r.spool().count() == 0) {
				t.Errorf("keeps %s, want %s", kept, c.keeps)
			}
		})
	}
}

// TestSpool: a full spool loses its oldest captures. Sent captures are removed. A capture that cannot be sent stays,
// with all later ones.
func TestSpool(t *testing.T) {
	t.Parallel()
	s := spool(filepath.Join(t.TempDir(), "spool"))
	if err := os.Mkdir(string(s), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range maxSpooled {
		if err := s.write(fmt.Sprintf("%019d-1.json", i), fmt.Appendf(nil, `{"session":"%d"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		if err := s.add(capture{Session: fmt.Sprint(maxSpooled + i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.add(capture{Payload: strings.Repeat("x", maxCapture)}); err != nil || s.count() != maxSpooled {
		t.Errorf("%v, %d wait", err, s.count())
	}
	var sent []string
	away := errors.New("away")
	err := s.drain(func(c capture) error {
		if len(sent) == 5 {
			return away
		}
		sent = append(sent, c.Session)
		return nil
	})
	if !errors.Is(err, away) || strings.Join(sent, " ") != "3 4 5 6 7" || s.count() != maxSpooled-5 {
		t.Errorf("%v, sent %v, %d wait", err, sent, s.count())
	}
	if err := os.WriteFile(filepath.Join(string(s), "0000000000000000001-1.json"), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.drain(func(capture) error { return nil }); err != nil || s.count() != 0 {
		t.Errorf("%v, %d wait", err, s.count())
	}
}

func useAway(ctx context.Context, dir string) error {
	in := fmt.Sprintf(`{"session_id":"s","cwd":%q,"tool_name":"Bash","tool_input":{"command":"make test"},"tool_response":{"stdout":"ok"}}`, dir)
	return runHook(ctx, &cli.Streams{In: strings.NewReader(in), Out: io.Discard, Err: io.Discard}, "claude", "PostToolUse")
}

// BenchmarkHookWithoutANode measures a hook while the node is away: its own work, and the process around it.
func BenchmarkHookWithoutANode(b *testing.B) {
	away(b, "claude")
	dir := b.TempDir()
	b.Run("work", func(b *testing.B) {
		for b.Loop() {
			if useAway(b.Context(), dir) == nil {
				b.Fatal("a node answered")
			}
		}
	})
	b.Run("process", func(b *testing.B) {
		for b.Loop() {
			c := cairntest.Command(b.Context(), "hook", "claude", "PostToolUse")
			c.Env = append(c.Env, "CAIRN_CONTEXTS="+os.Getenv("CAIRN_CONTEXTS"))
			c.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s","cwd":%q,"tool_name":"Bash","tool_input":{},"tool_response":"ok"}`, dir))
			if err := c.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestACaptureOfAGoneDirectoryKeepsNoOther: a capture of a missing directory stays, and later captures are still
// sent.
func TestACaptureOfAGoneDirectoryKeepsNoOther(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	cairntest.StartDevIn(t, u.node)
	u.must("", "connect", "claude", "--home", u.node, "--yes")
	s := spool(filepath.Join(u.home, ".config", "cairn", "connect", "claude.spool"))
	gone := filepath.Join(u.home, "gone")
	for _, dir := range []string{gone, u.project} {
		if err := s.add(capture{Session: "s", Tool: "Bash", Source: "claude", Dir: dir, At: 1,
			Payload: map[string]any{"tool_input": map[string]any{"command": "make in " + dir}}}); err != nil {
			t.Fatal(err)
		}
	}
	suite.Eventually(t, "one capture that waits", func() bool { u.hook("SessionEnd", ""); return s.count() == 1 })
	if waits := fmt.Sprint(tree(t, string(s))); !strings.Contains(waits, gone) {
		t.Errorf("there waits %s", waits)
	}
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "an empty spool", func() bool { u.hook("SessionEnd", ""); return s.count() == 0 })
}
