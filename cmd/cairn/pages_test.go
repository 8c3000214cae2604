package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityNamesItsTests: each line of the tables of deploy/SECURITY.md names tests, and all that it names are
// there.
func TestSecurityNamesItsTests(t *testing.T) {
	t.Parallel()
	pageNamesTests(t, "SECURITY.md")
}

// TestCorrectnessNamesItsTests: so does deploy/CORRECTNESS.md.
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
	named, rows := regexp.MustCompile(`\bTest\w+`), 0
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

// testsBelow are the names of the tests in a folder and below.
func testsBelow(t *testing.T, root string) map[string]bool {
	t.Helper()
	there := map[string]bool{}
	defined := regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)
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
