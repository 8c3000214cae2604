package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cairndb/cairn/index"
)

// TestQuestion: what is read of a long text is a whole number of its characters.
func TestQuestion(t *testing.T) {
	for _, unit := range []string{"a", "é", "語", "🪨", "ab語", "\xff", "\x80"} {
		for _, n := range []int{0, 1, index.MaxQuestion - 1, index.MaxQuestion, index.MaxQuestion + 1, 1 << 20} {
			s := strings.Repeat(unit, n/len(unit)+1)[:n]
			got := index.Question(s)
			if !strings.HasPrefix(s, got) || len(got) < min(n, index.MaxQuestion-utf8.UTFMax) || len(got) > index.MaxQuestion {
				t.Fatalf("%q, %d bytes: %d are read", unit, n, len(got))
			}
			if last, size := utf8.DecodeLastRuneInString(got); utf8.ValidString(s) && last == utf8.RuneError && size == 1 {
				t.Errorf("%q, %d bytes: it ends in %q", unit, n, got[len(got)-4:])
			}
		}
	}
}

// TestScripts: questions in many scripts, and such as make no sense.
func TestScripts(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	for i, text := range []string{
		"func parseHTTPRequest in net/http/request.go returns ERR_CONN_RESET", "東京都に住んでいます", "الكتاب على الطاولة",
		"🚀 launch at café Müller", "ne\u0301e in Paris", "emoji 👍🏽 only", "\x00\x01 control \x7f characters",
	} {
		l.add(1, remember(fmt.Sprint("m", i), text))
	}
	long := strings.Repeat("longwinded sentences about nothing 東京 🚀 e\u0301 ", 1<<20/50)
	l.add(1, remember("long", "beginning"+fmt.Sprint(1)+" "+long[:1<<20-40]+" ending1"))
	r.apply(l.records, 3)
	if got := r.found("beginning1"); !slices.Equal(got, []string{"long"}) {
		t.Errorf("a text of a mebibyte is found as %v", got)
	}
	for q, want := range map[string]string{
		"parseHTTPRequest": "m0", "http request": "m0", "request.go": "m0", "err_conn_reset": "m0", "東京": "m1", "京": "m1", "كتاب": "m2",
		"CAFE MULLER": "m3", "🚀": "m3", "née": "m4", "nee": "m4", "👍": "m5", "control": "m6",
	} {
		if got := r.found(q); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v, want %s", q, got, want)
		}
	}
	for _, q := range []string{"", " ", "a", "\x00", strings.Repeat("word ", 10_000), strings.Repeat("x", 1<<20), "\xff\xfe"} {
		r.ask(index.Query{Text: q, K: 5}) // bounded, and not an error
	}
}
