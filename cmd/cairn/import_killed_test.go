package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// importSources writes a file or folder of each format, and returns their arguments.
func importSources(t *testing.T) (args []string) {
	t.Helper()
	dir := t.TempDir()
	var rows, keyed, mem0, session strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&rows, `{"text":"document %d of %s"}`+"\n", i, strings.Repeat("many words ", 10))
		fmt.Fprintf(&keyed, `{"text":"keyed %d","external_id":"x-%d","metadata":{"n":%d}}`+"\n", i, i, i)
	}
	for i := range 300 {
		fmt.Fprintf(&mem0, `{"id":"m%d","memory":"mem0 %d","user_id":"alice"}`+"\n", i, i)
		fmt.Fprintf(&session,
			`{"type":"user","timestamp":"2026-11-26T10:00:00Z","sessionId":"s1","uuid":"u%d","message":{"role":"user","content":"said %d"}}`+"\n", i, i)
	}
	for name, text := range map[string]string{"rows.jsonl": rows.String(), "keyed.jsonl": keyed.String(),
		"mem0.json": mem0.String(), "session.jsonl": session.String(),
		"memory.jsonl": `{"type":"entity","name":"Ada","entityType":"person","observations":["drinks tea"]}` + "\n" + `{"type":"relation","from":"Ada","to":"ACME","relationType":"works_at"}` + "\n",
		"notes/a.md":   "# A\n\none\n\n# B\n\ntwo\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"rows.jsonl", "keyed.jsonl", "mem0.json", "session.jsonl", "memory.jsonl", "notes"} {
		args = append(args, filepath.Join(dir, name))
	}
	return args
}

// exportState returns a home's export in order, without the ids and times, which differ for each import.
func exportState(t *testing.T, home string) []string {
	t.Helper()
	out, code := cairntest.Run(t, "export", "--home", home)
	if code != 0 {
		t.Fatalf("export: exit %d", code)
	}
	var all []string
	for line := range strings.Lines(out) {
		var row struct {
			Type, Text, Key, Namespace, Src, Dst string
			Revision                             int
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(row))
	}
	slices.Sort(all)
	return all
}

// TestAKilledImportIsRepeated kills `cairn import` of every format at moments spread over its run, and once the node
// with it. The repeated command must give the same state as an uninterrupted import, and one more run must change
// nothing.
func TestAKilledImportIsRepeated(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	sources := importSources(t)
	_, whole := cairntest.StartDev(t)
	begun := time.Now()
	if out, err := cairntest.Command(t.Context(), append([]string{"import", "--home", whole}, sources...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took, want := time.Since(begun), exportState(t, whole)
	p, home := cairntest.StartDev(t)
	args := append([]string{"import", "--home", home, "--json"}, sources...)
	const kills = 4
	cut := 0
	for n := range kills {
		c := cairntest.Command(t.Context(), args...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(took*time.Duration(n+1)/(kills+2), func() { c.Process.Kill() })
		if c.Wait() != nil {
			cut++
		}
		kill.Stop()
		if n == kills/2 {
			p.Kill()
			p.Launch()()
		}
	}
	if cut == 0 {
		t.Error("no import was killed while it ran")
	}
	type counts struct{ Memories, Edges, Kept, Refused int }
	if got, code := cairntest.RunForJSON[counts](t, args...); code != 0 || got.Memories+got.Edges+got.Kept != len(want) || got.Kept == 0 ||
		got.Refused != 0 {
		t.Errorf("the import that goes on: exit %d, %+v", code, got)
	}
	if got := exportState(t, home); !slices.Equal(got, want) {
		t.Errorf("%d rows after the kills, want %d", len(got), len(want))
	}
	if got, code := cairntest.RunForJSON[counts](t, args...); code != 0 || got.Memories != 0 || got.Edges != 0 || got.Kept != len(want) {
		t.Errorf("once more: exit %d, %+v", code, got)
	}
	if err := os.WriteFile(filepath.Join(sources[5], "a.md"), []byte("# A\n\none\n\n# B\n\ntwo and a half\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, code := cairntest.RunForJSON[counts](t, "import", "--home", home, "--json", sources[5]); code != 0 || got.Memories != 1 ||
		got.Kept != 1 {
		t.Errorf("a changed file: exit %d, %+v", code, got)
	}
	if got := exportState(t, home); len(got) != len(want) ||
		!slices.ContainsFunc(got, func(row string) bool { return strings.Contains(row, "two and a half /notes/a.md#b default   1") }) {
		t.Errorf("a changed section is no revision: %d rows, want %d", len(got), len(want))
	}
}
