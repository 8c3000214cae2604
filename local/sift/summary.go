package sift

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// model is the model name of summaries by rules. The rules extract a summary from the payload, without a network, and
// with the same result on every node.
const model = "extractive-v1"

// promptHash stands in for the hash of a prompt, because summaries by rules have none.
var promptHash = func() string {
	h := sha256.Sum256([]byte(model))
	return hex.EncodeToString(h[:])
}()

// maxSummary bounds the characters of a summary.
const maxSummary = 240

type summary struct {
	text       string
	confidence float64
}

// templates describe the call of a known tool. If the description is empty, the summary consists of the longest texts
// of the payload.
var templates = map[string]func(in, out any) string{
	"Read": func(in, out any) string {
		return describe("Read", textField(in, "file_path", "path"), keyLine(out, declaration))
	},
	"Write": func(in, out any) string {
		return describe("Wrote", textField(in, "file_path", "path"), declaredNames(textField(in, "content")))
	},
	"Edit": func(in, out any) string {
		return describe("Edited", textField(in, "file_path", "path"), changedIdentifiers(textField(in, "old_string"), textField(in, "new_string")))
	},
	"Bash": func(in, out any) string { return describe("Ran", textField(in, "command"), keyLine(out, failureLine)) },
	"Grep": describeSearch,
	"Glob": describeSearch,
}

// summarize makes a summary of one line: the action, its object, and the most informative line of the output.
func summarize(o *observation) summary {
	in, out := splitPayload(o.Payload)
	s := summary{confidence: 0.8}
	if t := templates[o.Tool]; t != nil {
		s.text = t(in, out)
	}
	if o.Tool == "Notification" {
		s.text = textField(o.Payload, "message")
	}
	if s.text == "" {
		s.confidence = 0.5
		if w := longestTexts(o.Payload); w != "" {
			s.text = o.Tool + ": " + w
		}
	}
	if s.text = oneLine(s.text, maxSummary); s.text == "" {
		s.confidence = 0.2
		s.text = oneLine(o.Tool+" call", maxSummary)
	}
	return s
}

// inputKeys are the keys of a payload that belong to a tool's input.
var inputKeys = []string{"command", "description", "file_path", "path", "pattern", "query", "glob", "old_string", "new_string", "cwd", "timeout"}

// splitPayload returns a tool's input and output. If the payload does not separate them, the input is the whole
// payload, and the output is all keys that are not inputKeys.
func splitPayload(payload any) (in, out any) {
	m, ok := payload.(map[string]any)
	if !ok {
		return payload, nil
	}
	if in, ok := m["tool_input"]; ok {
		return in, m["tool_response"]
	}
	rest := maps.Clone(m)
	for _, k := range inputKeys {
		delete(rest, k)
	}
	return payload, rest
}

// describe returns "verb subject: detail", or "" without a subject.
func describe(verb, subject, detail string) string {
	subject, detail = oneLine(subject, 160), oneLine(detail, maxSummary)
	switch {
	case subject == "":
		return ""
	case detail == "":
		return verb + " " + subject
	}
	return verb + " " + subject + ": " + detail
}

// textField returns the first of an object's fields that is a non-empty string.
func textField(v any, keys ...string) string {
	m, _ := v.(map[string]any)
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// textLines returns the lines of all strings in a value, the first few hundred of them.
func textLines(v any) (all []string) {
	const enough = 400
	for s := range allStrings(v) {
		for l := range strings.Lines(s) {
			if l = strings.TrimSpace(strings.ToValidUTF8(l, "")); l != "" {
				all = append(all, l)
			}
			if len(all) >= enough {
				return all
			}
		}
	}
	return all
}

// allStrings iterates over the strings in a value, those of objects in the order of their keys.
func allStrings(v any) iter.Seq[string] { return func(yield func(string) bool) { walk(v, yield) } }

// walk calls visit for each string in a value until visit returns false. It reports whether visit always returned
// true.
func walk(v any, visit func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return visit(v)
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !walk(x, visit) })
	case map[string]any:
		return !slices.ContainsFunc(slices.Sorted(maps.Keys(v)), func(k string) bool { return !walk(v[k], visit) })
	}
	return true
}

