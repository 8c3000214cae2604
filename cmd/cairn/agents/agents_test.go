package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// agents is the directory with the npm installations of the tested agents, and of node itself.
const agents = "CAIRN_AGENTS"

// withAgents returns a user whose PATH contains the agents.
func withAgents(t *testing.T) *user {
	t.Helper()
	suite.Full(t)
	dir := os.Getenv(agents)
	if dir == "" {
		t.Skip("skipped: " + agents + " names no directory with the agents from npm; .ci/run installs them")
	}
	u := newUser(t)
	bin := filepath.Join(dir, "node_modules", ".bin")
	u.env = append(u.env, "PATH="+filepath.Join(dir, "node_modules", "node", "bin")+":"+bin+":"+os.Getenv("PATH"),
		"DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"GEMINI_CLI_TRUST_WORKSPACE=true", "ENABLE_TOOL_SEARCH=false", "ANTHROPIC_API_KEY=none")
	return u
}

// agent runs an agent's program as the user in the project, until it ends or has printed the expected output.
func (u *user) agent(stdin io.Reader, name string, args ...string) string {
	u.t.Helper()
	for _, v := range u.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			u.t.Setenv("PATH", path)
		}
	}
	c := exec.CommandContext(u.t.Context(), name, args...)
	c.Env, c.Dir, c.Stdin = u.env, u.project, stdin
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	if err != nil {
		u.t.Errorf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}

// TestAgentsFindTheMemory: the agents' own programs read the configuration that connect wrote, and reach the node.
// Codex trusts hooks only once its user does.
func TestAgentsFindTheMemory(t *testing.T) {
	u := withAgents(t)
	cairntest.StartDevIn(t, u.node)
	for _, name := range []string{"claude", "codex", "opencode", "gemini"} {
		u.must("", "connect", name, "--home", u.node, "--yes")
	}
	for _, c := range []struct{ want, name, args string }{
		{"✔ Connected", "claude", "mcp list"},
		{`"name": "cairn"`, "codex", "mcp list --json"},
		{"✓ cairn", "opencode", "mcp list"},
		{"Connected", "gemini", "mcp list"},
	} {
		if out := u.agent(nil, c.name, strings.Fields(c.args)...); !strings.Contains(out, c.want) {
			t.Errorf("%s %s:\n%s", c.name, c.args, out)
		}
	}
	hooks, servers := u.codex()
	if n := strings.Count(hooks, `"trustStatus":"untrusted"`); n != 4 || strings.Contains(hooks, `"trustStatus":"trusted"`) ||
		!strings.Contains(hooks, `"warnings":[],"errors":[]`) {
		t.Errorf("codex's hooks: %s", hooks)
	}
	if !strings.Contains(servers, `"name":"cairn"`) || !strings.Contains(servers, `"remember":{`) {
		t.Errorf("codex's servers: %s", servers)
	}
}

// codex reads the project's hooks and MCP servers, with their tools, from Codex's app server.
func (u *user) codex() (hooks, servers string) {
	u.t.Helper()
	r, w := io.Pipe()
	out, end := io.Pipe()
	c := exec.CommandContext(u.t.Context(), "codex", "app-server")
	c.Env, c.Dir, c.Stdin, c.Stdout = u.env, u.project, r, end
	if err := c.Start(); err != nil {
		u.t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		d := json.NewDecoder(out)
		for {
			var m json.RawMessage
			if d.Decode(&m) != nil {
				return
			}
			lines <- string(m)
		}
	}()
	ask := func(id int, method string, params any) (answer string) {
		b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		if err != nil {
			u.t.Fatal(err)
		}
		if _, err := w.Write(append(b, '\n')); err != nil {
			u.t.Fatal(err)
		}
		for !strings.HasPrefix(answer, fmt.Sprintf(`{"id":%d,`, id)) {
			answer = suite.Receive(u.t, method, lines)
		}
		return answer
	}
	ask(1, "initialize", map[string]any{"clientInfo": map[string]string{"name": "test", "version": "1"}})
	hooks = ask(2, "hooks/list", map[string]any{"cwds": []string{u.project}})
	servers = ask(3, "mcpServerStatus/list", map[string]any{})
	w.Close()
	if err := c.Process.Kill(); err != nil {
		u.t.Error(err)
	}
	end.Close()
	_ = c.Wait() // it was killed
	return hooks, servers
}

// model is a scripted model: it stores a fact if the prompt asks for it, or runs one command.
type model struct {
	mu    sync.Mutex
	asked []string
}

const fact = "The deploy key lives in the blue vault"

// ServeHTTP implements http.Handler.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	answer := map[string]func(io.Writer, string){"/v1/messages": messages, "/v1/responses": responses}[r.URL.Path]
	if err != nil || answer == nil {
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	m.mu.Lock()
	m.asked = append(m.asked, string(b))
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	answer(w, string(b))
}

