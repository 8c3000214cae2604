package transfer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// readAll reads files as an import does, and returns a line for each row: its place, its key or external id, its
// text.
func readAll(t *testing.T, args ...string) string {
	t.Helper()
	all, err := sourcesOf(args)
	if err != nil {
		return err.Error()
	}
	var said []string
	for _, src := range all {
		in, err := os.Open(src.path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		from, err := src.reader(in)
		if err != nil {
			t.Fatal(err)
		}
		for {
			row, err := from.next()
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				said = append(said, fmt.Sprintf("%d: %v", from.row(), err))
				var gone *unreadableError
				if errors.As(err, &gone) {
					break
				}
				continue
			}
			if _, err := row.line(); err != nil {
				t.Errorf("row %d: %v", from.row(), err)
			}
			said = append(said, fmt.Sprintf("%d: %s %q", from.row(), row.text("key", "external_id"), row.text("text")))
		}
	}
	return strings.Join(said, "\n")
}

func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "notes")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCompressedFiles: a file compressed with gzip is read like the original, and a truncated one ends with an error.
func TestCompressedFiles(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	fmt.Fprintln(w, `{"text":"one","key":"/a"}`)
	fmt.Fprintln(w, `{"text":"two"}`)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, map[string]string{"all.jsonl.gz": packed.String(), "cut.jsonl.gz": packed.String()[:packed.Len()-12]})
	if got, want := readAll(t, filepath.Join(dir, "all.jsonl.gz")), "1: /a \"one\"\n2:  \"two\""; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	packed.Reset()
	w.Reset(&packed)
	fmt.Fprintln(w, "Buy tea.")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	notes := writeFiles(t, map[string]string{"todo.md.gz": packed.String()})
	if got, want := readAll(t, filepath.Join(notes, "todo.md.gz")), `1: /todo.md "Buy tea."`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := readAll(t, filepath.Join(dir, "cut.jsonl.gz")); !strings.HasSuffix(got, "unexpected EOF") {
		t.Errorf("one that is cut off: %s", got)
	}
}

// TestFoldersOfMarkdown: each heading with a text becomes a memory with the path as its key. Hidden and other files
// are ignored.
func TestFoldersOfMarkdown(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{
		"todo.md":             "---\ntags: [a]\n---\nBuy tea.\n",
		"sub/deploy.markdown": "# Deploy\n\n## Steps\nRun it.\n```sh\n# no heading\n```\n## Roll back\n\n### Steps\nStop it.\n# Steps\n\nUnder another title.\r\n## Steps ##\nTwice.\n#tag is no heading\n",
		"latin.md":            "# Menu\nCaf\xe9.\n# Wine\nRed.\n",
		"empty.md":            "# Only a title\n",
		".git/x.md":           "hidden", ".hidden.md": "hidden", "main.go": "package main", "rows.jsonl": "\uFEFF" + `{"text":"a row"}`,
	})
	want := `1: the section is not UTF-8 at its byte 7; convert the file first
2: /notes/latin.md#wine "Wine\n\nRed."
1:  "a row"
1: /notes/sub/deploy.markdown "Deploy > Steps\n\nRun it.\n` + "```sh\\n# no heading\\n```" + `"
2: /notes/sub/deploy.markdown#steps "Deploy > Roll back > Steps\n\nStop it."
3: /notes/sub/deploy.markdown#steps-2 "Steps\n\nUnder another title."
4: /notes/sub/deploy.markdown#steps-3 "Steps > Steps\n\nTwice.\n#tag is no heading"
1: /notes/todo.md "Buy tea."`
	if got := readAll(t, dir); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := readAll(t, filepath.Join(dir, "todo.md")); got != `1: /todo.md "Buy tea."` {
		t.Errorf("a file: %s", got)
	}
	if got := readAll(t, filepath.Join(dir, ".git", "none")); !strings.Contains(got, "no such file or folder") {
		t.Errorf("no file: %s", got)
	}
}

