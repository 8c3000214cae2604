package text

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Limits of the analysis. They are part of the index format: two nodes that
// differ in them would rank differently.
const (
	// MaxTokens limits the counted tokens of one text that are indexed; what follows the token that reaches it is not
	// searchable.
	MaxTokens = 32768
	// MaxQueryTokens limits the distinct terms of a query that are looked at: the first ones in reading order.
	MaxQueryTokens = 512
	// maxPieces limits the parts of long words of one text that are indexed: a text in German has about five a word.
	maxPieces = 8 * MaxTokens
	// maxTermBytes is the longest term kept whole; a longer one becomes a prefix and a hash.
	maxTermBytes = 96
	// maxStops limits the stop words that are remembered in case nothing else remains.
	maxStops = 64
	// maxCamelBytes is the longest piece searched for case boundaries: beyond it is data, not a name.
	maxCamelBytes = 64
)

// A Token is one term of a text and the bytes of the text it came from.
type Token struct {
	Term       string
	Start, End int
	// Extra marks a second reading of bytes that other tokens cover as well: the
	// exact form of an identifier, or one character of a longer CJK run. It is
	// searchable and has a frequency, but does not count in the text's length.
	Extra bool
}

// Analyze returns the tokens of a text as the index stores them, in reading
// order (an exact form precedes its parts). It is a pure function.
func Analyze(text string) []Token {
	a := analysers.Get().(*analyzer)
	defer a.giveBack()
	return slices.Clone(a.analyse(text))
}

// AnalyzeQuery returns the distinct terms a query asks for, in reading order,
// at most MaxQueryTokens. It differs from Analyze in that a CJK run of two or
// more characters asks for its bigrams only.
func AnalyzeQuery(text string) []string {
	terms, _ := analyzeQuery(text)
	return terms
}

// analyzeQuery also maps each term that is a second reading of a word to the term that every text has for that word.
func analyzeQuery(text string) (terms []string, readings map[string]string) {
	a := analysers.Get().(*analyzer)
	a.query = true
	defer a.giveBack()
	seen := make(map[string]struct{})
	tokens := a.analyse(text)
	for i, t := range tokens {
		reading := t.Extra && i > 0 && tokens[i-1].Start == t.Start && tokens[i-1].End == t.End
		if _, ok := seen[t.Term]; ok {
			if !reading {
				delete(readings, t.Term)
			}
			continue
		}
		seen[t.Term] = struct{}{}
		if terms = append(terms, t.Term); len(terms) == MaxQueryTokens {
			break
		}
		if reading {
			if readings == nil {
				readings = make(map[string]string)
			}
			readings[t.Term] = tokens[i-1].Term
		}
	}
	return terms, readings
}

type analyzer struct {
	text    string
	query   bool
	tokens  []Token
	spare   []Token  // another buffer of tokens
	stops   []Token  // used when tokens stays empty
	parts   [][2]int // of the chunk at hand
	counted int
	pieces  int // tokens so far that are parts of long words
	stem    stemmer
	seen    map[string]int // the terms of a document
	terms   []termFreq     // and how often each
	tally   tally          // of languages
}

// analysers is a pool of analyzers, with their buffers and recent stems.
var analysers = sync.Pool{New: func() any { return &analyzer{stem: stemmer{known: make(map[string]wordInfo)}} }}

// giveBack returns an analyzer to the pool, without the text, and without buffers that only a large text needs.
func (a *analyzer) giveBack() {
	defer analysers.Put(a)
	a.text, a.query = "", false
	clear(a.seen)
	if cap(a.terms) > maxKept {
		a.terms = nil
	}
	clear(a.terms[:cap(a.terms)])
	for _, buffer := range []*[]Token{&a.tokens, &a.spare, &a.stops} {
		if cap(*buffer) > maxKept {
			*buffer = nil
		}
		clear((*buffer)[:cap(*buffer)])
	}
}

// rewrite starts an empty list of tokens, in the other buffer, and returns the tokens so far.
func (a *analyzer) rewrite() (before []Token) {
	before = a.tokens
	a.tokens, a.spare = a.spare[:0], before
	return before
}

// analyse reads a text. The tokens are the analyzer's, until it reads another.
func (a *analyzer) analyse(text string) []Token {
	a.text, a.counted, a.pieces, a.tokens, a.stops, a.tally = text, 0, 0, a.tokens[:0], a.stops[:0], tally{}
	for i := 0; i < len(a.text) && a.counted < MaxTokens; {
		switch r, n := a.rune(i); classOf(r) {
		case classWord:
			i = a.chunk(i)
		case classCJK, classCluster:
			i = a.grams(i, classOf(r))
		case classSymbol:
			i = a.symbol(i, r, n)
		default:
			i += n
		}
	}
	a.dates()
	a.readings()
	if len(a.tokens) == 0 {
		return a.stops
	}
	return a.tokens
}

