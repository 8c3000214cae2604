package fold

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestLowerIsPinned: the hash of the folds of all runes equals that of the time when the table was made.
func TestLowerIsPinned(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) {
			all.WriteRune(r)
		}
	}
	folded := Lower(all.String())
	const want = "137590953b837f1ec8b7c02b3a0425d0789df789a59ad256e7a63416f9fc4c11"
	if sum := sha256.Sum256([]byte(folded)); hex.EncodeToString(sum[:]) != want {
		t.Errorf("all runes fold to %x", sum)
	}
	if unicode.Version == "15.0.0" && folded != strings.ToLower(all.String()) {
		t.Error("the table is not that of Unicode 15.0.0")
	}
	for in, want := range map[string]string{"": "", "Alice": "alice", "ÀÉÎ": "àéî", "ŒUVRE": "œuvre", "ΣΊΣΥΦΟΣ": "σίσυφοσ",
		"İ": "i", "Straße": "straße", "ẞ": "ß", "ДОМ": "дом",
		"Ǆ": "ǆ", "Ԯ": "ԯ", "Ꭰ": "ꭰ", "a\xffB": "a\uFFFDb", "日本": "日本"} {
		if got := Lower(in); got != want {
			t.Errorf("%q folds to %q, not %q", in, got, want)
		}
	}
}
