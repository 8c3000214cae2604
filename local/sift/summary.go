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

// model names how summaries are made. They are cut out of the payload, by rules: no network, the same everywhere.
const model = "extractive-v1"

// promptHash stands where another summariser's prompt is named.
var promptHash = func() string {
	h := sha256.Sum256([]byte(model))
	return hex.EncodeToString(h[:])
}()

// maxSummary bounds a summary, in characters.
const maxSummary = 240

type summary struct {
	text       string
	confidence float64
}

// templates say what a known tool did. An empty answer falls back to the payload's own words.
var templates = map[string]func(in, out any) string{
	"Read": func(in, out any) string {
		return join("Read", field(in, "file_path", "path"), telling(out, declaration))
	},
	"Write": func(in, out any) string {
		return join("Wrote", field(in, "file_path", "path"), names(field(in, "content")))
	},
	"Edit": func(in, out any) string {
		return join("Edited", field(in, "file_path", "path"), changed(field(in, "old_string"), field(in, "new_string")))
	},
	"Bash": func(in, out any) string { return join("Ran", field(in, "command"), telling(out, failureLine)) },
	"Grep": found,
	"Glob": found,
}

// summarize makes one line of an observation: the action, its object, and the most telling line of the output.
func summarize(o *observation) summary {
	in, out := parts(o.Payload)
	s := summary{confidence: 0.8}
	if t := templates[o.Tool]; t != nil {
		s.text = t(in, out)
	}
	if o.Tool == "Notification" {
		s.text = field(o.Payload, "message")
	}
	if s.text == "" {
		s.confidence = 0.5
		if w := words(o.Payload); w != "" {
			s.text = o.Tool + ": " + w
		}
	}
	if s.text = oneLine(s.text, maxSummary); s.text == "" {
		s.confidence = 0.2
		s.text = oneLine(o.Tool+" call", maxSummary)
	}
	return s
}

// asks are the keys of a payload that belong to a tool's input.
var asks = []string{"command", "description", "file_path", "path", "pattern", "query", "glob", "old_string", "new_string", "cwd", "timeout"}

// parts are a tool's input and its output. A payload that does not separate them is all input; its output is the keys
// that are no input's.
func parts(payload any) (in, out any) {
	m, ok := payload.(map[string]any)
	if !ok {
		return payload, nil
	}
	if in, ok := m["tool_input"]; ok {
		return in, m["tool_response"]
	}
	rest := maps.Clone(m)
	for _, k := range asks {
		delete(rest, k)
	}
	return payload, rest
}

// join is "verb subject: detail". Without a subject there is nothing to say.
func join(verb, subject, detail string) string {
	subject, detail = oneLine(subject, 160), oneLine(detail, maxSummary)
	switch {
	case subject == "":
		return ""
	case detail == "":
		return verb + " " + subject
	}
	return verb + " " + subject + ": " + detail
}

// field is the first of an object's fields that is text.
func field(v any, keys ...string) string {
	m, _ := v.(map[string]any)
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// lines are the lines of all text in a value, the first few hundred of them.
func lines(v any) (all []string) {
	const enough = 400
	for s := range texts(v) {
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

// texts are a value's strings, those of objects by key.
func texts(v any) iter.Seq[string] { return func(yield func(string) bool) { walk(v, yield) } }

// walk calls f for each string of a value until f says no, and reports whether f never did.
func walk(v any, f func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !walk(x, f) })
	case map[string]any:
		return !slices.ContainsFunc(slices.Sorted(maps.Keys(v)), func(k string) bool { return !walk(v[k], f) })
	}
	return true
}

var (
	declaration = regexp.MustCompile(`^(?:\d+[\s→|:]+)?\s*(?:#{1,6} \S|(?:pub |export |default |async |public |private |static )*(?:func|def|class|type|struct|interface|enum|fn|function|const|package|module|trait|impl)\b)`)
	failureLine = regexp.MustCompile(`(?i)\b(?:error|fail(?:ed|ure)?|panic|fatal|exception|denied|refused|cannot|not found|undefined|timeout|traceback|conflict)\b`)
	identifier  = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{2,}`)
	declares    = regexp.MustCompile(`(?m)^\s*(?:pub |export |default |async |public |private |static )*(?:func|def|class|type|struct|interface|enum|fn|function|const)\s+(?:\([^)\n]*\)\s*)?([A-Za-z_][A-Za-z0-9_]*)`)
)

// telling is the first line that matches; without one the last line of a command's output, the first of anything else.
func telling(v any, want *regexp.Regexp) string {
	all := lines(v)
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

// names returns the names that a text declares, or its first line.
func names(content string) string {
	content = content[:min(len(content), 256<<10)]
	var found []string
	for _, m := range declares.FindAllStringSubmatch(content, 24) {
		if !slices.Contains(found, m[1]) {
			found = append(found, m[1])
		}
	}
	if len(found) > 0 {
		return strings.Join(found, ", ")
	}
	return telling(content, declaration)
}

// changed is the identifiers that went and came; the first lines when there are none.
func changed(old, new string) string {
	words := func(s string) []string { return identifier.FindAllString(s[:min(len(s), 64<<10)], 4000) }
	was, is := words(old), words(new)
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
	gone, come := only(was, is), only(is, was)
	if gone == "" && come == "" {
		gone, come = oneLine(firstOf(old), 90), oneLine(firstOf(new), 90)
	}
	if gone == "" && come == "" {
		return ""
	}
	return gone + " → " + come
}

func firstOf(s string) string {
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			return l
		}
	}
	return ""
}

// found is a search's line: what for, where, how much, and the first of it.
func found(in, out any) string {
	pattern := field(in, "pattern", "query")
	if pattern == "" {
		return ""
	}
	where := cmp.Or(field(in, "path", "glob"), ".")
	all := lines(out)
	s := fmt.Sprintf("%s in %s: %d matches", oneLine(pattern, 100), oneLine(where, 80), len(all))
	if len(all) > 0 {
		s += ", " + all[0]
	}
	return s
}

// words are the most telling texts of a payload: the longest, short ones last.
func words(v any) string {
	var all []string
	for s := range texts(v) {
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

// maxOthers bounds the words that a summary is found by besides its own.
const maxOthers = 2 << 10

var word = regexp.MustCompile(`[\pL\pN_][\pL\pN_.\-]*[\pL\pN_]`)

// others are the payload's words that are not in its summary, each once, the first of them: what the summary's length
// leaves out is found all the same.
func others(payload any, summary string) string {
	seen := map[string]bool{"REDACTED": true}
	for _, w := range word.FindAllString(summary, -1) {
		seen[w] = true
	}
	var b strings.Builder
	for s := range texts(payload) {
		s = s[:min(len(s), 64<<10)]
		for at := word.FindStringIndex(s); at != nil && b.Len() < maxOthers; at = word.FindStringIndex(s) {
			if w := s[at[0]:at[1]]; len(w) <= 64 && !seen[w] {
				seen[w] = true
				b.WriteString(w + " ")
			}
			s = s[at[1]:]
		}
		if b.Len() >= maxOthers {
			break
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// clip cuts a text to so many bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
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
