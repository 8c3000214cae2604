// Package ignore implements the rule file that keeps intents out of memory.
//
// Each line is a rule. Surrounding white space, empty lines and lines that begin with # are dropped. A leading !
// turns a rule into an exception; a leading / after it anchors the rule to the beginning of the text. The rest is a
// pattern: * matches any bytes except /, ** any bytes, ? one byte except /. The pattern must match a prefix of the
// text, or, if it is not anchored, a prefix of any suffix of the text. The last matching rule decides.
//
// Matching backtracks to the latest star only. So it is fast on every input, but a pattern with several stars may
// miss a match that a full search would find. Clients rely on that.
package ignore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Seed is the rule file of a new home.
const Seed = `# Intents whose text matches a rule below are answered "ignored" and leave no memory.
# One rule a line; * stays within a path segment, ** does not; a leading ! makes an exception.
# Last match wins.
**/.env
**/.env.*
**/secrets.toml
**/secrets.json
**/*.pem
**/*.key
**/id_rsa*
**/id_ed25519*
**/.ssh/**
**/credentials
**/credentials.json
**/.aws/credentials
`

type rule struct {
	line     string // as written, trimmed
	pattern  string
	negated  bool
	anchored bool
}

// Rules is a parsed rule file.
type Rules []rule

// Parse parses a rule file.
func Parse(text string) (rules Rules) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		r := rule{line: line, pattern: line}
		r.pattern, r.negated = strings.CutPrefix(r.pattern, "!")
		r.pattern, r.anchored = strings.CutPrefix(r.pattern, "/")
		if r.pattern != "" {
			rules = append(rules, r)
		}
	}
	return rules
}

// Check reports whether a text is ignored, and the line of the rule that decided; "" if no rule matched.
func (rs Rules) Check(text string) (ignored bool, line string) {
	for i := len(rs) - 1; i >= 0; i-- {
		if rs[i].matches(text) {
			return !rs[i].negated, rs[i].line
		}
	}
	return false, ""
}

func (r rule) matches(text string) bool {
	m := matcher{p: r.pattern, s: text, starEnds: make([]span, len(r.pattern)+1)}
	if r.anchored {
		return m.matchAt(0)
	}
	for at := range len(text) + 1 {
		if m.matchAt(at) {
			return true
		}
	}
	return false
}

// matcher tries one pattern at successive positions of a text. It remembers where each star ended and does not search
// again, so its work is linear in the text and not quadratic.
type matcher struct {
	p, s     string
	starEnds []span // by the position in the pattern after the star
}

// span records that a star that begins between lo and hi ends at hi or, if ends is false, cannot match.
type span struct {
	lo, hi    int
	set, ends bool
}

// matchAt reports whether the pattern matches at position si.
func (m *matcher) matchAt(si int) bool {
	const none = -1
	p, s := m.p, m.s
	pi, star, starStart, starEnd, crossesSlash := 0, none, 0, 0, false // state of the latest star
	for {
		if pi == len(p) {
			return true
		}
		if p[pi] == '*' {
			if star != none {
				m.starEnds[star] = span{starStart, starEnd, true, true}
			}
			crossesSlash = pi+1 < len(p) && p[pi+1] == '*'
			for pi < len(p) && p[pi] == '*' {
				pi++
			}
			star, starStart, starEnd = pi, si, si
			if k := m.starEnds[star]; k.set && k.lo <= si && si <= k.hi {
				if !k.ends {
					return false
				}
				starEnd, si = k.hi, k.hi
			}
			continue
		}
		if si < len(s) && (p[pi] == s[si] || p[pi] == '?' && s[si] != '/') {
			pi, si = pi+1, si+1
			continue
		}
		if star == none {
			return false
		}
		if starEnd >= len(s) || !crossesSlash && s[starEnd] == '/' {
			m.starEnds[star] = span{starStart, starEnd, true, false}
			return false
		}
		starEnd++
		pi, si = star, starEnd
	}
}

// Load reads the rules of a file. A missing file has none.
func Load(path string) (Rules, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("ignore rules: %w", err)
	}
	return Parse(string(b)), nil
}

// Ensure creates the rule file of a new home, and checks that it can be read.
func Ensure(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(path, []byte(Seed), 0o600); err != nil {
			return fmt.Errorf("ignore rules: %w", err)
		}
	}
	_, err := Load(path)
	return err
}
