package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestDesignNamesWhatIsThere checks that every Go file and test that a DESIGN.md names in backquotes exists: a file
// in that directory, below it, or at that path of the repository.
func TestDesignNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	suite.NotShort(t, "one goroutine, in which there is no race")
	root := filepath.Join(deployDir, "..")
	var files, pages []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.Name() == "DESIGN.md":
			pages = append(pages, path)
		case strings.HasSuffix(path, ".go"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := testsBelow(t, root)
	quoted, file, test := regexp.MustCompile("`[^`\n]+`"), regexp.MustCompile(`[\w./*-]+\.go\b`), regexp.MustCompile(`\bTest\w+`)
	for _, page := range pages {
		dir := filepath.Dir(page)
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range quoted.FindAllString(string(b), -1) {
			for _, name := range file.FindAllString(words, -1) {
				if !fileThere(files, root, dir, name) {
					t.Errorf("%s names %s, which does not exist", page, name)
				}
			}
			for _, name := range test.FindAllString(words, -1) {
				if !tests[name] {
					t.Errorf("%s names %s, which is no test", page, name)
				}
			}
		}
	}
	if len(pages) < 10 {
		t.Errorf("only %d pages were looked at", len(pages))
	}
}

// fileThere reports whether a name, which may contain a *, matches a file at that path of the repository, or in or
// below dir.
func fileThere(files []string, root, dir, name string) bool {
	for _, f := range files {
		if ok, _ := filepath.Match(filepath.Join(root, name), f); ok {
			return true
		}
		below, err := filepath.Rel(dir, f)
		if err != nil || strings.HasPrefix(below, "..") {
			continue
		}
		parts := strings.Split(below, string(filepath.Separator))
		for i := range parts {
			if ok, _ := filepath.Match(name, filepath.Join(parts[i:]...)); ok {
				return true
			}
		}
	}
	return false
}
