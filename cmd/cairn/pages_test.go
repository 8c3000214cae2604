package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSecurityNamesItsTests checks that each row of the tables of deploy/SECURITY.md names tests, and that all named
// tests exist.
func TestSecurityNamesItsTests(t *testing.T) {
	t.Parallel()
	pageNamesTests(t, "SECURITY.md")
}

// TestCorrectnessNamesItsTests checks the same for deploy/CORRECTNESS.md.
func TestCorrectnessNamesItsTests(t *testing.T) {
	t.Parallel()
	pageNamesTests(t, "CORRECTNESS.md")
}

func pageNamesTests(t *testing.T, name string) {
	t.Helper()
	there := testsBelow(t, filepath.Join(deployDir, ".."))
	page, err := os.ReadFile(filepath.Join(deployDir, name))
	if err != nil {
		t.Fatal(err)
	}
	named, rows := regexp.MustCompile(`\b(?:Test|Fuzz)\w+`), 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasSuffix(strings.TrimSpace(line), "| tests |") {
			continue
		}
		rows++
		names := named.FindAllString(line, -1)
		if len(names) == 0 {
			t.Errorf("no test is named for %s", line)
		}
		for _, name := range names {
			if !there[name] {
				t.Errorf("%s is no test; it is named for %s", name, line)
			}
		}
	}
	if rows < 10 {
		t.Errorf("only %d lines were looked at", rows)
	}
}

// testsBelow returns the names of the tests in a folder and its subfolders.
func testsBelow(t *testing.T, root string) map[string]bool {
	t.Helper()
	there := map[string]bool{}
	defined := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range defined.FindAllStringSubmatch(string(b), -1) {
			there[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// TestWorksWithIsTried checks that each row of the README's table "Works with" names existing tests, and that these
// tests use the settings and the version in the row.
func TestWorksWithIsTried(t *testing.T) {
	t.Parallel()
	root := filepath.Join(deployDir, "..")
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n### Works with\n")
	_, table, _ = strings.Cut(table, "\n| client |")
	table, _, _ = strings.Cut(table, "\n\n")
	there, run := testsBelow(t, root), whatTestsRun(t, root)
	named, code, rows := regexp.MustCompile(`\bTest\w+`), regexp.MustCompile("`([^`]+)`"), 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		rows++
		names := named.FindAllString(line, -1)
		if len(names) == 0 {
			t.Errorf("no test is named for %s", line)
		}
		for _, name := range names {
			if !there[name] {
				t.Errorf("%s is no test; it is named for %s", name, line)
			}
		}
		for _, m := range code.FindAllStringSubmatch(line, -1) {
			if set := plainCode(strings.NewReplacer("http://127.0.0.1:7438", "", "cairn connect", "connect").Replace(m[1])); !strings.Contains(run, set) {
				t.Errorf("no test runs %s of %s", m[1], line)
			}
		}
	}
	if rows < 10 {
		t.Errorf("only %d lines were looked at", rows)
	}
}

// plainCode converts the arguments of a function call into the words of a command.
func plainCode(s string) string { return strings.NewReplacer(`"`, "", ",", "").Replace(s) }

// whatTestsRun returns the text of all tests, of the scripts that they run, and of .ci/run.
func whatTestsRun(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		script := slices.Contains([]string{".js", ".mjs", ".mts", ".py"}, filepath.Ext(path)) &&
			regexp.MustCompile(`/(test|testdata)/`).MatchString(filepath.ToSlash(path))
		if !script && !strings.HasSuffix(path, "_test.go") && d.Name() != "run" {
			return nil
		}
		b, err := os.ReadFile(path)
		all.WriteString(plainCode(string(b)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