func (a *analyzer) rune(i int) (rune, int) {
	if c := a.text[i]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	r, n := utf8.DecodeRuneInString(a.text[i:])
	if r == utf8.RuneError && n == 1 {
		return 0, 1 // invalid bytes separate words like a control character
	}
	return r, n
}

// simple returns the end of a plain word: lower-case letters and digits, perhaps after one capital, followed by an
// ASCII character that joins no words. Most words are plain; for others it returns start.
func (a *analyzer) simple(start int) int {
	s := a.text
	end := start
	for end < len(s) && s[end] < utf8.RuneSelf && asciiClasses[s[end]] == classWord && (end == start || s[end] < 'A' || s[end] > 'Z') {
		end++
	}
	switch {
	case end == len(s):
		return end
	case s[end] >= utf8.RuneSelf || asciiClasses[s[end]] == classWord, end-start <= 2 && (s[end] == '+' || s[end] == '#'):
		return start
	case asciiClasses[s[end]] == classConnector && end+1 < len(s) && (s[end+1] >= utf8.RuneSelf || asciiClasses[s[end+1]] == classWord):
		return start
	}
	return end
}

// thousands returns the end of a number with commas between groups of digits, such as 1,000,000; start if there is
// none.
func (a *analyzer) thousands(start int) int {
	s := a.text
	digits := func(at int) (n int) {
		for at+n < len(s) && isDigit(s[at+n]) {
			n++
		}
		return n
	}
	end := start + digits(start)
	if n := end - start; n == 0 || n > 3 {
		return start
	}
	first := end
	for end < len(s) && s[end] == ',' && digits(end+1) == 3 {
		end += 4
	}
	if end == first {
		return start
	}
	if r, _ := a.rune(min(end, len(s)-1)); end < len(s) && (classOf(r) == classWord || s[end] == ',' && digits(end+1) > 0) {
		return start
	}
	return end
}

// chunk reads a word, or several joined by single connectors, and emits it.
func (a *analyzer) chunk(start int) int {
	if isDigit(a.text[start]) {
		if end := a.thousands(start); end > start {
			a.push(strings.ReplaceAll(a.text[start:end], ",", ""), start, end, false) // as questions write it
			return end
		}
	}
	if end := a.simple(start); end > start {
		a.word(start, end)
		return end
	}
	end, compound, quote := start, false, false
	for i := start; i < len(a.text); {
		r, n := a.rune(i)
		switch classOf(r) {
		case classWord:
			i += n
			end = i
			continue
		case classIgnored:
			i += n
			continue
		case classConnector:
			if end == i && i+n < len(a.text) {
				if next, _ := a.rune(i + n); classOf(next) == classWord {
					quote = quote || isQuote(r)
					compound = compound || !isQuote(r)
					i += n
					continue
				}
			}
		}
		break
	}
	if !compound && !quote {
		if tail := languageSuffix(a.text[start:end], a.text[end:]); tail != "" {
			a.push(fold(a.text[start:end])+tail, start, end+len(tail), false)
			return end + len(tail)
		}
	}
	a.name(start, end, compound, quote)
	return end
}

func (a *analyzer) word(start, end int) {
	raw := a.text[start:end]
	if !ascii(raw) {
		a.tally.letters(raw)
	}
	base := singular(raw)
	r := a.stem.read(base)
	if r.of != 0 {
		if a.tally.word(r.of); r.of&englishWord != 0 {
			a.stop(r.word, start, end)
			return
		}
	}
	a.push(r.term, start, end, false)
	if len(base) < len(raw) {
		if plural := a.stem.read(raw).term; plural != r.term {
			a.push(plural, start, end, true) // the term of the word in lower case
		}
	}
}

func (a *analyzer) stop(term string, start, end int) {
	if len(a.stops) < maxStops {
		a.stops = append(a.stops, Token{Term: term, Start: start, End: end})
	}
}

func (a *analyzer) push(term string, start, end int, extra bool) {
	if term == "" {
		return
	}
	if !extra {
		a.counted++
	}
	a.tokens = append(a.tokens, Token{Term: capTerm(term), Start: start, End: end, Extra: extra})
}
