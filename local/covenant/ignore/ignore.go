// Package ignore is the rule file that keeps intents out of memory.
//
// A line is a rule: white space around it is dropped, and so are empty lines and those that begin with #. A leading !
// turns the rule into an exception; a leading / after that binds it to the beginning of the text. The rest is a
// pattern: * is a run of anything but /, ** a run of anything, ? one character but /. It is compared with the text byte
// by byte and must match a beginning of it, or, unbound, a beginning of the text behind any byte. The last rule that
// matches decides.
//
// Matching backtracks to the latest star alone, so it is fast on every input, and a pattern with several stars may miss
// what a full search would find. Clients rely on it. Covenant asks it for every intent;
// it looks at texts and keeps none.
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
	line    string // as written, trimmed
	pattern string
	except  bool
	bound   bool
}

// Rules are a parsed file.
type Rules []rule

// Parse reads the lines.
func Parse(text string) (rules Rules) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		r := rule{line: line, pattern: line}
		r.pattern, r.except = strings.CutPrefix(r.pattern, "!")
		r.pattern, r.bound = strings.CutPrefix(r.pattern, "/")
		if r.pattern != "" {
			rules = append(rules, r)
		}
	}
	return rules
}

// Check reports whether a text is ignored, and by which line it was decided; empty when none matched.
func (rs Rules) Check(text string) (ignored bool, line string) {
	for i := len(rs) - 1; i >= 0; i-- {
		if rs[i].matches(text) {
			return !rs[i].except, rs[i].line
		}
	}
	return false, ""
}

func (r rule) matches(text string) bool {
	m := matcher{p: r.pattern, s: text, known: make([]span, len(r.pattern)+1)}
	if r.bound {
		return m.at(0)
	}
	for at := range len(text) + 1 {
		if m.at(at) {
			return true
		}
	}
	return false
}

// A matcher tries one pattern at one place of a text after another. It remembers where a star ended that began at some
// place, and does not look for that again: so its work grows with the text and not with its square.
type matcher struct {
	p, s  string
	known []span // by the place in the pattern where it goes on behind a star
}

// A span says that a star that begins between lo and hi ends at hi, or ends nowhere.
type span struct {
	lo, hi    int
	set, ends bool
}

// at reports whether the pattern matches what begins at si.
func (m *matcher) at(si int) bool {
	const none = -1
	p, s := m.p, m.s
	pi, star, start, from, deep := 0, none, 0, 0, false // of the latest star
	for {
		if pi == len(p) {
			return true
		}
		if p[pi] == '*' {
			if star != none {
				m.known[star] = span{start, from, true, true}
			}
			deep = pi+1 < len(p) && p[pi+1] == '*'
			for pi < len(p) && p[pi] == '*' {
				pi++
			}
			star, start, from = pi, si, si
			if k := m.known[star]; k.set && k.lo <= si && si <= k.hi {
				if !k.ends {
					return false
				}
				from, si = k.hi, k.hi
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
		if from >= len(s) || !deep && s[from] == '/' {
			m.known[star] = span{start, from, true, false}
			return false
		}
		from++
		pi, si = star, from
	}
}

// Load reads a file's rules. A file that is gone has none.
func Load(path string) (Rules, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("ignore rules: %w", err)
	}
	return Parse(string(b)), nil
}

// Ensure makes the file of a new home, and rejects one that cannot be read.
func Ensure(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(path, []byte(Seed), 0o600); err != nil {
			return fmt.Errorf("ignore rules: %w", err)
		}
	}
	_, err := Load(path)
	return err
}
