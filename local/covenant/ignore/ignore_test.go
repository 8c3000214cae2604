package ignore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rules, text string
		ignored     bool
		line        string
	}{
		{"id_rsa", "summarize ~/.ssh/id_rsa for me", true, "id_rsa"},
		{"/.env", "see .env file", false, ""},
		{"/.env", ".env file", true, "/.env"},
		{"**/.env", ".env", false, ""},
		{"**/.env", "src/.env", true, "**/.env"},
		{"**/*.key", "server.key", false, ""},
		{"**/*.key", "certs/server.key and more", true, "**/*.key"},
		{"*.log\n!keep.log", "keep.log", false, "!keep.log"},
		{"!*.tmp\n*.tmp", "scratch.tmp", true, "*.tmp"},
		{"secret*word", "secret pass/word", false, ""},
		{"secret**word", "secret pass/word", true, "secret**word"},
		{"SECRET", "secret", false, ""},
		{"a?c", "xabcx", true, "a?c"},
		{"a?c", "a/c", false, ""},
		{"!/x", "x", false, "!/x"},
		{"  # no\n\n/\n!\n!/\n", "anything", false, ""},
		{"abc", "", false, ""},
		{"*", "", true, "*"},
	} {
		ignored, line := Parse(c.rules).Check(c.text)
		if ignored != c.ignored || line != c.line {
			t.Errorf("%q on %q: %t %q, want %t %q", c.rules, c.text, ignored, line, c.ignored, c.line)
		}
	}
	if n := len(Parse(Seed)); n != 12 {
		t.Errorf("the first file has %d rules, want 12", n)
	}
	if n := len(Parse("a\n!b\n#c\n/\n")); n != 2 {
		t.Errorf("%d rules loaded, want 2", n)
	}
}

func TestStarsAreFast(t *testing.T) {
	text := strings.Repeat("a", 1<<14)
	if ignored, _ := Parse("/" + strings.Repeat("a*", 1000) + "b").Check(text); ignored {
		t.Error("matched")
	}
	text = strings.Repeat("a", 1<<20)
	for _, p := range []string{"**/.env", "a*b", "a**b", "**b*c", "**a/", "?*?*b"} {
		for _, s := range []string{text, text + "/", text + "b/"} {
			Parse(p).Check(s) // takes milliseconds; quadratic matching would not end in time
		}
	}
}

func TestFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".covenantignore")
	if err := Ensure(path); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		t.Helper()
		r, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		return len(r)
	}
	if n := count(); n != 12 {
		t.Errorf("%d rules, want the first file's 12", n)
	}
	if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 1 {
		t.Errorf("%d rules after a change, want 1", n)
	}
	os.Remove(path)
	if n := count(); n != 0 {
		t.Errorf("%d rules without a file", n)
	}
}