// TestSessionsOfAgents: each message in sessions of Claude Code and Codex becomes a row, with an id that stays the
// same when the session continues. Text that the clients add in tags, tool uses, and an incomplete last line are
// omitted.
func TestSessionsOfAgents(t *testing.T) {
	t.Parallel()
	const id = "019ac0de-1234-7abc-8def-0123456789ab"
	dir := writeFiles(t, map[string]string{
		"a.jsonl": `{"type":"summary","summary":"x","leafUuid":"u"}
{"type":"user","timestamp":"2026-11-26T10:00:00Z","sessionId":"s1","uuid":"u1","message":{"role":"user","content":"How do we deploy?"}}
{"type":"user","isMeta":true,"timestamp":"2026-11-26T10:00:00Z","sessionId":"s1","uuid":"u2","message":{"role":"user","content":"Caveat"}}
{"type":"user","timestamp":"2026-11-26T10:00:00Z","sessionId":"s1","uuid":"u3","message":{"role":"user","content":"<command-name>/clear</command-name>"}}
{"type":"assistant","timestamp":"2026-11-26T10:00:01Z","sessionId":"s1","uuid":"u4","message":{"role":"assistant","content":[{"type":"text","text":"With make."},{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}
no JSON
{"type":"user","timestamp":"2026-11-26T10:00:02Z","sessionId":"s1","uuid":"u5","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}
{"type":"user","timesta`,
		"rollout-2026-11-26T10-00-00-" + id + ".jsonl": `{"timestamp":"2026-11-26T10:00:00Z","type":"session_meta","payload":{"id":"` + id + `","cwd":"/w"}}
{"timestamp":"2026-11-26T10:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}}
{"timestamp":"2026-11-26T10:00:02Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Which port?"}]}}
{"timestamp":"2026-11-26T10:00:03Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"a"}}
{"timestamp":"2026-11-26T10:00:04Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"7438."}]}}
`,
	})
	want := `2: s1:u1 "How do we deploy?"
5: s1:u4 "With make."
6: a line that is not JSON
3: ` + id + `:1 "Which port?"
5: ` + id + `:2 "7438."`
	if got := readAll(t, dir); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFilesOfOneKeyAreRefused: two Markdown files with the same key are an error. The same file twice and files of
// rows are not.
func TestFilesOfOneKeyAreRefused(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"a/todo.md": "Buy tea.", "b/todo.md": "Call Ada.", "a/rows.jsonl": "", "b/rows.jsonl": ""})
	for _, c := range []struct {
		args    []string
		refused bool
	}{
		{[]string{"a/todo.md", "b/todo.md"}, true},
		{[]string{"a/todo.md", "a/../a/todo.md", "a/rows.jsonl", "b/rows.jsonl", "b"}, false},
	} {
		for i := range c.args {
			c.args[i] = filepath.Join(dir, c.args[i])
		}
		if _, err := sourcesOf(c.args); (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "/todo.md") {
			t.Errorf("%v: %v", c.args, err)
		}
	}
}

// TestALongLineEndsNoSession: messages after a line that is too long are still read.
func TestALongLineEndsNoSession(t *testing.T) {
	t.Parallel()
	said := func(id, text string) string {
		return `{"type":"user","timestamp":"2026-11-26T10:00:00Z","sessionId":"s","uuid":"` + id + `","message":{"role":"user","content":"` + text + `"}}` + "\n"
	}
	dir := writeFiles(t, map[string]string{"a.jsonl": said("1", "one") + said("2", strings.Repeat("x", maxLine)) + said("3", "three")})
	got := strings.Split(readAll(t, dir), "\n")
	if len(got) != 3 || got[0] != `1: s:1 "one"` || !strings.HasPrefix(got[1], "2: ") || got[2] != `3: s:3 "three"` {
		t.Errorf("%.200q", got)
	}
}

// TestRestoreIgnoresNoFlag: a flag without effect is rejected before anything is written.
func TestRestoreIgnoresNoFlag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{{"--into", "work", "--home", filepath.Join(dir, "home")},
		{"--database", "work", "--config", filepath.Join(dir, "node.toml")}} {
		c := Restore(&cli.Streams{Out: io.Discard, Err: io.Discard})
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(append(args, "--from", dir))
		var said strings.Builder
		if code := cli.Exit(c.ExecuteContext(t.Context()), &said); code != cli.ExitUsage || !strings.Contains(said.String(), "--database") {
			t.Errorf("%v: exit %d, %s", args, code, &said)
		}
	}
}

// TestDamagedLinesAreNoMarkdown: a file with a JSON name is read as JSON, even if its first line is damaged.
func TestDamagedLinesAreNoMarkdown(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.jsonl": "oops\n{\"text\":\"one\"}\n", "b.txt": "plain words"})
	if got := readAll(t, filepath.Join(dir, "a.jsonl")); !strings.HasPrefix(got, "1: invalid character 'o'") {
		t.Errorf("the lines are read as %s", got)
	}
	if got := readAll(t, filepath.Join(dir, "b.txt")); !strings.Contains(got, `"plain words"`) {
		t.Errorf("the text is read as %s", got)
	}
}
