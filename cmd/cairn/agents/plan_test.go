package agents

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/agents/edit"
)

var update = flag.Bool("update", false, "write the files that are expected")

// testTarget returns the target of the tests.
func testTarget(home string) target {
	return target{home: home, program: "/opt/cairn", url: "http://127.0.0.1:7438/mcp",
		tokenFile: "/home/u/.config/cairn/connect/T.token", capture: true,
		mcpArgs: []string{"mcp", "--home", "/srv/cairn", "--token-file", "/home/u/.config/cairn/connect/T.token"}}
}

// clean unsets the environment variables that move the tools' files.
func clean(t *testing.T) {
	for _, v := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(v, "")
	}
}

// tree reads all files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "node" { // a running node's
			return filepath.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		name, relErr := filepath.Rel(dir, path)
		all[name] = string(b)
		return errors.Join(err, relErr)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// shown formats a tree as one text.
func shown(files map[string]string) string {
	var b strings.Builder
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.WriteString("-- " + name + "\n" + files[name])
		if !strings.HasSuffix(files[name], "\n") {
			b.WriteString("\n(no line end)\n")
		}
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// lived holds existing files of a user: with other servers and hooks, comments, CRLF line ends, and an empty file.
var lived = map[string]map[string]string{
	"claude": {
		".claude.json":          "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"other\"\n    }\n  },\n  \"projects\": {}\n}",
		".claude/settings.json": "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"PostToolUse\": [\n\t\t\t{\"matcher\": \"Edit\", \"hooks\": [{\"type\": \"command\", \"command\": \"gofmt\"}]}\n\t\t]\n\t}\n}\n",
		".claude/CLAUDE.md":     "# Mine\r\n\r\nBe brief.\r\n",
	},
	"codex": {
		".codex/config.toml": "model = \"gpt-5\" # the good one\n\n[mcp_servers.other]\ncommand = \"other\"\n\n[projects.\"/work\"]\ntrust_level = \"trusted\"",
		".codex/hooks.json":  "{\"hooks\": {}}\n",
	},
	"opencode": {
		".config/opencode/opencode.jsonc": "{\n  // my settings\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"other\": {\"type\": \"remote\", \"url\": \"https://example.com\"}, // theirs\n  },\n}\n",
		".config/opencode/AGENTS.md":      "",
	},
	"gemini": {".gemini/settings.json": "{\r\n    \"ui\": {\"theme\": \"x\"},\r\n    \"hooks\": {\"AfterTool\": []}\r\n}\r\n"},
	"cursor": {".cursor/hooks.json": "{\n  \"version\": 1,\n  \"hooks\": {\"stop\": [{\"command\": \"./done.sh\"}]}\n}\n",
		".cursor/mcp.json": "{ }\n"},
	"vscode":  {".config/Code/User/mcp.json": "{\n\t\"servers\": {},\n\t\"inputs\": [\n\t\t// asked once\n\t\t{\"type\": \"promptString\", \"id\": \"other\"}\n\t]\n}\n"},
	"copilot": {".copilot/mcp-config.json": "{\"mcpServers\": {\"other\": {\"type\": \"local\"}}}"},
}

// TestTools compares each tool's files with a golden file: new and existing ones, of the user and of a project. A
// second call changes nothing, and --undo restores every byte.
func TestTools(t *testing.T) {
	clean(t)
	for _, tl := range tools() {
		for _, c := range []struct {
			name    string
			files   map[string]string
			project bool
		}{{"new", nil, false}, {"lived", lived[tl.name], false}, {"project", nil, true}, {"other", nil, false}} {
			t.Run(tl.name+"_"+c.name, func(t *testing.T) {
				home := t.TempDir()
				fill(t, home, c.files)
				before := tree(t, home)
				s := testTarget(home)
				s.stdio = (tl.stdioReason != "") != (c.name == "other") // HTTP or a process: the default, or the other way
				if c.project {
					s.project, s.program = home, "cairn"
				}
				want := tl.entries(s)
				p, err := makePlan(false, want, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.apply(); err != nil {
					t.Fatal(err)
				}
				golden(t, tl.name+"_"+c.name, shown(tree(t, home)))
				again, err := makePlan(false, want, p.entries, nil)
				if err != nil || len(again.changes) > 0 || len(again.entries) != len(p.entries) {
					t.Errorf("again: %v, %d changes, %d of %d entries", err, len(again.changes), len(again.entries), len(p.entries))
				}
				out, err := makePlan(false, nil, p.entries, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := out.apply(); err != nil {
					t.Fatal(err)
				}
				if got, want := shown(tree(t, home)), shown(before); got != want {
					t.Errorf("taken out:\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

// TestRefused: the error about a malformed file names the file and the position, and an entry that somebody else
// wrote or changed stays unchanged.
func TestRefused(t *testing.T) {
	clean(t)
	home := t.TempDir()
	tl, _ := findTool("claude")
	path := filepath.Join(home, ".claude.json")
	for content, wants := range map[string]string{
		"{\n  \"a\": 1\n  \"b\": 2\n}":                        path + ": line 3, column 3",
		`{"mcpServers": {"cairn": {"command": "their own"}}}`: path + ": mcpServers.cairn is there already",
		`{"mcpServers": 5}`:                                   path + ": line 1, column 16: mcpServers is not an object",
	} {
		fill(t, home, map[string]string{".claude.json": content})
		if _, err := makePlan(false, tl.entries(testTarget(home)), nil, nil); err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%s: %v, want %s", content, err, wants)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	p, err := makePlan(false, tl.entries(testTarget(home)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.apply(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, home, map[string]string{".claude.json": strings.Replace(string(b), "7438", "9999", 1)})
	if _, err := makePlan(false, nil, p.entries, nil); err == nil || !strings.Contains(err.Error(), "was changed after") {
		t.Errorf("a changed entry: %v", err)
	}
	fill(t, home, map[string]string{".claude.json": `{"mcpServers": {}}`})
	if out, err := makePlan(false, nil, p.entries, nil); err != nil ||
		slices.ContainsFunc(out.changes, func(c *change) bool { return c.path == path }) {
		t.Errorf("an entry that is gone: %v", err)
	}
}

// TestMoved: a new endpoint replaces the entries, and --undo still restores the original files.
func TestMoved(t *testing.T) {
	clean(t)
	for _, tl := range tools() {
		home := t.TempDir()
		fill(t, home, lived[tl.name])
		before := tree(t, home)
		s := testTarget(home)
		s.stdio = tl.stdioReason != ""
		p, err := makePlan(false, tl.entries(s), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.apply(); err != nil {
			t.Fatal(err)
		}
		s.url, s.program = "http://127.0.0.1:9438/mcp", "/usr/bin/cairn"
		moved, err := makePlan(false, tl.entries(s), p.entries, nil)
		if err != nil {
			t.Fatalf("%s: %v", tl.name, err)
		}
		if err := moved.apply(); err != nil {
			t.Fatal(err)
		}
		if all := shown(tree(t, home)); strings.Contains(all, ":7438") || strings.Contains(all, "/opt/cairn") {
			t.Errorf("%s: an old entry is left:\n%s", tl.name, all)
		}
		out, err := makePlan(false, nil, moved.entries, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := out.apply(); err != nil {
			t.Fatal(err)
		}
		if got, want := shown(tree(t, home)), shown(before); got != want {
			t.Errorf("%s, taken out:\n%s\nwant\n%s", tl.name, got, want)
		}
	}
}

// TestShared: a note that two tools share in one file stays until both are disconnected.
func TestShared(t *testing.T) {
	clean(t)
	dir := t.TempDir()
	s := testTarget(dir)
	s.project = dir
	codex, _ := findTool("codex")
	opencode, _ := findTool("opencode")
	first, err := makePlan(false, codex.entries(s), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.apply(); err != nil {
		t.Fatal(err)
	}
	second, err := makePlan(false, opencode.entries(s), nil, first.entries)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.apply(); err != nil {
		t.Fatal(err)
	}
	out, err := makePlan(false, nil, first.entries, second.entries)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.apply(); err != nil {
		t.Fatal(err)
	}
	if note := tree(t, dir)["AGENTS.md"]; !strings.Contains(note, "recall") {
		t.Errorf("the other tool's note is gone: %q", note)
	}
	if out, err = makePlan(false, nil, second.entries, nil); err != nil {
		t.Fatal(err)
	}
	if err := out.apply(); err != nil {
		t.Fatal(err)
	}
	if left := tree(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestFilesKeepModeAndLinks: a file keeps its mode, and a symbolic link stays a link.
func TestFilesKeepModeAndLinks(t *testing.T) {
	clean(t)
	home := t.TempDir()
	fill(t, home, map[string]string{"dotfiles/claude.json": "{}\n"})
	link := filepath.Join(home, ".claude.json")
	if err := os.Symlink(filepath.Join(home, "dotfiles", "claude.json"), link); err != nil {
		t.Fatal(err)
	}
	tl, _ := findTool("claude")
	p, err := makePlan(false, tl.entries(testTarget(home)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.apply(); err != nil {
		t.Fatal(err)
	}
	i, err := os.Lstat(link)
	if err != nil || i.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link: %v, %v", i, err)
	}
	if i, err = os.Stat(link); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", i, err)
	}
	again, err := makePlan(false, nil, p.entries, nil)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, home, map[string]string{"dotfiles/claude.json": "{\"changed\": 1}\n"})
	if err := again.apply(); err == nil || !strings.Contains(err.Error(), "changed in the meantime") {
		t.Errorf("a file that changed after the plan: %v", err)
	}
}

// TestDiff: a diff shows the changed lines with their context, and no other lines of the file.
func TestDiff(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for range 50 {
		b.WriteString("line\n")
	}
	long := b.String()
	c := &change{path: "f", exists: true, before: []byte("one\n" + long + "two\nlast\n"), after: []byte("one\nnew\n" + long + "last\n")}
	var out bytes.Buffer
	if err := c.show(&out); err != nil {
		t.Fatal(err)
	}
	want := "change f\n  one\n+ new\n  line\n  line\n  …\n  line\n  line\n- two\n  last\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// TestNoSecret: a tool's files contain no token, only a reference to its file.
func TestNoSecret(t *testing.T) {
	clean(t)
	home := t.TempDir()
	for _, tl := range tools() {
		s := testTarget(home)
		for _, s.stdio = range []bool{false, true} {
			for _, w := range tl.entries(s) {
				if _, ok := edit.Formats[w.Format]; !ok {
					t.Errorf("%s: no format %q", tl.name, w.Format)
				}
				if !strings.Contains(w.Value, "Authorization") {
					continue
				}
				if !strings.Contains(w.Value, "{file:") && !strings.Contains(w.Value, "${") && !strings.Contains(w.Value, "$CAIRN_TOKEN") {
					t.Errorf("%s: %s", tl.name, w.Value)
				}
			}
		}
	}
}
