package redact

import (
	"regexp"
	"strings"
	"sync"
)

// A rule replaces the matches of its pattern. The pattern is applied only to lines that contain one of its hints, so
// text without secrets costs only a few substring searches.
type rule struct {
	hints       []string // literals, of which one must occur; in lower case with fold
	fold        bool     // hints ignore the case of ASCII letters
	multiline   bool     // a match may span lines
	pattern     func() *regexp.Regexp
	mask        string                                     // may refer to groups; unused with replacement
	replacement func(line string, at []int) (string, bool) // returns the replacement of a match; false keeps the match
	redactText  func(string) string                        // used instead of pattern
}

// secretWord matches the words in or at the end of a secret's name.
const secretWord = `(?:pass(?:word|wd|phrase|code)|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|credential|connection[_-]?string)`

// allExpressions lists all expressions, for a test.
var allExpressions []func() *regexp.Regexp

// expression returns a function that compiles a regular expression on its first use. Compiling all of them would take
// a tenth of the run time of a client process.
func expression(text string) func() *regexp.Regexp {
	f := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
	allExpressions = append(allExpressions, f)
	return f
}

// keyName matches names that end in a secretWord: dbPassword, API_KEY, --auth-token, client_secrets.
var keyName = expression(`(?i)(?:` + secretWord + `s?|^-*authorization|^(?:set-)?cookie)[_-]?[0-9]*$`)

