package text

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/hi"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
	"golang.org/x/text/unicode/norm"
)

// A language says how to read a text that is not English, in addition to the reading that every text gets: its own
// endings are cut off, and long words of a language that writes nouns together are found by their parts.
type language struct {
	stem      func(*snowballstem.Env) bool
	letters   string // that English does not have
	functions string // words that say which language a text is in, and little else
	endings   string // of its longer words; used only for texts without English words
	compounds bool
}

// languages holds the languages of the Latin script in the order that decides ties, then those known by their script.
var languages = [...]language{
	{german.Stem, "äöüß", `der die das den dem des ein eine einen einem einer und oder aber ist sind war waren wird werden wurde hat haben
		hatte ich du er sie es wir ihr mein meine meinen sein seine unser nicht kein keine mit von vom zu zum zur auf aus bei beim nach
		fur uber unter vor wie wo wann wer was welche welcher welches warum im am als auch noch nur sich dass mir mich`, "ung ungen lich keit heit schaft isch chen eln ern", true},
	{dutch.Stem, "ëï", `de het een en of maar is zijn was waren wordt worden werd heeft hebben had ik jij je hij zij ze wij we mijn onze niet
		geen met van naar op uit bij voor over onder hoe waar wanneer wie wat welke waarom te ook nog aan door dat die er om als`, "ing heid lijk ende tje ijn", true},
	{swedish.Stem, "åäöøæ", `och eller men ar var blir har hade jag du han hon vi ni min mitt mina inte ingen med av till pa ur hos for over
		under hur nar vem vad vilken varfor att som en ett den det de i om`, "ning arna erna orna het ade", true},
	{finnish.Stem, "äö", `ja tai mutta on ovat oli olivat ei en et emme ole olen mina sina han me te he minun sinun meidan kanssa missa mista
		mihin milloin kuka mika mita miksi miten kuinka jos kun etta myos vain se sen tama taman joka jotka`, "ssa lla sta lta lle aan een iin uun tta issa illa jen inen set", true},
	{turkish.Stem, "ğşıçöüİ", `ve veya ama icin ile bir bu su o ben sen biz siz onlar benim senin bizim ne nerede nereye nereden kim nasil
		neden zaman hangi mi mu var yok degil gibi daha cok en de da ki kadar sonra once`, "lar ler lari leri nda nde dan den iyor uyor di du ti mak mek imiz iniz nin nun unu ini", false},
	{french.Stem, "éèêàçùâîôû", `le la les un une des du de et ou mais est sont etait ete a ont avait je tu il elle nous vous ils elles mon ma
		mes notre ne pas avec pour par sur dans chez sans comment quand qui que quoi quel quelle pourquoi au aux ce cette ses son sa`, "tion ment eau eux ique", false},
	{spanish.Stem, "ñáíóúé", `el la los las un una unos unas de del y o pero es son era fue ha han yo tu ella nosotros mi mis nuestro no con
		por para en sobre sin como donde cuando quien que cual al se su sus lo le esta este`, "cion mente idad ado ada aron", false},
	{italian.Stem, "àèìòù", `il lo la i gli le un uno una di del della dei delle e o ma sono era ha hanno io tu lui lei noi mio mia nostro non
		con per in su senza come dove quando chi che quale perche al alla nel nella si`, "zione mente ita ato ata", false},
	{portuguese.Stem, "ãõâêçáéíóú", `o a os as um uma de do da dos das e ou mas eu tu ele ela nos meu minha nosso nao com por para em no na
		sobre sem como onde quando quem que qual ao se foi era tem`, "cao mente idade ado ada aram", false},
	{romanianStem, "ăâîșțşţ", `si sau dar este sunt au fost noi lui nu cu pentru pe din in la de al ale ce cine unde cati cate sa se unei unui ca
		prin dupa despre intre acest aceasta acesta mai cea`, "tie tii ului ilor elor area esc este eaza ati", false},
	{asWritten, vietnameseLetters, `của không những được trong với các một cũng như nào là và ở thì này đó tại đã có gì`, "", false},
	{stem: hindi, functions: `का की के को में से पर ने है हैं था थी थे और या एक यह वह ये वे इस उस इन उन इसके उसके जो कि कौन क्या कब कहाँ कहां कैसे क्यों किस किसने किसे कितने कितनी कितना
		सा सी होता होती होते हुआ हुई हुए गया गई गए कर करने किया लिए साथ भी ही तो तक द्वारा अपने अपनी अपना`},
	{stem: lightArabic, functions: `في من على إلى عن مع هذا هذه ذلك تلك التي الذي هو هي هم كان كانت ما ماذا متى أين كيف كم هل أي لماذا و أو ثم أن إن لا لم قد`},
	{stem: russian.Stem, functions: `и в во не на с со что как а то он она они оно его ее их к ко у из от до по за о об для же бы или но мы вы я ты это этот эта эти был была было
		были быть есть кто где когда какой какая какие какое каком какого какую сколько почему при так также чем чего кем ли`},
}