var (
	declaration  = regexp.MustCompile(`^(?:\d+[\s→|:]+)?\s*(?:#{1,6} \S|(?:pub |export |default |async |public |private |static )*(?:func|def|class|type|struct|interface|enum|fn|function|const|package|module|trait|impl)\b)`)
	failureLine  = regexp.MustCompile(`(?i)\b(?:error|fail(?:ed|ure)?|panic|fatal|exception|denied|refused|cannot|not found|undefined|timeout|traceback|conflict)\b`)
	identifier   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{2,}`)
	declaredName = regexp.MustCompile(`(?m)^\s*(?:pub |export |default |async |public |private |static )*(?:func|def|class|type|struct|interface|enum|fn|function|const)\s+(?:\([^)\n]*\)\s*)?([A-Za-z_][A-Za-z0-9_]*)`)
)

// keyLine returns the first line that matches. If no line matches, it returns the last line of the output of a
// command, and the first line of any other text.
func keyLine(v any, want *regexp.Regexp) string {
	all := textLines(v)
	for _, l := range all {
		if want.MatchString(l[:min(len(l), 2000)]) {
			return l
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case want == failureLine:
		return all[len(all)-1]
	}
	return all[0]
}

// declaredNames returns the names that a text declares, or its most informative line if there are none.
func declaredNames(content string) string {
	content = content[:min(len(content), 256<<10)]
	var found []string
	for _, m := range declaredName.FindAllStringSubmatch(content, 24) {
		if !slices.Contains(found, m[1]) {
			found = append(found, m[1])
		}
	}
	if len(found) > 0 {
		return strings.Join(found, ", ")
	}
	return keyLine(content, declaration)
}

// changedIdentifiers returns the removed and the added identifiers, or the first lines if there are none.
func changedIdentifiers(old, new string) string {
	words := func(s string) []string { return identifier.FindAllString(s[:min(len(s), 64<<10)], 4000) }
	oldWords, newWords := words(old), words(new)
	only := func(all, other []string) string {
		seen := map[string]bool{}
		for _, w := range other {
			seen[w] = true
		}
		var out []string
		for _, w := range all {
			if !seen[w] && len(out) < 8 {
				seen[w] = true
				out = append(out, w)
			}
		}
		return strings.Join(out, " ")
	}
	removed, added := only(oldWords, newWords), only(newWords, oldWords)
	if removed == "" && added == "" {
		removed, added = oneLine(firstNonBlankLine(old), 90), oneLine(firstNonBlankLine(new), 90)
	}
	if removed == "" && added == "" {
		return ""
	}
	return removed + " → " + added
}

func firstNonBlankLine(s string) string {
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			return l
		}
	}
	return ""
}

// describeSearch describes a search: pattern, place, number of matches, and the first match.
func describeSearch(in, out any) string {
	pattern := textField(in, "pattern", "query")
	if pattern == "" {
		return ""
	}
	where := cmp.Or(textField(in, "path", "glob"), ".")
	all := textLines(out)
	s := fmt.Sprintf("%s in %s: %d matches", oneLine(pattern, 100), oneLine(where, 80), len(all))
	if len(all) > 0 {
		s += ", " + all[0]
	}
	return s
}

// longestTexts joins the strings of a payload, the longest first.
func longestTexts(v any) string {
	var all []string
	for s := range allStrings(v) {
		if s = oneLine(s, maxSummary); s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
		if len(all) == 100 {
			break
		}
	}
	if len(all) == 0 {
		if n, ok := v.(json.Number); ok {
			return n.String()
		}
		return ""
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return strings.Join(all, "; ")
}

// maxExtraWords bounds the bytes of the words that are indexed in addition to a summary.
const maxExtraWords = 2 << 10

var word = regexp.MustCompile(`[\pL\pN_][\pL\pN_.\-]*[\pL\pN_]`)

// extraWords returns the words of a payload that its summary lacks, without repeats. They are indexed with the
// summary, so that searches find them.
func extraWords(payload any, summary string) string {
	seen := map[string]bool{"REDACTED": true}
	for _, w := range word.FindAllString(summary, -1) {
		seen[w] = true
	}
	var b strings.Builder
	for s := range allStrings(payload) {
		s = s[:min(len(s), 64<<10)]
		for at := word.FindStringIndex(s); at != nil && b.Len() < maxExtraWords; at = word.FindStringIndex(s) {
			if w := s[at[0]:at[1]]; len(w) <= 64 && !seen[w] {
				seen[w] = true
				b.WriteString(w + " ")
			}
			s = s[at[1]:]
		}
		if b.Len() >= maxExtraWords {
			break
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// truncate cuts a text to at most limit bytes, at a character boundary.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

// oneLine puts a text on one line of at most n characters.
func oneLine(s string, n int) string {
	s = s[:min(len(s), 64*n)]
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return strings.TrimSpace(string(r[:n-1])) + "…"
}
