package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/shell"
	"github.com/cairndb/cairn/index/embed/bert/berttest"
	"github.com/cairndb/cairn/oplog/suite"
)

// printedCommands returns the command lines of cairn that users can read, each with a place where it is printed: in
// the pages, indented or between backquotes; in help texts; and between backquotes in messages, hints and the
// console.
func printedCommands(t *testing.T, repository string) map[string]string {
	t.Helper()
	all := map[string]string{}
	add := func(where, line string) {
		line, _, _ = strings.Cut(line, "  ") // an explanation follows two spaces
		line, _, _ = strings.Cut(line, " | ")
		line, _, _ = strings.Cut(line, " > ")
		line, _, _ = strings.Cut(line, " #")
		if line = strings.TrimSpace(line); !strings.HasSuffix(line, "...") {
			line = strings.TrimRight(line, ".,:;&")
		}
		if line != "cairn" && all[line] == "" {
			all[line] = where
		}
	}
	quoted := regexp.MustCompile("[`\"](?:\\./)?(cairn [a-z][^`\"\n]*)[`\"]")
	hinted := regexp.MustCompile("`(cairn [a-z][^`\"\n]*)`")
	indented := regexp.MustCompile(`(?m)^(?:#\s+|    |  |\t)(?:\./)?(cairn [a-z].*)$`)
	from := func(where, text string) {
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			add(where, m[1])
		}
		for _, m := range indented.FindAllStringSubmatch(text, -1) {
			add(where, m[1])
		}
	}
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		where, kind := strings.TrimPrefix(path, repository+"/"), filepath.Ext(path)
		if err != nil || d.IsDir() || !slices.Contains([]string{".md", ".go", ".js", ".yml", ".yaml"}, kind) ||
			strings.HasSuffix(path, "_test.go") || strings.Contains(where, "testdata/") {
			return err
		}
		b, err := os.ReadFile(path)
		if kind == ".md" || kind == ".yaml" {
			from(where, string(b))
			return err
		}
		for _, m := range hinted.FindAllStringSubmatch(string(b), -1) {
			add(where, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var helped func(c *cobra.Command)
	helped = func(c *cobra.Command) {
		from(c.CommandPath()+" --help", "\n"+c.Long+"\n"+c.Example+"\n"+c.LocalFlags().FlagUsages())
		for _, sub := range c.Commands() {
			helped(sub)
		}
	}
	helped(root(&cli.Streams{}))
	return all
}

// testedElsewhere lists the printed commands that need more than a node and its files, by their first words, with the
// test that runs them. This test only parses them.
var testedElsewhere = map[string]string{
	"bench load": "TestBenchLoadPrintsWhatWasAchieved", "bench compare": "TestBenchLoadPrintsWhatWasAchieved",
	"bench recall": "TestRecallAgainst", "bench write": "TestBenchWrite",
	"cluster cert": "TestREADMETLS", "cluster handover": "TestHandover", "cluster init": "TestInitWritesWhatServeReads",
	"cluster join": "TestREADMEThreeNodes", "cluster leave": "TestREADMEThreeNodes",
	"cluster promote": "TestREADMEThreeNodes", "cluster recover": "TestRecoverFromALostMajority",
	"cluster remove": "TestREADMEThreeNodes", "cluster transfer": "TestHandover",
	"connect": "TestConnected", "context add": "TestContexts", "context remove": "TestContexts",
	"context use": "TestContexts", "hook": "TestConnected",
	"token revoke": "TestATokenIsRotated", "covenant": "TestCovenantFromTheShell", "db create": "TestREADMERunsAsPrinted",
	"dev": "TestDevEmbeds", "doctor --config": "TestDoctor", "embed fetch": "TestEmbedVerbs",
	"embed use default --cancel": "TestEmbedUse", "undo RID --expected-revision": "TestUndoHappensOnce",
	"key encrypt": "TestAHomeIsEncryptedAndItsKeyReplaced", "key list": "TestAHomeIsEncryptedAndItsKeyReplaced",
	"key rotate": "TestAHomeIsEncryptedAndItsKeyReplaced",
	"mcp":        "TestMCPOverStdio", "put /prefs/editor/theme": "TestREADMERunsAsPrinted", "delete": "TestMemoriesFromTheShell",
	"erased": "TestMemoriesFromTheShell", "forget": "TestMemoriesFromTheShell", "merge": "TestMemoriesFromTheShell",
	"move": "TestMemoriesFromTheShell", "split": "TestMemoriesFromTheShell", "read": "TestMemoriesFromTheShell",
	"release": "TestQuarantineFromTheShell", "rename": "TestMemoriesFromTheShell",
	"triggers acknowledge": "TestMemoriesFromTheShell", "triggers act": "TestMemoriesFromTheShell",
	"triggers dismiss": "TestMemoriesFromTheShell", "embed use default all-MiniLM-L6-v2": "TestEmbedUse",
	"shell --context": "TestShellRunsAScript", "process": "TestProcessUnderBothNames",
	"recover": "TestAPoisonedRecordIsSkipped", "restore --config": "TestPointInTime",
	"restore --from ./backups --config": "TestPointInTime", "restore --from DIR --config": "TestPointInTime",
	"restore --from ./backups --home ./earlier": "TestREADMERunsAsPrinted",
	"restore --from ./backups --database work":  "TestBackupUnderLoadRestoresIntoAFreshCluster", "serve": "TestREADMEThreeNodes",
	"sift": "TestSiftVerbs", "status --endpoints": "TestREADMETLS",
}

// TestEveryPrintedCommandRuns checks that the binary accepts each command that pages and help texts print, with its
// flags and number of arguments, and that it runs: here, on a node with the objects that it names, or in the test
// that elsewhere names.
func TestEveryPrintedCommandRuns(t *testing.T) {
	suite.Full(t)
	suite.NotShort(t, "many commands, each a process")
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	there, used, ran := testsBelow(t, repository), map[string]bool{}, 0
	dir := t.TempDir()
	t.Chdir(dir)
	home := filepath.Join(dir, "home")
	t.Setenv("CAIRN_HOME", home)
	t.Setenv("CAIRN_CONTEXTS", filepath.Join(dir, "contexts.json"))
	cairntest.StartDevIn(t, home)
	named := createNamed(t, home)
	printed := printedCommands(t, repository)
	for _, line := range slices.Sorted(maps.Keys(printed)) { // sorted, because some commands change objects that others name
		where := printed[line]
		for _, line := range alternatives(line) {
			argv, err := shell.Words(line)
			if err != nil {
				t.Errorf("%s: %s: %v", where, line, err)
				continue
			}
			for i, a := range argv {
				if slices.Contains([]string{"N", "M", "%d", "$n"}, a) { // a number
					argv[i] = "4"
				}
			}
			prefix := ""
			for p := range testedElsewhere {
				if strings.HasPrefix(line+" ", "cairn "+p+" ") && len(p) > len(prefix) {
					prefix = p
				}
			}
			used[prefix] = true
			mention := parsed(t, where, argv[1:])
			if prefix != "" || mention {
				continue
			}
			ran++
			for i, a := range argv {
				if argv[i] = named.Replace(a); i > 0 && argv[i-1] == "--output" {
					argv[i] += ".new"
				}
			}
			patience := time.Minute
			if slices.Contains(argv, "--watch") || slices.Contains(argv, "tail") || slices.Contains(argv, "watch") { // these run until they are interrupted
				patience = time.Second
			}
			stdin := ""
			if i := slices.Index(argv, "<"); i >= 0 {
				b, err := os.ReadFile(argv[i+1])
				if err != nil {
					t.Fatal(err)
				}
				argv, stdin = argv[:i], string(b)
			}
			ctx, stop := context.WithTimeout(t.Context(), patience)
			var output bytes.Buffer
			if code := run(ctx, argv[1:], strings.NewReader(stdin), io.Discard, &output); code != 0 {
				t.Errorf("%s: %s: exit %d, %s", where, strings.Join(argv, " "), code, &output)
			}
			stop()
		}
	}
	for prefix, test := range testedElsewhere {
		if !used[prefix] || !there[test] {
			t.Errorf("cairn %s is run by %s: no page prints it (%t), or there is no such test (%t)", prefix, test,
				!used[prefix], !there[test])
		}
	}
	if ran < 50 {
		t.Errorf("only %d commands ran", ran)
	}
}

// alternatives returns the commands of a line. a|b means either, and && separates commands.
func alternatives(line string) (lines []string) {
	for part := range strings.SplitSeq(line, " && ") {
		fields := strings.Fields(part)
		at := slices.IndexFunc(fields, func(f string) bool { return strings.Contains(f, "|") && !strings.ContainsAny(f, `"'`) })
		if at < 0 {
			lines = append(lines, part)
			continue
		}
		for one := range strings.SplitSeq(fields[at], "|") {
			lines = append(lines, strings.Join(slices.Replace(slices.Clone(fields), at, at+1, one), " "))
		}
	}
	return lines
}

// parsed fails the test unless the binary accepts a command as printed. A command that is only mentioned lacks its
// arguments, or the value of its last flag.
func parsed(t *testing.T, where string, argv []string) (mention bool) {
	t.Helper()
	at := strings.Join(argv, " ")
	all := root(&cli.Streams{})
	c, rest, err := all.Find(argv)
	if err != nil || c == all {
		t.Errorf("%s: no command cairn %s", where, at)
		return true
	}
	if c.DisableFlagParsing || slices.Contains(argv, "--help") {
		return true
	}
	if i := slices.Index(rest, "<"); i >= 0 {
		rest = rest[:i]
	}
	if last := len(rest) - 1; last >= 0 && strings.HasPrefix(rest[last], "--") {
		if f := c.Flags().Lookup(rest[last][2:]); f != nil && f.NoOptDefVal == "" {
			rest, mention = rest[:last], true
		}
	}
	if err := c.ParseFlags(rest); err != nil {
		t.Errorf("%s: cairn %s: %v", where, at, err)
	}
	for _, f := range regexp.MustCompile(`(?:^|[^[])--([a-z-]+)`).FindAllStringSubmatch(c.Use, -1) { // required flags
		mention = mention || !c.Flags().Changed(f[1])
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		mention = true
		if c.Flags().NArg() > 0 {
			t.Errorf("%s: cairn %s: %v", where, at, err)
		}
	}
	return mention || c.HasSubCommands()
}

// createNamed creates the objects that printed commands name, and returns the replacer that inserts their names.
func createNamed(t *testing.T, home string) *strings.Replacer {
	t.Helper()
	do := func(args ...string) string {
		t.Helper()
		code, out, stderr := cairn(t, args...)
		if code != 0 {
			t.Fatalf("%v: exit %d, %s", args, code, stderr)
		}
		return strings.TrimSpace(out)
	}
	rid := do("remember", "Alice leads payments")
	do("correct", rid, "Bob leads payments now", "--reason", "Alice moved on")
	for _, place := range []string{"Lisbon", "Oslo"} {
		do("claim", "Frank", "born_in", place)
	}
	do("think")
	var conflicts struct {
		Conflicts []struct {
			ID string `json:"conflict_id"`
		}
	}
	if err := json.Unmarshal([]byte(do("conflicts", "list", "--json")), &conflicts); err != nil || len(conflicts.Conflicts) == 0 {
		t.Fatalf("no conflict: %v", err)
	}
	task, old := do("tasks", "add", "Find out who is on call"), do("tasks", "add", "Read the roster")
	do("skills", "define", "release.notes.write",
		"Collect the merged changes since the last tag, and write one line for each.", "--skill-type", "procedure",
		"--applies-to", "release")
	do("backup", "--to", "DIR")
	do("backup", "--to", "backups")
	do("key", "new", "--output", "FILE")
	do("db", "create", "work")
	do("db", "create", "old")
	for name, text := range map[string]string{"documents.jsonl": `{"text": "Erin wrote the parser"}`,
		"memories.jsonl":             `{"text": "Judy repairs the crane"}`,
		"memory.jsonl":               `{"type":"entity","name":"Alice","entityType":"person","observations":["leads payments"]}`,
		"questions.txt":              "recall \"who leads payments?\"\nstats\n",
		"mem0.json":                  `{"results": [{"id": "1", "memory": "Dave plays chess", "user_id": "dave"}]}`,
		"notes/a.md":                 "Grace repairs the crane.",
		".claude/projects/w/s.jsonl": `{"type":"user","timestamp":"2026-11-26T10:00:00Z","sessionId":"s","uuid":"u","message":{"content":"Heidi tunes the organ"}}`,
		".codex/sessions/s.jsonl":    `{"timestamp":"2026-11-26T10:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":"Ivan paints the fence"}}`} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	session, edge := do("sessions", "start"), do("relate", "Alice", "leads", "payments")
	made := do("token", "create")
	do("context", "add", "prod", "--home", home)
	if err := os.CopyFS(filepath.Join(home, "models", "all-MiniLM-L6-v2"), os.DirFS(berttest.Small().Write(t))); err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("RID", rid, "OLD_TASK", old, "TASK", task, "SESSION", session, "EDGE", edge, "TOKEN", made,
		"CONFLICT", conflicts.Conflicts[0].ID, "./", "", "~/", "", "NAME", "all-MiniLM-L6-v2", "DB", "default",
		"/etc/cairn/master.key", "master.key.2", "$(date -u +%FT%TZ)", time.Now().UTC().Format(time.RFC3339),
		"$(cat cairn-data/token)", strings.TrimSpace(string(token)))
}