// vietnameseLetters hold the marks of Vietnamese, of which most are in no other language.
const vietnameseLetters = "ăâđêôơưảạấầẩẫậắằẳẵặẻẽẹếềểễệỉĩịỏọốồổỗộớờởỡợủũụứừửữựỷỹỵ"

const (
	finnishWords   = 3
	turkishWords   = 4
	vietnamese     = 10 // its marks tell words apart
	hindiScript    = len(languages) - 3
	arabicScript   = len(languages) - 2
	cyrillicScript = len(languages) - 1
	latinScripts   = hindiScript
	englishWord    = 1 << 15 // the other bits are languages
)

// functionWords maps folded words to the languages in which they are function words.
var functionWords = func() map[string]uint16 {
	m := make(map[string]uint16)
	for w := range stops {
		m[w] = englishWord
	}
	for i, l := range languages {
		for _, w := range strings.Fields(l.functions) {
			if i != vietnamese {
				w = fold(w)
			}
			m[w] |= 1 << i
		}
	}
	return m
}()

var languageLetters = func() map[rune]uint16 {
	m := make(map[rune]uint16)
	for i, l := range languages {
		for _, r := range l.letters {
			m[r] |= 1 << i
		}
	}
	return m
}()

// A tally counts the evidence for each language in a text.
type tally struct {
	english int
	other   [latinScripts]int
	scripts bool // a word in a script of its own language was met
}

func (t *tally) word(mask uint16) {
	if mask&englishWord != 0 {
		t.english += 2
	}
	for mask &= 1<<latinScripts - 1; mask != 0; mask &= mask - 1 {
		t.other[bits.TrailingZeros16(mask)] += 2
	}
}

// letters counts a word that is not ASCII: once for each language with one of its letters, twice for a language that
// is the only one with that letter.
func (t *tally) letters(word string) {
	var matching, unique uint16
	for _, r := range norm.NFC.String(word) {
		if mask, ok := languageLetters[unicode.ToLower(r)]; ok {
			if matching |= mask; mask&(mask-1) == 0 {
				unique |= mask
			}
		} else if scriptOf(r) >= 0 {
			t.scripts = true
			return
		}
	}
	for i := range t.other {
		t.other[i] += int(matching>>i&1 + unique>>i&1)
	}
}

// language returns the language of a text's Latin words; -1 when it is English or too little is known.
func (t *tally) language() int {
	best, highest := -1, max(t.english, 1)
	for i, n := range t.other {
		if n > highest {
			best, highest = i, n
		}
	}
	return best
}

// scriptOf returns the language that a letter's script stands for; -1 for other scripts. Persian and Urdu are read as
// Arabic, Marathi and Nepali as Hindi: texts and questions lose the same endings.
func scriptOf(r rune) int {
	switch {
	case r < 0x400:
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillicScript
	case unicode.Is(unicode.Arabic, r):
		return arabicScript
	case unicode.Is(unicode.Devanagari, r):
		return hindiScript
	}
	return -1
}

