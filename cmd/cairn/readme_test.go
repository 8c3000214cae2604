package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/suite"
)

// section returns the text of the pages under a heading.
func section(t *testing.T, pages, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(pages, "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("neither page has %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// indented returns the commands of a section, except those that start a node or need another machine.
func indented(text string) (commands []string) {
	text = regexp.MustCompile("(?s)```.*?```").ReplaceAllString(text, "")
	for _, line := range strings.Split(text, "\n") {
		c, ok := strings.CutPrefix(line, "    ")
		switch {
		case !ok || c == "" || strings.HasPrefix(c, "{"):
		case len(commands) > 0 && strings.HasSuffix(commands[len(commands)-1], "\\"):
			commands[len(commands)-1] = strings.TrimSuffix(commands[len(commands)-1], "\\") + c
		default:
			commands = append(commands, c)
		}
	}
	return commands
}

var snippet = regexp.MustCompile("(?s)```(python|js)\n(.*?)```")

// newUserDir creates a directory with the output of "go build", and returns the text of the README and of the page on
// operation.
func newUserDir(t *testing.T) (pages, dir, root string) {
	t.Helper()
	for _, name := range []string{"../../README.md", "../../deploy/OPERATE.md"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages += string(b) + "\n"
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, err = os.MkdirTemp("", "r") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if os.Args[0][0] != '/' {
		t.Fatalf("the test binary is %s", os.Args[0])
	}
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "cairn")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	return pages, dir, root
}

// runPrinted runs a program of the README if it is installed, and repeats it if the answer is that the machine is too
// busy.
func runPrinted(t *testing.T, name string, arg ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Logf("not run: %s is not installed", name)
		return ""
	}
	var out []byte
	var err error
	suite.Within(suite.Patience, func() bool {
		c := exec.CommandContext(t.Context(), name, arg...)
		c.Env = append(os.Environ(), cairntest.AsCairn+"=1")
		out, err = c.CombinedOutput()
		soon := append(slices.Clone(retryableErrors), "no backup for that point") // `date` prints whole seconds, and the backup may be from the current second
		return !slices.ContainsFunc(soon, func(text string) bool { return strings.Contains(string(out), text) })
	})
	if err != nil || strings.Contains(string(out), `"error"`) || strings.Contains(string(out), `'error'`) {
		t.Errorf("%s: %v\n%s", strings.Join(arg, " "), err, out)
	}
	return string(out)
}

// TestREADMERunsAsPrinted runs the commands of the README and of the page on operation in a new user's directory. It
// changes only the ports, because the standard ones may be in use.
func TestREADMERunsAsPrinted(t *testing.T) {
	suite.NotShort(t, "the same commands as without the race detector")
	pages, dir, root := newUserDir(t)
	p := cairntest.StartDevIn(t, "cairn-data")
	ports := strings.NewReplacer("localhost:7438", strings.TrimPrefix(p.Line.HTTP, "http://"), "http://127.0.0.1:3923", p.Line.String)
	count := 0
	for _, heading := range []string{"Remember and recall", "Plug in the client you have", "Who may do what, and how much",
		"Encryption at rest", "Back up, and restore", "Run it for a year"} {
		for _, c := range indented(section(t, pages, heading)) {
			if strings.HasPrefix(c, "go build") || c == "./cairn dev" {
				continue // the test runs this binary
			}
			if strings.HasPrefix(c, "curl") {
				c = strings.Replace(c, "curl -s", "curl -sf", 1)
			}
			runPrinted(t, "sh", "-c", ports.Replace(c))
			count++
		}
	}
	installSDKs(t, dir, root)
	for i, m := range snippet.FindAllStringSubmatch(pages, -1) {
		name, ext := "python3", "py"
		if m[1] == "js" {
			name, ext = "node", "mjs"
		}
		file := filepath.Join(dir, fmt.Sprintf("snippet%d.%s", i, ext))
		if err := os.WriteFile(file, []byte(ports.Replace(m[2])), 0o600); err != nil {
			t.Fatal(err)
		}
		runPrinted(t, name, file)
		count++
	}
	count += runDataMoves(t, dir, indented(section(t, pages, "Moving data, and measuring")))
	for _, c := range indented(section(t, pages, "Recall by meaning")) {
		c, _, _ = strings.Cut(c, " #")
		if !strings.HasSuffix(strings.TrimSpace(c), " list") { // fetching a model needs a network; TestEmbedVerbs fetches one from a mirror
			c += " --help"
		}
		runPrinted(t, "sh", "-c", c)
		count++
	}
	if !testing.Short() { // compiling takes long
		goSnippet(t, root, pages, p)
	}
	if count < 40 {
		t.Errorf("only %d commands and snippets were found", count)
	}
}

// installSDKs makes this tree's clients importable by name in Node.js and Python.
func installSDKs(t *testing.T, dir, root string) {
	t.Helper()
	sdk, modules := filepath.Join(root, "wire", "client"), filepath.Join(dir, "node_modules")
	if err := errors.Join(os.Mkdir(modules, 0o700),
		os.Symlink(filepath.Join(sdk, "typescript"), filepath.Join(modules, "cairn-client"))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", filepath.Join(sdk, "python"))
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
}

// runDataMoves runs the printed exports and imports on example files with the printed names. It only parses the flags
// of benchmarks, which have their own tests.
func runDataMoves(t *testing.T, dir string, commands []string) int {
	t.Helper()
	list, code := cairntest.RunForJSON[struct{ Workspaces []struct{ Workspace string } }](t, "sift", "list", "--json")
	if code != 0 || len(list.Workspaces) == 0 {
		t.Fatalf("exit %d, %+v", code, list)
	}
	workspace := list.Workspaces[0].Workspace
	for name, text := range map[string]string{
		"mem0.json":                  `{"results": [{"id": "1", "memory": "Dave plays chess", "user_id": "dave"}]}`,
		"documents.jsonl":            `{"text": "Erin wrote the parser", "page": 3}` + "\n" + `"Frank reviews on Fridays"` + "\n",
		"notes/crane.md":             "# Crane\n\nGrace repairs the crane.\n",
		".claude/projects/w/s.jsonl": `{"type":"user","timestamp":"2026-11-26T10:00:00Z","sessionId":"s","uuid":"u","message":{"content":"Heidi tunes the organ"}}` + "\n",
		".codex/sessions/2026/11/26/rollout-x.jsonl":                 `{"timestamp":"2026-11-26T10:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Ivan paints the fence"}]}}` + "\n",
		".siftcoder/default/workspaces/" + workspace + "/wal.ndjson": `{"ts":1000,"sessionId":"a","tool":"Bash","payload":{"value":5}}` + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if _, code := cairntest.Run(t, "db", "create", "work"); code != 0 {
		t.Fatal("no database")
	}
	for _, c := range commands {
		c, _, _ = strings.Cut(c, " #")
		if strings.HasPrefix(c, "./cairn bench") {
			c += " --help"
		}
		out := runPrinted(t, "sh", "-c", strings.ReplaceAll(c, "~", dir))
		if strings.HasPrefix(c, "./cairn sift import") && !strings.Contains(out, `"captured": 1`) {
			t.Errorf("%s: %s", c, out)
		}
	}
	for question, args := range map[string]string{"Erin wrote the parser": "--home=cairn-data",
		"Grace repairs the crane": "--home=cairn-data", "Heidi tunes the organ": "--home=cairn-data",
		"Ivan paints the fence": "--home=cairn-data", "Dave plays chess": "--db=work"} {
		if out, code := cairntest.Run(t, "recall", question, args, "--json"); code != 0 || !strings.Contains(out, question) {
			t.Errorf("%s was not imported: %s", question, out)
		}
	}
	if out, code := cairntest.Run(t, "export", "--db", "work"); code != 0 || !strings.Contains(out, "Dave plays chess") {
		t.Errorf("export --db: exit %d, %s", code, out)
	}
	return len(commands)
}

// TestREADMETLS runs the commands about TLS of the page on operation: three nodes with relative paths, and a command
// that trusts their certificate authority. It changes only the ports.
func TestREADMETLS(t *testing.T) {
	pages, dir, _ := newUserDir(t)
	base := cairntest.FreePorts(t, 3*config.PortsEach)
	ports := strings.NewReplacer("7600", fmt.Sprint(base), "7601", fmt.Sprint(base+1))
	served, healthy := false, false
	for _, c := range indented(section(t, pages, "TLS")) {
		if path, ok := strings.CutPrefix(c, "./cairn serve --config "); ok {
			path, _, _ = strings.Cut(path, " ")
			nodes := make([]*cairntest.Node, 3)
			for i := range nodes {
				nodes[i] = &cairntest.Node{T: t,
					Args: []string{"serve", "--strict", "--config", strings.Replace(path, "node1", fmt.Sprint("node", i+1), 1)}}
				t.Cleanup(nodes[i].Kill)
			}
			startAll(t, nodes, 0, 1, 2)
			for _, p := range nodes {
				if l := p.Line; l.String == "" || l.Process == "" || !strings.HasPrefix(l.Covenant, dir) ||
					strings.Contains(p.Log.String(), "not served") {
					t.Errorf("%s is without a surface: %+v\n%s", p.Args[3], l, p.Log)
				}
			}
			served = true
			continue
		}
		if !strings.Contains(c, " status ") {
			runPrinted(t, "sh", "-c", ports.Replace(c))
			continue
		}
		healthy = suite.Within(suite.Patience, func() bool { // a peer may answer late
			return strings.Contains(runPrinted(t, "sh", "-c", ports.Replace(c)), "  healthy\nleader node")
		})
	}
	if !served || !healthy {
		t.Errorf("served %v, healthy %v", served, healthy)
	}
}

// goSnippet compiles the README's example of the Go client as a command of this module, and runs it.
func goSnippet(t *testing.T, root, readme string, p *cairntest.Node) {
	t.Helper()
	_, rest, _ := strings.Cut(readme, "```go\n")
	code, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the README shows no Go")
	}
	token, err := os.ReadFile(filepath.Join("cairn-data", "token"))
	if err != nil {
		t.Fatal(err)
	}
	program := "package main\n\nimport (\n\"context\"\n\"fmt\"\n\"os\"\n\n\"github.com/cairndb/cairn/wire\"\n\"github.com/cairndb/cairn/wire/client\"\n)\n\n" +
		"func main() {\nctx, token := context.Background(), os.Args[1]\n" + strings.ReplaceAll(code, "127.0.0.1:7437", p.Line.Wire) +
		"fmt.Println(rid, len(results), end.Total, err)\n}\n"
	dir := t.TempDir()
	main, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	places, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "cmd", "snippet", "main.go"): main}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(main, []byte(program), 0o600), os.WriteFile(overlay, places, 0o600)); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "go", "run", "-overlay", overlay, "./cmd/snippet", strings.TrimSpace(string(token)))
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "<nil>\n") || strings.Contains(string(out), " 0 ") {
		t.Errorf("the Go snippet: %v\n%s\n%s", err, out, program)
	}
}
