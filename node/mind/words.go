package mind

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is a token of a text.
type word struct {
	raw         string // as written
	lower       string // in lower case
	stem        string
	use         use
	possessive  bool // ended in 's
	clauseBreak bool // follows punctuation that ends a clause
}

// A use is the role of a word in a sentence. A word may have several.
type use uint8

const (
	filler       use = 1 << iota // does not change the meaning of a sentence
	functionWord                 // grammatical; not compared
	denial                       // negates the sentence
	changed                      // indicates a change
)

// uses maps words to their uses.
var uses = func() map[string]use {
	all := map[string]use{}
	for u, words := range map[use]map[string]bool{filler: fillers, functionWord: functionWords, denial: denials, changed: changeWords} {
		for w := range words {
			all[w] |= u
		}
	}
	return all
}()

// is reports whether the word has one of these uses.
func (w *word) is(u use) bool { return w.use&u != 0 }

// MaxRead bounds the bytes of a text that are parsed. A Row whose text has this length may be truncated.
const MaxRead = 2048

// sentences splits the first MaxRead bytes of a text into sentences of words.
func sentences(s string) (out [][]word) {
	if len(s) > MaxRead {
		s = s[:MaxRead]
	}
	all, from := make([]word, 0, len(s)/wordBytes+1), 0
	brk := false
	flush := func() {
		if len(all) > from {
			out = append(out, all[from:len(all):len(all)])
		}
		from, brk = len(all), false
	}
	for line := range strings.SplitSeq(s, "\n") {
		for tok := range strings.FieldsFuncSeq(line, isBlank) {
			core := tok
			if !isLetter(tok[0]) || !isLetter(tok[len(tok)-1]) {
				core = strings.Trim(tok, `.,;:!?()[]{}"“”'’…*`)
			}
			if core != "" {
				raw := strings.TrimSuffix(strings.TrimSuffix(core, "'s"), "’s")
				low := strings.ToLower(raw)
				all = append(all, word{raw: raw, lower: low, stem: stem(low), use: uses[low], possessive: raw != core, clauseBreak: brk})
				brk = false
			}
			switch last := tok[len(tok)-1]; {
			case last == '.' && len(core) > 1 || last == '!' || last == '?':
				flush()
			case strings.IndexByte(",;:()", last) >= 0 || strings.HasSuffix(tok, "—") || tok == "-":
				brk = true
			}
		}
		flush()
	}
	return out
}

// wordBytes is the typical number of bytes of a word and the space after it.
const wordBytes = 5

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\r' }

var irregular = map[string]string{"is": "be", "are": "be", "was": "be", "were": "be", "been": "be", "am": "be", "has": "hav",
	"had": "hav", "have": "hav", "ran": "run", "runs": "run", "led": "lead", "built": "build", "began": "begin", "spoke": "speak",
	"wrote": "write", "met": "meet", "went": "go", "goes": "go", "ate": "eat", "drank": "drink", "knew": "know", "paid": "pay",
	"children": "child", "people": "person", "born": "born", "news": "news", "written": "written"}

const longestIrregular = len("children")

// american maps British spellings of common words to American ones.
var american = strings.NewReplacer("favour", "favor", "colour", "color", "flavour", "flavor", "behaviour", "behavior",
	"neighbour", "neighbor", "labour", "labor")