// readings adds the terms that the text's own language makes of its words.
func (a *analyzer) readings() {
	if a.tally.english == 0 && len(a.tokens) <= fewTokens {
		a.endings()
	}
	latin := a.tally.language()
	if latin < 0 && !a.tally.scripts {
		return
	}
	plain := a.rewrite()
	for _, t := range plain {
		raw := singular(a.text[t.Start:t.End])
		first, _ := utf8.DecodeRuneInString(raw)
		lang := latin
		if s := scriptOf(first); s >= 0 {
			lang = s
		}
		if t.Extra || lang < 0 || classOf(first) != classWord || !onlyLetters(raw) {
			a.tokens = append(a.tokens, t)
			continue
		}
		stem := capTerm(a.languageStem(lang, raw))
		if a.query && stem != "" && (lang == vietnamese || lang >= latinScripts) {
			t.Term = stem // every text with the word has this term; for one without marks see candidates
		}
		if a.query && functionWords[t.Term]>>lang&1 != 0 {
			continue
		}
		a.tokens = append(a.tokens, t)
		if stem != t.Term {
			a.push(stem, t.Start, t.End, true)
		}
		if languages[lang].compounds && !a.query {
			a.addCompoundParts(lang, fold(raw), t)
		}
	}
	if len(a.tokens) == 0 { // a question of function words alone searches for them: texts keep those that are not English
		a.tokens, a.spare = plain, a.tokens
	}
}

// fewTokens is the largest number of tokens of a text whose language may show in its endings alone.
const fewTokens = 16

// endings counts the endings of words as evidence for a language.
func (a *analyzer) endings() {
	for _, t := range a.tokens {
		if t.Extra || t.End-t.Start < 6 {
			continue
		}
		word := fold(a.text[t.Start:t.End])
		for i := range latinScripts {
			for _, e := range languageEndings[i] {
				if strings.HasSuffix(word, e) {
					a.tally.other[i]++
					break
				}
			}
		}
	}
}

var languageEndings = func() (all [latinScripts][]string) {
	for i := range all {
		all[i] = strings.Fields(languages[i].endings)
	}
	return all
}()

var stackedEndings = slices.Concat(languageEndings[finnishWords], languageEndings[turkishWords])

// lightArabic strips what is written together with an Arabic word: "and", "in the", "like the", "for the", the
// article, possessives, and the endings of the feminine and the plural.
func lightArabic(env *snowballstem.Env) bool {
	w := fold(env.Current())
	for _, p := range [...]string{"وبال", "ولل", "وال", "فال", "بال", "كال", "لل", "ال", "و"} {
		if rest, ok := strings.CutPrefix(w, p); ok && utf8.RuneCountInString(rest) >= stemLetters {
			w = rest
			break
		}
	}
	for _, endings := range [...][]string{{"هما", "كما", "ها", "هم", "هن", "كم", "نا", "ني", "ات", "ان", "ون", "ين", "يه", "ه", "ي", "ك"}, {"ات", "ت"}} {
		for _, e := range endings {
			if rest, ok := strings.CutSuffix(w, e); ok && utf8.RuneCountInString(rest) >= stemLetters {
				w = rest
				break
			}
		}
	}
	env.SetCurrent(w)
	return true
}

// asWritten is the stemmer of languages whose words are not changed.
func asWritten(*snowballstem.Env) bool { return true }

// cedillas are the letters that the Romanian stemmer knows for those with a comma below.
var cedillas = strings.NewReplacer("ș", "ş", "ț", "ţ")

func romanianStem(env *snowballstem.Env) bool {
	env.SetCurrent(cedillas.Replace(env.Current()))
	return romanian.Stem(env)
}

