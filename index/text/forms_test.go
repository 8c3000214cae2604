package text

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// TestDecomposedLetters checks that texts with composed and with decomposed letters give the same terms.
func TestDecomposedLetters(t *testing.T) {
	for _, text := range []string{
		"한국어를 배우는 값", "서울에서 만나요", "가각갂", "が ガ ぱ パーティー", "Người bạn của tôi ở đâu", "फ़ैसला क़लम लड़का के",
		"שָׁלוֹם בְּרֵאשִׁית", "élève Ångström naïve",
		"caféBar PARSEÉtat HTTPÉtat2 résuméÉcole", "Ἀθῆνα ᾥδή", "йод ёлка їжак", "বাংলায় ড়", "தமிழ் கொ", "న్న ಕೊಂಡ കൊ",
		"น้ำ ที่", "ཀྱི", "ကို", "آب أحمد ئ", "för två år sedan",
	} {
		composed, decomposed := norm.NFC.String(text), norm.NFD.String(text)
		if got, want := terms(Analyze(decomposed)), terms(Analyze(composed)); got != want {
			t.Errorf("%q: got %q of decomposed letters, %q of composed ones", text, got, want)
		}
		if got, want := AnalyzeQuery(decomposed), AnalyzeQuery(composed); !slices.Equal(got, want) {
			t.Errorf("question %q: got %q of decomposed letters, %q of composed ones", text, got, want)
		}
	}
}

// finds reports whether a text has all terms of a question.
func finds(text, question string) bool {
	has := map[string]bool{}
	for _, t := range Analyze(text) {
		has[t.Term] = true
	}
	asked := AnalyzeQuery(question)
	return len(asked) > 0 && !slices.ContainsFunc(asked, func(term string) bool { return !has[term] })
}

// TestTextsInSeveralForms: a text in either form is found by a question in the other.
func TestTextsInSeveralForms(t *testing.T) {
	for name, pairs := range map[string][][2]string{
		"the long vowel of narrow kana": {{"ｻｰﾊﾞｰ", "サーバー"}},
		"radicals for characters":       {{"⽇本⼈", "日本人"}},
		"digits of other scripts": {{"عام ٢٠٢٤", "عام 2024"}, {"سال ۱۴۰۳", "سال 1403"},
			{"वर्ष २०२४", "वर्ष 2024"}, {"ปี ๒๕๖๗", "ปี 2567"}},
		"dates in digits of other scripts":  {{"٥ مارس ٢٠٢٤", "5 مارس 2024"}, {"٢٠٢٤-٠٣-٠٥", "2024-03-05"}},
		"what changes how a letter looks":   {{"1️⃣", "1"}, {"ᠮᠣ᠋ᠩ", "ᠮᠣᠩ"}, {"क\u034fष", "कष"}, {"က\u200dြ", "ကြ"}},
		"a stretched letter with its vowel": {{"بـِسم", "بسم"}, {"كـَتب", "كتب"}},
		"letters with and without a joiner": {{"അവൻ", "അവന്\u200d"}, {"উৎসব", "উত্\u200dসব"}},
		"the alef of the Quran":             {{"ٱلكتاب", "الكتاب"}, {"ٱبن", "ابن"}},
		"apostrophes": {{"компʼютер", "комп'ютер"}, {"Oʻzbekiston", "O'zbekiston"},
			{"O‘zbekiston", "O’zbekiston"}, {"Adaʼs laptop", "Ada's laptop"}},
		"hyphens": {{"E‑1234", "E-1234"}, {"e‐mail", "e-mail"}, {"2024‑03‑05", "2024-03-05"},
			{"gpt‑5‑mini", "gpt-5-mini"}},
		"Turkish capitals": {{"VE AMA İÇİN IŞIKLARIN NE", "ve ama için ışıkların ne"},
			{"BU VE O İLE SINIFTA", "bu ve o ile sınıfta"}},
		"ß between capitals": {{"die GRÖßE und die STRAßENBAHN", "die Größe und die Straßenbahn"}},
		"two letters in one": {{"wir ﬁnden das nicht", "wir finden das nicht"},
			{"nell'uﬃcio della ﬁglia", "nell'ufficio della figlia"}},
		"symbols that are letters":           {{"50 ㎐", "50 Hz"}},
		"the ending of a number in capitals": {{"March 5TH, 2024", "March 5th, 2024"}},
	} {
		for _, p := range pairs {
			for _, p := range [][2]string{p, {p[1], p[0]}} {
				if !finds(p[0], p[1]) {
					t.Errorf("%s: %q, %s, is not found by %q, %q", name, p[0], terms(Analyze(p[0])), p[1], AnalyzeQuery(p[1]))
				}
			}
		}
	}
}

// TestDatesInNames: a date is recognised inside a longer moment and inside a name.
func TestDatesInNames(t *testing.T) {
	has := func(text, term string) bool {
		return slices.ContainsFunc(Analyze(text), func(t Token) bool { return t.Term == term })
	}
	for _, text := range []string{"done at 2024-03-05T10:00:00Z", "2024-03-05T10:00:00.123+01:00", "see log/2024-03-05.txt",
		"backup_2024-03-05_1000", "2024-03-05-retro.md"} {
		for question, date := range map[string]string{"2024-03-05": "2024-03-05", "March 5, 2024": "2024-03-05",
			"5. März": "--03-05", "März 2024": "2024-03"} {
			if !slices.Contains(AnalyzeQuery(question), date) || !has(text, date) {
				t.Errorf("%q, %s, does not have %s of %q, %q", text, terms(Analyze(text)), date, question, AnalyzeQuery(question))
			}
		}
	}
	for _, text := range []string{"12024-03-05", "2024-03-051", "1-2024-03-05", "2024-03-05-1", "2024-13-05.txt"} {
		if has(text, "--03-05") {
			t.Errorf("%q has a date: %s", text, terms(Analyze(text)))
		}
	}
}

// TestPartsAreBounded: a text of long words that may begin anywhere again has no more terms than others of its size.
func TestPartsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("der die das und ist nicht ")
	for i := 0; b.Len() < 1<<20; i++ {
		for n := range 20 {
			b.WriteByte("bdfgkmnpst"[(i>>n/2+i*n+n)%10])
			b.WriteByte("aeiou"[(i>>n+i*n/3)%5])
		}
		b.WriteByte(' ')
	}
	tokens := Analyze(b.String())
	if len(tokens) > 10*MaxTokens {
		t.Errorf("got %d tokens", len(tokens))
	}
	if !finds("die Krankenversicherung und der Bahnhof", "krank versicherung") {
		t.Error("a word is not found by its parts")
	}
}