// messages answers Claude Code and OpenCode.
func messages(w io.Writer, asked string) {
	tell := func(kind, rest string) { fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest) }
	tell("message_start",
		`,"message":{"id":"m","type":"message","role":"assistant","model":"scripted","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}`)
	reason := "end_turn"
	use := func(tool, input string) {
		reason = "tool_use"
		tell("content_block_start", `,"index":0,"content_block":{"type":"tool_use","id":"t","name":"`+tool+`","input":{}}`)
		tell("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"input_json_delta","partial_json":%q}`, input))
	}
	switch first := !strings.Contains(asked, `"tool_result"`); {
	case first && strings.Contains(asked, "STORE"):
		use("mcp__cairn__remember", `{"text":"`+fact+`"}`)
	case first && strings.Contains(asked, "GREET") && strings.Contains(asked, `"input_schema"`):
		use("bash", `{"command":"echo greetings","description":"greet"}`)
	default:
		tell("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
		tell("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"Done."}`)
	}
	tell("content_block_stop", `,"index":0`)
	tell("message_delta", `,"delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":1}`)
	tell("message_stop", "")
}

// responses answers Codex.
func responses(w io.Writer, asked string) {
	tell := func(kind, rest string) { fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, rest) }
	tell("response.created", `"response":{"id":"r"}`)
	if strings.Contains(asked, `"function_call_output"`) {
		tell("response.output_item.done",
			`"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"The greeting was printed."}]}`)
	} else {
		tell("response.output_item.done",
			`"output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"exec_command","arguments":"{\"cmd\":\"echo greetings\"}"}`)
	}
	tell("response.completed", `"response":{"id":"r","usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`)
}

// requests returns the requests to the model since the last call.
func (m *model) requests() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := strings.Join(m.asked, "\n")
	m.asked = nil
	return all
}

// TestClaudeRemembers: a fact that Claude Code's model stores in one session is in the prompt of the next, also if
// the node was killed and restarted in between.
func TestClaudeRemembers(t *testing.T) {
	u := withAgents(t)
	p := cairntest.StartDevIn(t, u.node)
	u.must("", "connect", "claude", "--home", u.node, "--yes")
	m := &model{}
	srv := httptest.NewServer(m)
	defer srv.Close()
	u.env = append(u.env, "ANTHROPIC_BASE_URL="+srv.URL)
	u.agent(nil, "claude", "-p", "STORE what you learned", "--allowedTools", "mcp__cairn__remember")
	if asked := m.requests(); !strings.Contains(asked, "tool_result") || strings.Contains(asked, `"is_error":true`) {
		t.Fatalf("the first session stored nothing: %s", cairntest.Tail(asked, 2000))
	}
	p.Kill()
	p.Launch()()
	log := filepath.Join(u.home, "claude.log")
	u.agent(nil, "claude", "-p", "What do you know?", "--debug-file", log)
	if asked := m.requests(); !strings.Contains(asked, fact) {
		t.Errorf("the second session does not know it; of its %d bytes, about hooks: %s", len(asked), grep(t, log, "SessionStart"))
	}
}

// TestCodexRunsItsHooks: what is known is in Codex's prompt, and what it did is captured. A backfill finds the same
// in its rollout, and stores it no second time. The user's trust in the hooks is given for this one run.
func TestCodexRunsItsHooks(t *testing.T) {
	u := withAgents(t)
	p := &cairntest.Node{T: t, Args: []string{"dev", "--home", u.node, "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))},
		Env: []string{"HOME=" + u.home, "CODEX_HOME="}}
	t.Cleanup(p.Kill)
	p.Launch()()
	u.must("", "connect", "codex", "--home", u.node, "--yes")
	u.must("", "remember", fact, "--home", u.node)
	m := &model{}
	srv := httptest.NewServer(m)
	defer srv.Close()
	u.agent(nil, "codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
		"--dangerously-bypass-hook-trust", "-c", `model_provider="scripted"`,
		"-c", fmt.Sprintf(`model_providers.scripted={name="scripted",base_url=%q,wire_api="responses"}`, srv.URL+"/v1"),
		"-c", "model=scripted", "greet")
	if asked := m.requests(); !strings.Contains(asked, fact) {
		t.Errorf("it does not know the fact: %d bytes", len(asked))
	}
	u.hookOf = "codex"
	u.shows("Ran echo greetings", "The greeting was printed.")
	if out := u.must("", "sift", "backfill", "--home", u.node); out != "transcripts: 1; captured: 0; skipped: 1 (1 there already)\n" {
		t.Errorf("backfill: %s", out)
	}
}

// TestOpenCodeRunsItsPlugin: OpenCode's prompt contains stored facts, and its actions are captured.
func TestOpenCodeRunsItsPlugin(t *testing.T) {
	u := withAgents(t)
	cairntest.StartDevIn(t, u.node)
	u.must("", "connect", "opencode", "--home", u.node, "--yes")
	u.must("", "remember", fact, "--home", u.node)
	m := &model{}
	srv := httptest.NewServer(m)
	defer srv.Close()
	u.env = append(u.env,
		fmt.Sprintf(`OPENCODE_CONFIG_CONTENT={"provider":{"scripted":{"npm":"@ai-sdk/anthropic","options":{"baseURL":"%s/v1","apiKey":"none"},"models":{"m":{"limit":{"context":100000,"output":1000}}}}}}`, srv.URL))
	u.agent(nil, "opencode", "run", "-m", "scripted/m", "GREET")
	if asked := m.requests(); !strings.Contains(asked, fact) {
		t.Errorf("it does not know the fact: %d bytes", len(asked))
	}
	u.hookOf = "opencode"
	u.shows("Ran echo greetings")
}

// grep returns the lines of a file that contain a word.
func grep(t *testing.T, path, word string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	var found strings.Builder
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, word) {
			found.WriteString(line)
		}
	}
	return found.String()
}
