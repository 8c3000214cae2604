package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// languageSuffix recognises c++, c#, f# and their kind.
func languageSuffix(word, rest string) string {
	if len(word) > 2 {
		return ""
	}
	for _, s := range [...]string{"++", "#"} {
		if after, ok := strings.CutPrefix(rest, s); ok {
			if r, _ := utf8.DecodeRuneInString(after); after == "" || classOf(r) != classWord {
				return s
			}
		}
	}
	return ""
}

// name emits one chunk: a plain word, or a compound as its exact form and its parts.
func (a *analyzer) name(start, end int, compound, quote bool) {
	if quote {
		var stop bool
		if end, stop = contraction(a.text, start, end); stop {
			a.stop(fold(a.text[start:end]), start, end)
			return
		}
	}
	a.split(start, end)
	if len(a.parts) <= 1 {
		a.word(start, end)
		return
	}
	exact := len(a.tokens)
	exactForm := fold(a.text[start:end])
	joined, replaces := joinParts(exactForm)
	if joined = a.stem.read(joined).term; replaces {
		exactForm = joined
	}
	a.push(exactForm, start, end, true)
	if len(exactForm) > 2 && exactForm[0] == 'v' && isDigit(exactForm[1]) {
		a.push(exactForm[1:], start+1, end, true) // questions say 1.2.3 for v1.2.3
	}
	if joined != exactForm {
		a.push(joined, start, end, true)
	}
	before := a.counted
	for _, p := range a.parts {
		if p[1]-p[0] > 1 && a.counted < MaxTokens {
			a.word(p[0], p[1])
		}
	}
	if a.counted == before {
		a.tokens[exact].Extra = false
		a.counted++
	}
}

// joinParts writes a folded name as one word: front-end as frontend, node.js as nodejs, u.s.a as usa; iphone is one
// already. If replaces is true, texts have the word instead of the name, because a hyphen between two parts does not
// make a different name.
func joinParts(name string) (joined string, replaces bool) {
	if front, rest, found := strings.Cut(name, "-"); found && !strings.ContainsFunc(front+rest, isConnector) {
		return front + rest, strings.ContainsFunc(name, unicode.IsLetter)
	}
	dots := strings.Count(name, ".")
	if dots == 0 || strings.ContainsFunc(name, func(r rune) bool { return r != '.' && !unicode.IsLetter(r) }) {
		return name, false
	}
	if short := len(name) <= 4*dots && len(name) >= 4; short || dots == 1 && strings.HasSuffix(name, ".js") {
		return strings.ReplaceAll(name, ".", ""), false
	}
	return name, false
}

func isConnector(r rune) bool { return classOf(r) == classConnector }

// split cuts a chunk at its connectors and at the case boundaries of short pieces, into parts.
func (a *analyzer) split(start, end int) {
	a.parts = a.parts[:0]
	from := start
	for i := start; i < end; {
		r, n := a.rune(i)
		if classOf(r) == classConnector {
			a.camel(from, i)
			from = i + n
		}
		i += n
	}
	a.camel(from, end)
}

// camel appends the pieces of text[start:end] between case boundaries:
// parse|HTTP|Request, HTTP2|Server, parse|URLs.
func (a *analyzer) camel(start, end int) {
	if end-start > maxCamelBytes {
		a.parts = append(a.parts, [2]int{start, end})
		return
	}
	from := start
	var prev rune
	for i := start; i < end; {
		r, n := a.rune(i)
		if caseless(r) {
			i += n
			continue
		}
		if i > from && unicode.IsUpper(r) {
			next := a.letter(i+n, end)
			if i+n == end-1 && a.text[i+n] == 's' && unicode.IsUpper(prev) {
				break // the plural of an acronym
			}
			if unicode.IsLower(prev) || (unicode.IsUpper(prev) || unicode.IsDigit(prev)) && unicode.IsLower(next) {
				a.parts = append(a.parts, [2]int{from, i})
				from = i
			}
		}
		prev = r
		i += n
	}
	a.parts = append(a.parts, [2]int{from, end})
}

// singular returns an acronym without the s of its plural, such as URL of URLs, and other words as they are.
func singular(raw string) string {
	n := len(raw) - 1
	if n < 2 || raw[n] != 's' {
		return raw
	}
	for i := range n {
		if raw[i] < 'A' || raw[i] > 'Z' {
			return raw
		}
	}
	return raw[:n]
}

// caseless reports whether a character does not count for case boundaries: marks, and ß, which stands between
// capitals too.
func caseless(r rune) bool {
	return r >= utf8.RuneSelf && (unicode.Is(unicode.M, r) || isIgnored(r) || r == 'ß')
}

// letter returns the first character of text[at:end] that counts for case boundaries; 0 if there is none.
func (a *analyzer) letter(at, end int) rune {
	for at < end {
		r, n := a.rune(at)
		if !caseless(r) {
			return r
		}
		at += n
	}
	return 0
}

// contraction takes 's off, and 'll, 're, 've, 'd, 'm; it reports don't and its kind as stop words.
func contraction(text string, start, end int) (int, bool) {
	s := text[start:end]
	at := strings.LastIndexFunc(s, isQuote)
	if at <= 0 {
		return end, false
	}
	_, n := utf8.DecodeRuneInString(s[at:])
	switch strings.ToLower(s[at+n:]) {
	case "s", "ll", "re", "ve", "d", "m":
		return start + at, false
	case "t":
		return end, s[at-1] == 'n' || s[at-1] == 'N'
	}
	return end, false
}