// hindi normalises the spelling of a Hindi word, and cuts its endings off.
func hindi(env *snowballstem.Env) bool {
	word := analysis.TokenStream{{Term: []byte(env.Current())}}
	for _, f := range hindiFilters {
		word = f.Filter(word)
	}
	env.SetCurrent(string(word[0].Term))
	return true
}

var hindiFilters = [...]analysis.TokenFilter{hi.NewHindiNormalizeFilter(), hi.NewHindiStemmerFilter()}

// onlyLetters reports whether a word is letters and marks alone.
func onlyLetters(word string) bool {
	for _, r := range word {
		if !unicode.IsLetter(r) && !unicode.Is(unicode.M, r) && classOf(r) != classIgnored {
			return false
		}
	}
	return true
}

// maxStemBytes is the longest word whose endings are cut off.
const maxStemBytes = 120

func (a *analyzer) languageStem(lang int, word string) string {
	if word = norm.NFKC.String(word); len(word) > maxStemBytes {
		return fold(word)
	}
	lower := strings.ToLower
	if lang == turkishWords {
		lower = turkishLower // a capital I is the capital of ı
	}
	stem := a.stem.of(lang, lower(word))
	if lang == vietnamese {
		return stem
	}
	return fold(stem)
}

func turkishLower(word string) string { return strings.ToLowerSpecial(unicode.TurkishCase, word) }

const (
	partLetters  = 3  // of a part of a compound
	wholeLetters = 8  // of a compound
	longCompound = 40 // letters; a longer one is not a word
)

// addCompoundParts adds the parts of a word that may be a compound: the letters before and after each place where a
// word may begin. Some of these are not words; no question asks for them.
func (a *analyzer) addCompoundParts(lang int, word string, t Token) {
	if len(word) < wholeLetters || len(word) > longCompound || !ascii(word) {
		return
	}
	before := len(a.tokens)
	defer func() { a.pieces += len(a.tokens) - before }()
	for i := partLetters; i+partLetters <= len(word) && a.pieces < maxPieces; i++ {
		left, right := word[:i], word[i:]
		if !wordMayEnd(left) || !wordMayBegin(right) {
			continue
		}
		for _, link := range [...]string{"", "s", "n", "en"} {
			if bare, ok := strings.CutSuffix(left, link); ok && len(bare) >= partLetters {
				a.push(a.stem.stem(bare), t.Start, t.End, true)
			}
		}
		base := a.stem.stem(right)
		a.push(base, t.Start, t.End, true)
		if stem := a.languageStem(lang, right); stem != base {
			a.push(stem, t.Start, t.End, true)
		}
	}
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const vowels = "aeiouy"

// onsets are the groups of consonants that a German, Dutch, Swedish or Finnish word begins with.
var onsets = func() map[string]bool {
	m := make(map[string]bool)
	for _, s := range strings.Fields(`bl br dr dw fj fl fr gl gn gr kl kn kr kv pf pfl pfr ph pl pr qu sch schl schm schn schr schw sj sk skr sl sm sn sp
		spl spr st str sv th tr tv tw vl vr wr zw kw ch chr`) {
		m[s] = true
	}
	return m
}()

// wordMayBegin reports whether a word may begin with these letters.
func wordMayBegin(s string) bool {
	n := strings.IndexAny(s, vowels)
	return n >= 0 && (n < 2 || onsets[s[:n]])
}

// wordMayEnd reports whether a word may end with these letters: it has a vowel, and behind it no r, l, n or w that
// follows a consonant they do not follow at an end.
func wordMayEnd(s string) bool {
	last := strings.LastIndexAny(s, vowels)
	if last < 0 {
		return false
	}
	end := s[last+1:]
	switch {
	case len(end) < 2:
		return end != "j" && end != "q"
	case len(end) > 4:
		return false
	}
	return !strings.ContainsAny(end[len(end)-1:], "rlwjqv") || end == "rl" || end == "ll" || end == "rr"
}
