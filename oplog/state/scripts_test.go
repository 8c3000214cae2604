package state

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// unscripted lists rejections that no script can cause, with the reason.
var unscripted = map[string]string{
	"metadata cannot be merged":                                                 "JSON that was read can be written",
	"merged metadata of %d bytes is over %d":                                    "a script would be unreadable; see TestMergedMetadataIsBounded",
	"%d memories to erase: at most %d at once":                                  "the same; the door refuses more than 1,000",
	"%s of %d is over %d":                                                       "the same; see oplog's TestEveryFieldIsBounded",
	"ids and names of %d bytes together are over %d: they would be a key of %s": "a script would be unreadable; see TestHostileFields",
	"idempotency key of %d bytes is over %d":                                    "the same",
}

var (
	entryLine = regexp.MustCompile(`^([a-z_]+)( \{.*)?$`)
	refusals  = regexp.MustCompile(`(?:Errorf\(|rejectf\(.*, )(?:oplog\.)?[A-Z]\w+, "((?:[^"\\]|\\.)*)"|&Error\{Kind: [A-Z]\w+, Text: "((?:[^"\\]|\\.)*)"`)
	verbs     = regexp.MustCompile(`%[sdqvx]`)
)

// noOperation lists files whose rejections no operation returns.
var noOperation = []string{"state.go", "restore.go", "range.go"}

// TestScriptsAreWhole compares testdata/apply with the operations: a script applies each operation, and a script gets
// each rejection that an operation can return.
func TestScriptsAreWhole(t *testing.T) {
	scripts, err := filepath.Glob("testdata/apply/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	scripted := map[string]bool{}
	var outputs []string
	for _, path := range scripts {
		raw, err := os.ReadFile(path)
		must(t, err)
		for block := range strings.SplitSeq(string(raw), "\n\n") {
			asked, answer, _ := strings.Cut(block, "\n----\n")
			outputs = append(outputs, strings.Split(answer, "\n")...)
			if !strings.Contains(answer, "changed=true") {
				continue // refused, or without an effect
			}
			for line := range strings.Lines(asked) {
				if m := entryLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
					scripted[m[1]] = true
				}
			}
		}
	}
	for _, k := range oplog.Reads() {
		if name := oplog.OpKind(k).String(); !scripted[name] {
			t.Errorf("no script in which %s (%d) changes anything", name, k)
		}
	}
	sources, _ := filepath.Glob("*.go")
	sources = slices.DeleteFunc(sources, func(path string) bool {
		return strings.HasSuffix(path, "_test.go") || slices.Contains(noOperation, path)
	})
	kinds, _ := filepath.Glob("../*_ops.go")
	seen := 0
	for _, path := range append(append(sources, kinds...), "../errors.go", "../limits.go") {
		raw, err := os.ReadFile(path)
		must(t, err)
		for _, m := range refusals.FindAllStringSubmatch(string(raw), -1) {
			text := m[1] + m[2]
			if unscripted[text] != "" {
				continue
			}
			seen++
			like := regexp.MustCompile(": " + verbs.ReplaceAllString(regexp.QuoteMeta(strings.ReplaceAll(text, `\"`, `"`)), ".*") + "$")
			if !slices.ContainsFunc(outputs, like.MatchString) {
				t.Errorf("%s: no script is answered %q", path, text)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d refusals were found in the sources", seen)
	}
}
