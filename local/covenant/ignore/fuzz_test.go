package ignore

import (
	"strings"
	"testing"
)

// For any rules and text, Check returns a line of the rules, and that rule alone gives the same result. Without a
// matching rule, no text is ignored.
func FuzzCheck(f *testing.F) {
	f.Add("**/*.key\n!keep.key\n/x", "certs/server.key and more")
	f.Add("secret**word\nsecret*word\n?", "secret pass/word")
	f.Add(strings.Repeat("*a", 50), strings.Repeat("a", 200)+"b")
	f.Add("\\\xff\n#\n!\n//", "\x00\xff")
	f.Fuzz(func(t *testing.T, rules, text string) {
		ignored, line := Parse(rules).Check(text)
		if line == "" {
			if ignored {
				t.Fatal("ignored by nothing")
			}
			return
		}
		if again, same := Parse(line).Check(text); again != ignored || same != line {
			t.Fatalf("%q said %v, alone %v by %q", line, ignored, again, same)
		}
	})
}
