package console

import (
	"io/fs"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// asMarkup matches code that turns text into markup or code, or loads a resource from another host.
var asMarkup = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\beval\(|new Function|javascript:|<script>|<style|style="|\son[a-z]+="|https?://(www\.w3\.org/2000/svg)?`)

// TestConsoleFiles: no page of the console turns text of users into markup, has inline scripts or styles, or names
// another host.
func TestConsoleFiles(t *testing.T) {
	t.Parallel()
	seen := 0
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		seen++
		b, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(b), "\n") {
			for _, found := range asMarkup.FindAllString(line, -1) {
				if found != "http://www.w3.org/2000/svg" { // the name of a kind of document
					t.Errorf("%s:%d: %s", path, i+1, found)
				}
			}
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// TestQueries: a form puts its fields into the query of a request as every client of the gateway does: objects as
// JSON, and lists as one parameter for each value.
func TestQueries(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	out, err := exec.CommandContext(t.Context(), "node", "--input-type=module", "--eval", `import { query } from "./code.js";
console.log(decodeURIComponent(query({ filter: { project: "atlas" }, names: ["a", "b,c"], limit: 5, full: true, min_index: "9007199254740993" })) + "|" + query({}))`).CombinedOutput()
	if want := "filter={\"project\":\"atlas\"}&names=a&names=b,c&limit=5&full=true&min_index=9007199254740993|\n"; err != nil ||
		string(out) != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}
