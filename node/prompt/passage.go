package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cairndb/cairn/index/text"
)

// maxPassageBytes bounds the beginning of a text that is searched for its best passage.
const maxPassageBytes = 128 << 10

// A piece is a sentence of a text, or a part of a long one.
type piece struct {
	start, end int
	tokens     int
	terms      []int // numbers of the question's terms in the piece, with repetitions
}

// passage returns the part of a text with most of the question's terms, in at most most tokens: whole sentences if
// they fit. Among equally good parts it is the first.
func passage(body string, terms map[string]int, most int) string {
	body = body[:cutAt(body, 0, len(body), maxPassageBytes/bytesAToken)]
	all := pieces(body, max(4, most/4))
	assignTerms(body, all, terms)
	var best struct{ from, to, distinct, hits int }
	count := make([]int, len(terms))
	from, tokens, distinct, hits := 0, 0, 0, 0
	for to := range all {
		tokens += all[to].tokens
		for _, t := range all[to].terms {
			if count[t]++; count[t] == 1 {
				distinct++
			}
			hits++
		}
		for ; tokens > most && from < to; from++ {
			tokens -= all[from].tokens
			for _, t := range all[from].terms {
				if count[t]--; count[t] == 0 {
					distinct--
				}
				hits--
			}
		}
		better := distinct > best.distinct || distinct == best.distinct && hits > best.hits
		longer := distinct == best.distinct && hits == best.hits && from == best.from // extend the best passage while it fits
		if to == 0 || better || longer {
			best.from, best.to, best.distinct, best.hits = from, to, distinct, hits
		}
	}
	if len(all) == 0 {
		return ""
	}
	return strings.TrimSpace(body[all[best.from].start:all[best.to].end])
}

// pieces splits a text at the ends of sentences and lines, and longer sentences between words, into pieces of at most
// most tokens each.
func pieces(body string, most int) (all []piece) {
	for start := 0; start < len(body); {
		end := start + sentence(body[start:])
		for start < end {
			part := body[start:cutAt(body, start, end, most)]
			for Tokens(part) > most {
				half := breakAt(part)
				if half == len(part) {
					break
				}
				part = part[:half]
			}
			all = append(all, piece{start: start, end: start + len(part), tokens: Tokens(part)})
			start += len(part)
		}
	}
	return all
}

// bytesAToken bounds the bytes of a piece for each of its tokens, so that measuring a piece has a bounded cost.
const bytesAToken = 16

// cutAt returns the end of the part of a text that begins at start and has at most as many bytes as the tokens allow.
// It does not split a character.
func cutAt(body string, start, end, tokens int) int {
	if end-start <= tokens*bytesAToken {
		return end
	}
	end = start + tokens*bytesAToken
	for range utf8.UTFMax - 1 {
		if utf8.RuneStart(body[end]) {
			break
		}
		end--
	}
	return end
}

// sentence returns the length of the first sentence of a text, with the space after it.
func sentence(body string) int {
	for i, r := range body {
		n := utf8.RuneLen(r)
		switch r {
		case '\n', '。', '！', '？':
			return i + max(n, 1)
		case '.', '!', '?':
			if next, size := utf8.DecodeRuneInString(body[i+1:]); unicode.IsSpace(next) {
				return i + 1 + size
			}
		}
	}
	return len(body)
}

// breakAt returns a position in the middle of a text: after a space in its second quarter, or else between two
// characters.
func breakAt(part string) int {
	half := len(part) / 2
	if i := strings.LastIndexFunc(part[:half], unicode.IsSpace); i > half/2 {
		_, n := utf8.DecodeRuneInString(part[i:])
		return i + n
	}
	for half < len(part) && !utf8.RuneStart(part[half]) {
		half++
	}
	if half == 0 {
		return len(part)
	}
	return half
}

// assignTerms records in each piece the question's terms that begin in it.
func assignTerms(body string, all []piece, terms map[string]int) {
	if len(terms) == 0 {
		return
	}
	at := 0
	for _, t := range text.Analyze(body) {
		n, asked := terms[t.Term]
		if !asked {
			continue
		}
		for at > 0 && all[at].start > t.Start {
			at--
		}
		for at < len(all)-1 && all[at].end <= t.Start {
			at++
		}
		all[at].terms = append(all[at].terms, n)
	}
}

// termsOf numbers the terms of a question.
func termsOf(question string) map[string]int {
	terms := map[string]int{}
	for _, t := range text.AnalyzeQuery(question) {
		terms[t] = len(terms)
	}
	return terms
}