// rules in the order of application. Tools know the masks of the first nine for a long time.
var rules = []rule{
	{hints: []string{"<private>"}, multiline: true, pattern: expression(`(?s)<private>.*?</private>`), mask: "[REDACTED:private]"},
	{hints: []string{"AKIA"}, pattern: expression(`\bAKIA[0-9A-Z]{16}\b`), mask: "[REDACTED:aws]"},
	{hints: []string{"ghp_"}, pattern: expression(`ghp_[A-Za-z0-9]{36,}`), mask: "[REDACTED:github]"},
	{hints: []string{"sk-ant-"}, pattern: expression(`sk-ant-[A-Za-z0-9_-]{20,}`), mask: "[REDACTED:anthropic]"},
	{hints: []string{"sk-"}, pattern: expression(`sk-[A-Za-z0-9]{32,}`), mask: "[REDACTED:openai]"},
	{hints: []string{"earer", "EARER"}, multiline: true, mask: "Bearer [REDACTED]",
		pattern: expression(`(?:[Bb]earer|BEARER)[\s\x{0b}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]+[A-Za-z0-9._~+/=-]{20,}`)},
	{hints: []string{"eyJ"}, pattern: expression(`eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`), mask: "[REDACTED:jwt]"},
	{hints: []string{"@"}, pattern: expression(`[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}`), mask: "[REDACTED:email]"},
	{redactText: maskPhones},

	// Secrets that the nine rules above do not find.
	{hints: []string{"ASIA", "AROA", "AIDA", "ABIA", "ACCA"},
		pattern: expression(`\b(?:ASIA|AROA|AIDA|ABIA|ACCA)[0-9A-Z]{16}\b`), mask: "[REDACTED:aws]"},
	{hints: []string{"gho_", "ghs_", "ghu_", "ghr_", "ghp_", "github_pat_"},
		pattern: expression(`gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}`), mask: "[REDACTED:github]"},
	{hints: []string{"sk-"}, pattern: expression(`\bsk-[A-Za-z0-9_-]{20,}`), mask: "[REDACTED:openai]"},
	{hints: []string{"_live_", "_test_", "whsec_"},
		pattern: expression(`\b(?:[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,})`), mask: "[REDACTED:stripe]"},
	{hints: []string{"xox", "xapp-", "hooks.slack.com"},
		pattern: expression(`\b(?:xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/[A-Za-z0-9/]{10,})`),
		mask:    "[REDACTED:slack]"},
	{hints: []string{"AIza", "ya29.", "GOCSPX-"},
		pattern: expression(`AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}`), mask: "[REDACTED:google]"},
	{hints: []string{"PRIVATE KEY"}, multiline: true,
		pattern: expression(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`),
		mask:    "[REDACTED:pem]"},
	{hints: []string{"glpat-", "npm_", "hf_", "pypi-", "dop_v1_", "SG.", "hvs.", "AGE-SECRET-KEY-", "tskey-", "xai-", "gsk_",
		"shpat_", "lin_api_", "dckr_pat_", "sntrys_", "rubygems_", "ydb_", "cairn_"},
		pattern: expression(`\b(?:glpat-[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{30,}|dop_v1_[0-9a-f]{40,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|hvs\.[A-Za-z0-9_-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{40,}|tskey-[a-z]+-[A-Za-z0-9-]{10,}|xai-[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|shpat_[0-9a-f]{20,}|lin_api_[A-Za-z0-9]{20,}|dckr_pat_[A-Za-z0-9_-]{20,}|sntrys_[A-Za-z0-9+/=_-]{20,}|rubygems_[0-9a-f]{20,}|ydb_[0-9a-f]{64}|ydb_cluster_[0-9a-f]{64}|cairn_(?:access|refresh|code)_[A-Za-z0-9_-]{40,})`),
		mask:    mask},
	{hints: []string{"://"}, pattern: expression(`(://[^\s:/@\[\]"']*:)([^\s/@\[\]"']+)((?:\[REDACTED:email\])?)(@?)`), replacement: maskURLPassword},
	{hints: []string{"uthorization", "UTHORIZATION"}, fold: true,
		pattern: expression(`(?i)(authorization\\*["']?\s*[:=]\s*\\*["']?(?:basic|token|digest|apikey|bearer)\s+)([^\s"'\\\[]{4,})`),
		mask:    "${1}" + mask},
	{hints: []string{"-u ", "--user "}, pattern: expression(`(\s(?:-u|--user)\s+["']?[^\s:"']+:)([^\s"'\[]+)`), mask: "${1}" + mask},
	{hints: hintWords, fold: true, pattern: assignment, replacement: maskAssignment},
	{hints: hintWords, fold: true,
		pattern: expression(`(?i)(--?[a-z0-9-]*` + secretWord + `s?[ \t]+["']?)([^\s"'\-\[][^\s"']*)`), mask: "${1}" + mask},
}

var hintWords = []string{"pass", "pwd", "secret", "token", "key", "credential", "connection"}

// assignment is a name, a sign and a value: password=x, "apiKey": "x", export TOKEN='x', \"secret\":\"x\".
var assignment = expression(`(?i)([a-z0-9_.-]*` + secretWord + `[a-z0-9_-]*)(\\*["']?\s*(?::=|=>|[:=])\s*)(\\*"[^"\\\r\n]+|\\*'[^'\\\r\n]+|` + "`[^`\r\n]+" + `|[^\s"'` + "`" + `,;&(){}<>=\\\[\]]+)([(\[.]?)`)

// maskAssignment masks the value of an assignment, unless it is code or a number of tokens.
func maskAssignment(line string, at []int) (string, bool) {
	name, sign, val, next := line[at[2]:at[3]], line[at[4]:at[5]], line[at[6]:at[7]], line[at[8]:at[9]]
	quote := len(val) - len(strings.TrimLeft(val, "\\\"'`"))
	if strings.HasPrefix(val[quote:], "[REDACTED") || strings.HasPrefix(val[quote:], "Bearer [REDACTED") || val[quote:] == "Bearer" {
		return "", false
	}
	if quote == 0 {
		switch {
		case strings.Contains(sign, ":="), next == "(", next == "[" && !strings.HasPrefix(line[at[8]:], "[REDACTED"),
			harmlessValues[strings.ToLower(strings.TrimRight(val, "?!|*"))]:
			return "", false
		case len(val) < 8 && strings.Trim(val, "0123456789.") == "" && strings.Contains(strings.ToLower(name), "token"):
			return "", false // a number of tokens
		}
	}
	return name + sign + val[:quote] + mask + next, true
}

// harmlessValues are values that are types or mean no value.
var harmlessValues = map[string]bool{"nil": true, "null": true, "none": true, "true": true, "false": true, "undefined": true, "string": true,
	"str": true, "int": true, "bool": true, "boolean": true, "number": true, "any": true, "bytes": true, "byte": true,
	"error": true, "": true}

// maskURLPassword masks the password of a URL completely, even if the rule for mail addresses has masked a part of
// it.
func maskURLPassword(line string, at []int) (string, bool) {
	user, rest, mail, sign := line[at[2]:at[3]], line[at[4]:at[5]], line[at[6]:at[7]], line[at[8]:at[9]]
	switch {
	case mail != "":
		return user + mail + sign, true
	case sign == "":
		return "", false // host:port
	case rest == "":
		return "", false
	}
	return user + mask + sign, true
}

func (r *rule) apply(s string) string {
	if r.redactText != nil {
		return r.redactText(s)
	}
	if !r.hinted(s) {
		return s
	}
	if r.multiline || len(s) < 4096 {
		return r.replace(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for line := range strings.Lines(s) {
		if r.hinted(line) {
			line = r.replace(line)
		}
		b.WriteString(line)
	}
	return b.String()
}

func (r *rule) hinted(s string) bool {
	for _, h := range r.hints {
		if strings.Contains(s, h) || r.fold && containsFold(s, h) {
			return true
		}
	}
	return false
}

// containsFold reports whether s contains a lower-case word, ignoring ASCII case.
func containsFold(s, word string) bool {
	for i := 0; i+len(word) <= len(s); i++ {
		if s[i]|0x20 == word[0]|0x20 && strings.EqualFold(s[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

func (r *rule) replace(s string) string {
	if r.replacement == nil {
		return r.pattern().ReplaceAllString(s, r.mask)
	}
	e := edits{s: s}
	for _, at := range r.pattern().FindAllStringSubmatchIndex(s, -1) {
		if with, ok := r.replacement(s, at); ok {
			e.replace(at[0], at[1], with)
		}
	}
	return e.String()
}
