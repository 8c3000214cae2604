package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// section is what the README says under a heading.
func section(t *testing.T, readme, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(readme, "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("the README has no %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// indented are the commands of a section, those that start a node or need another machine left out.
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

// TestREADMERunsAsPrinted runs what the README shows, in a directory like a newcomer's. Only the ports are other ones: the
// protocols' own may be taken.
func TestREADMERunsAsPrinted(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(b)
	dir, err := os.MkdirTemp("", "r") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "cairn")); err != nil {
		t.Fatal(err)
	}
	if os.Args[0][0] != '/' {
		t.Fatalf("the test binary is %s", os.Args[0])
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	p := startDevIn(t, "cairn-data")
	ports := strings.NewReplacer("--at 2026-03-01T12:00:00Z", "--at "+time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "localhost:7438", strings.TrimPrefix(p.line.HTTP, "http://"), "http://127.0.0.1:3923", p.line.String)
	run := func(name string, arg ...string) {
		t.Helper()
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("not run: %s is not installed", name)
			return
		}
		c := exec.CommandContext(t.Context(), name, arg...)
		c.Env = append(os.Environ(), asCairn+"=1")
		if out, err := c.CombinedOutput(); err != nil || strings.Contains(string(out), `"error"`) || strings.Contains(string(out), `'error'`) {
			t.Errorf("%s: %v\n%s", strings.Join(arg, " "), err, out)
		}
	}
	count := 0
	for _, heading := range []string{"Remember and recall, in under a minute", "Plug in the client you have", "Who may do what, and how much", "Back up, and restore", "Run it for a year"} {
		for _, c := range indented(section(t, readme, heading)) {
			if strings.HasPrefix(c, "go build") || c == "./cairn dev" {
				continue // this is that binary, and it runs
			}
			if strings.HasPrefix(c, "curl") {
				c = strings.Replace(c, "curl -s", "curl -sf", 1)
			}
			run("sh", "-c", ports.Replace(c))
			count++
		}
	}
	for i, m := range snippet.FindAllStringSubmatch(readme, -1) {
		name, ext := "python3", "py"
		if m[1] == "js" {
			name, ext = "node", "mjs"
		}
		file := filepath.Join(dir, fmt.Sprintf("snippet%d.%s", i, ext))
		if err := os.WriteFile(file, []byte(ports.Replace(m[2])), 0o600); err != nil {
			t.Fatal(err)
		}
		run(name, file)
		count++
	}
	if !testing.Short() { // it is compiled
		goSnippet(t, root, readme, p)
	}
	if count < 9 {
		t.Errorf("only %d commands and snippets were found", count)
	}
}

// goSnippet compiles what the README shows of the Go client, as a command of this module, and runs it.
func goSnippet(t *testing.T, root, readme string, p *nodeProcess) {
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
		"func main() {\nctx, token := context.Background(), os.Args[1]\n" + strings.ReplaceAll(code, "127.0.0.1:7437", p.line.Wire) +
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
