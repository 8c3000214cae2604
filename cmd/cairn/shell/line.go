package shell

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

var errQuote = errors.New("a quote is not closed")

// Words splits a line into words as a system shell does: at spaces outside of quotes. A backslash escapes the next
// character, except at the beginning of a line, where it begins a command such as \c. # begins a comment.
func Words(line string) (out []string, err error) {
	var word strings.Builder
	some, quote := false, rune(0)
	runes := []rune(strings.TrimSpace(line))
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\' && quote != '\'' && i+1 < len(runes) && len(out)+word.Len() > 0:
			i++
			word.WriteRune(runes[i])
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, some = r, true
		case r == ' ' || r == '\t':
			if some || word.Len() > 0 {
				out = append(out, word.String())
			}
			word.Reset()
			some = false
		case r == '#' && word.Len() == 0 && !some:
			return out, nil
		default:
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil, errQuote
	}
	if some || word.Len() > 0 {
		out = append(out, word.String())
	}
	return out, nil
}

// maxHistory limits the lines read from the history file.
const maxHistory = 1000

// lineHistory is the history of this and earlier shells. It implements term.History.
type lineHistory struct {
	lines []string // oldest first
	path  string   // blank: not stored
}

// openHistory reads the user's history. If it cannot be read, the history starts empty.
func openHistory() *lineHistory {
	all, err := cli.OpenContexts() // the history is next to the contexts
	if err != nil || all.Dir() == "" {
		return &lineHistory{}
	}
	h := &lineHistory{path: filepath.Join(all.Dir(), "history")}
	if b, err := os.ReadFile(h.path); err == nil {
		h.lines = strings.Split(strings.TrimRight(string(b), "\n"), "\n")
		h.lines = h.lines[max(0, len(h.lines)-maxHistory):]
	}
	return h
}

// Add implements term.History. It does not write lines with a token to the file, and ignores write errors.
func (h *lineHistory) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	secret := slices.ContainsFunc([]string{"--token", " -t", "ydb_"}, func(sign string) bool { return strings.Contains(line, sign) }) // tokens begin with ydb_
	if h.path == "" || secret || os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line + "\n") // losing a line of history is not worth an error
	_ = f.Close()
}

// Len implements term.History.
func (h *lineHistory) Len() int { return len(h.lines) }

// At implements term.History.
func (h *lineHistory) At(i int) string { return h.lines[len(h.lines)-1-i] }
