package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cairndb/cairn/oplog/suite"
)

func terms(tokens []Token) string {
	var out []string
	for _, t := range tokens {
		s := t.Term
		if t.Extra {
			s = "+" + s
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestAnalyze(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"The cats were running home", "cat run home"},
		{"Bob's O'Brien don't we'll l’avion", "bob +o'brien brien +l'avion avion"},
		{"who are you", "who are you"}, // nothing but stop words stays findable
		{"", ""},
		{"\x00\x01 \t", ""},
		{"parseHTTPRequest", "+parsehttprequest pars http request"},
		{"URLs APIs, VMs", "url api vm +vms"}, // the acronym, and the plural in lower case
		{"parseURLs listVMs OS", "+parseurls +parseurl pars url +listvms +listvm list vm +vms os"},
		{"iPhone macOS YouTube", "+iphone +iphon phone +macos +maco mac os +youtube +youtub tube"}, // also as one word in lower case
		{"front-end log-ins Node.js U.S.A.", "+frontend front end +login log in +node.js +nodej node js u.s.a +usa"},
		{"src/front-end 555-1234", "+src/front-end src front end +555-1234 +5551234 555 1234"},
		{"colourful Organisations children indices", "color organ children index"},
		{"Die VMs und die Stadt", "die vm +vms und die stadt"},
		{"snake_case_name", "+snake_case_name snake case name"},
		{"index/text/a.go", "+index/text/a.go index text go"},
		{"C:\\Users\\bob", "c +users\\bob user bob"},
		{"ERR_CONN_RESET E1234 utf8", "+err_conn_reset err conn reset e1234 utf8"},
		{"v1.2.3 10.5", "+v1.2.3 +1.2.3 v1 +10.5 10"},
		{"mail bob@example.com.", "mail +bob@example.com bob exampl com"},
		{"https://host.io/a/path?x=12#frag", "https +host.io/a/path host io path x 12 frag"},
		{"C++ and C# code", "c++ c# code"},
		{"naïve CAFÉ ﬁne Straße Łódź", "naiv cafe fine +fin strass lodz"},
		{"cafe\u0301 soft\u00adware zero\u200bwidth", "cafe softwar zero width"},
		{"ＦＵＬＬ ｗｉｄｔｈ", "full width"},
		{"東京都", "+東 東京 +京 京都 +都"},
		{"東", "東"},
		{"東京go言語", "+東 東京 +京 go +言 言語 +語"},
		{"ｶﾞｷﾞ", "+ガ ガギ +ギ"},
		{"한국어", "+한 한국 +국 국어 +어"},
		{"ภาษา", "+ภ ภา +า าษ +ษ ษา +า"},
		{"Привет ёлка", "привет елка"},
		{"الكتاب كتاب", "كتاب كتاب"},
		{"हिन्दी", "हिन्दी +हिंद"}, // two spellings and their stems
		{"हिंदी में लड़कों के घरों", "हिंदी +हिंद में लड़कों +लडक के घरों +घर"},
		{"în orașele mari și în oraşul mic", "orasel +oras mari +mar si orasul +oras mic"},
		{"Nhà của người bạn ở đâu", "nha +nhà cua +của nguoi +người ban +bạn o +ở dau +đâu"},
		{"nhà má mà", "nha ma ma"}, // other languages have these letters, so each may be without tone
		{"ship 🚀🇫🇷 👍🏽 ❤️", "ship 🚀 🇫🇷 👍 ❤"},
		{"bad\xff\xfeutf8", "bad utf8"},
		{"ΟΔΟΣ οδος", "οδοσ οδοσ"},
		{"March 5th, 2024", "march +2024-03-05 +--03-05 +2024-03 5th 2024"},
		{"2024年3月5日", "2024 年 3 月 +2024-03-05 +--03-05 +2024-03 5 日"},
		{"2024년 3월 5일", "2024 년 3 월 +2024-03-05 +--03-05 +2024-03 5 일"},
		{"2024年10月, 3月5日", "2024 年 10 月 +2024-10 3 月 +--03-05 5 日"},
		{"3月に, 13月5日, 3月5, 12024年3月", "3 +月 月に +に 13 月 5 日 3 月 5 12024 年 3 月"}, // no dates
		{"2024-03-05", "+2024-03-05 +--03-05 +2024-03 2024 03 05"},
		{"She met him and bought skates", "meet buy skate"},
		{"How long are logs kept", "long log keep"},
		{"E-1234", "+e1234 1234"},
		{"1,000,000 euros, 12,345.50 or 1,2,3 and 1,0000 rows", "1000000 euro 12345 50 1 2 3 1 0000 row"},
		{"dont ask why it isnt done", "ask done"},
		{"Kitaplarımız nerede", "kitaplarimiz +kitap nered +nere"},
		{"بمكتبتهم", "بمكتبتهم +بمكتب"},
	} {
		if got := terms(Analyze(c.text)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestAnalyzeQuery(t *testing.T) {
	if got, want := AnalyzeQuery("東京 東 cat cats"), []string{"東京", "東", "cat"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for question, want := range map[string][]string{
		"người bạn ở đâu": {"người", "bạn", "đâu"}, // tones tell words apart
		"हिंदी में घर":    {"हिंद", "घर"},          // without function words, by stems
		"где наш дом":     {"наш", "дом"},
	} {
		if got := AnalyzeQuery(question); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", question, got, want)
		}
	}
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "word%d ", i)
	}
	if got := AnalyzeQuery(b.String()); len(got) != MaxQueryTokens {
		t.Errorf("got %d terms, want %d", len(got), MaxQueryTokens)
	}
}

func TestAnalyzeIsBounded(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	for name, piece := range map[string]string{
		"words": "many different words ", "camel": "aB", "one": "x", "connectors": "a.b_c/", "parts": "aa.bb_cc/",
		"cjk": "漢字", "marks": "a\u0301\u0302", "emoji": "🚀",
		"months": "1月 ", "ligature": "\ufdfa", "stops": "the ", "invalid": "\xf0\x90",
	} {
		text := strings.Repeat(piece, 1<<19/len(piece))
		counted := 0
		for _, tok := range Analyze(text) {
			if !tok.Extra {
				counted++
			}
			if len(tok.Term) > maxTermBytes || !utf8.ValidString(tok.Term) {
				t.Fatalf("%s: bad term %q", name, tok.Term)
			}
		}
		if counted > MaxTokens {
			t.Errorf("%s: %d tokens", name, counted)
		}
		if d := new(analyzer).document(text); len(d.terms) > 0 && d.length == 0 {
			t.Errorf("%s: terms without a length", name)
		}
	}
}

func TestLongTermsStayApart(t *testing.T) {
	a, b := strings.Repeat("x", 500)+"1", strings.Repeat("x", 500)+"2"
	x, y := Analyze(a), Analyze(b)
	if len(x) != 1 || len(y) != 1 || x[0].Term == y[0].Term || x[0].Term != Analyze(a)[0].Term {
		t.Errorf("got %v and %v", x, y)
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{"parseHTTPRequest v1.2", "\u093c", "क \u094d", "東京ｶﾞ", "\xff'’s", "e\u0301\u200d", "ภาษา 🇫🇷🇫",
		"x'", "ﷺ", "क" + strings.Repeat("a", 97)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tokens := Analyze(s)
		for _, tok := range tokens {
			if tok.Term == "" || len(tok.Term) > maxTermBytes || tok.Start < 0 || tok.End > len(s) || tok.Start >= tok.End {
				t.Fatalf("%q: bad token %+v", s, tok)
			}
		}
		stored := make(map[string]bool)
		for _, tok := range tokens {
			stored[tok.Term] = true
		}
		for _, term := range AnalyzeQuery(s) {
			if !stored[term] {
				t.Fatalf("%q: a text is not found by its own term %q", s, term)
			}
		}
	})
}