// stem maps the forms of a word to one. The stem need not be correct, only the same for both texts.
func stem(w string) string {
	if len(w) <= longestIrregular {
		if s, ok := irregular[w]; ok {
			return s
		}
	}
	if len(w) > 5 && strings.Contains(w, "our") {
		w = american.Replace(w)
	}
	if len(w) <= 3 || hasNumber(w) {
		return w
	}
	switch {
	case len(w) > 4 && (strings.HasSuffix(w, "ies") || strings.HasSuffix(w, "ied")):
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ing") && len(w) > 5:
		w = undouble(w[:len(w)-3])
	case strings.HasSuffix(w, "ed") && len(w) > 4:
		w = undouble(w[:len(w)-2])
	case strings.HasSuffix(w, "es") && len(w) > 4 && strings.ContainsRune("sxzh", rune(w[len(w)-3])):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

func undouble(w string) string {
	if n := len(w); n > 3 && w[n-1] == w[n-2] && strings.IndexByte("bdgklmnprt", w[n-1]) >= 0 {
		return w[:n-1]
	}
	return w
}

// set returns the set of the words of a list.
func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// fillers are words that do not change the meaning of a sentence.
var fillers = set(`a an the just also really actually currently still now again basically simply quite very already so too
please btw fyi apparently indeed certainly definitely today recently officially presently nowadays that
i think believe heard hear know note noted remember reminder recall mentioned told said says confirmed seems seemingly
update info information well ok okay oh yes`)

// functionWords are grammatical words, which are not compared.
var functionWords = set(`in on at to for from by with of into onto over under and or but is are was were be been being am do does did
has have had will would can could should shall may might must it its this these those there here he she they we you his her
their our your my i me him them us who which what when where how than then while about up out`)

var denials = set(`not no never none neither nor cannot without isn't aren't wasn't weren't doesn't don't didn't won't can't
couldn't shouldn't hasn't haven't hadn't isn’t aren’t wasn’t doesn’t don’t didn’t won’t can’t`)

var months = set(`january february march april may june july august september october november december jan feb mar apr jun jul
aug sep sept oct nov dec`)

var weekdays = set(`monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
saturdays sundays mon tue tues wed thu thur thurs fri sat sun`)

var dayParts = set(`morning noon afternoon evening night midnight today tomorrow tonight yesterday weekly daily monthly yearly q1 q2
q3 q4 am pm`)

// isTemporal reports whether a word denotes a time.
func isTemporal(low string) bool {
	return months[low] || weekdays[low] || dayParts[low] || isClockTime(low) ||
		allDigits(low) && len(low) == 4 && (low[:2] == "19" || low[:2] == "20") || isOrdinal(low) ||
		isISODate(low)
}

func isISODate(low string) bool {
	return len(low) >= 8 && strings.Count(low, "-") == 2 &&
		strings.IndexFunc(low, func(r rune) bool { return r != '-' && !unicode.IsDigit(r) }) < 0
}

func allDigits(w string) bool {
	return w != "" && strings.IndexFunc(w, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

func isOrdinal(w string) bool {
	return len(w) > 2 && allDigits(w[:len(w)-2]) && slices.Contains([]string{"st", "nd", "rd", "th"}, w[len(w)-2:])
}

// isClockTime reports whether a word is a time of day: 9am, 9:30, 14h.
func isClockTime(w string) bool {
	marked := false
	for _, mark := range [...]string{"am", "pm", "h"} {
		if n, ok := strings.CutSuffix(w, mark); ok {
			w, marked = n, true
		}
	}
	h, m, minutes := strings.Cut(w, ":")
	return allDigits(h) && len(h) <= 2 && (minutes && allDigits(m) && len(m) == 2 || !minutes && marked)
}

// hasNumber reports whether a word contains a digit.
func hasNumber(w string) bool {
	for i := range len(w) {
		switch c := w[i]; {
		case '0' <= c && c <= '9':
			return true
		case c >= utf8.RuneSelf:
			return strings.IndexFunc(w[i:], unicode.IsDigit) >= 0
		}
	}
	return false
}

func isUpper(w string) bool {
	first, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(first)
}

// categories maps words to groups of alternatives, such as two databases for one purpose. Two words of a group
// exclude each other as the value of one attribute.
var categories = func() map[string]string {
	m := map[string]string{}
	for name, words := range map[string]string{
		"databases":             "postgres postgresql mysql mariadb sqlite mongodb cassandra dynamodb oracle cockroachdb",
		"cloud_providers":       "aws gcp azure digitalocean heroku vercel netlify cloudflare hetzner linode",
		"programming_languages": "python go golang rust java javascript typescript kotlin swift ruby scala c++ c# php elixir haskell",
		"frameworks":            "react vue angular svelte django flask rails spring nextjs fastapi express laravel",
		"roles":                 "engineer designer manager director ceo cto cfo analyst architect intern consultant",
		"infrastructure":        "kubernetes docker nomad terraform ansible pulumi nginx envoy haproxy kafka rabbitmq nats",
		"editors_tools":         "vim emacs vscode neovim intellij sublime jira linear asana trello notion slack teams zoom",
		"llm_providers":         "openai anthropic mistral cohere gemini claude llama",
	} {
		for w := range strings.FieldsSeq(words) {
			m[w] = name
		}
	}
	return m
}()

// Categories returns the words of each category by its name, sorted.
func Categories() map[string][]string {
	all := map[string][]string{}
	for word, name := range categories {
		all[name] = append(all[name], word)
	}
	for _, words := range all {
		slices.Sort(words)
	}
	return all
}

// Words returns the meaningful stems of a text, sorted and distinct.
func Words(text string) []string {
	return meaningOf(text).words
}

// Share returns the part of the words in of that in contains, 0 to 1. Both lists are as Words returns them.
func Share(of, in []string) float64 {
	if len(of) == 0 {
		return 0
	}
	return float64(shared(of, in)) / float64(len(of))
}

// notIn returns a function that reports whether a sorted list lacks a word.
func notIn(sorted []string) func(string) bool {
	return func(w string) bool {
		_, has := slices.BinarySearch(sorted, w)
		return !has
	}
}

// shared returns how many words of the first list the second, sorted one contains.
func shared(of, in []string) (n int) {
	for _, w := range of {
		if _, ok := slices.BinarySearch(in, w); ok {
			n++
		}
	}
	return n
}

// jaccard returns the Jaccard index of two sorted lists.
func jaccard(a, b []string) float64 {
	both := shared(a, b)
	return float64(both) / float64(max(len(a)+len(b)-both, 1))
}
