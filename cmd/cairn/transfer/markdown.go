package transfer

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/cairndb/cairn/wire/field"
)

// maxMarkdown bounds the size of a Markdown file, which is read into memory.
const maxMarkdown = 16 << 20

func normalize(text string) string { return norm.NFC.String(text) }

// markdown is a rowReader of a Markdown file. It yields a row for each heading with a text below it, and one for the
// text before the first heading. The first row has the key of the file, so that adding headings later keeps its
// memory.
type markdown struct {
	sections []section
	key      string
	changed  time.Time
	n        int
	taken    map[string]int // used keys, each with the last suffix number given to it
}

// A section is a text and the headings above it, outermost first.
type section struct {
	headings []string
	body     []string
}

func newMarkdown(in io.Reader, src source) (*markdown, error) {
	raw, err := io.ReadAll(io.LimitReader(in, maxMarkdown+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxMarkdown {
		return nil, fmt.Errorf("over %d MiB of Markdown", maxMarkdown>>20)
	}
	m := &markdown{sections: sectionsOf(string(raw)), key: src.key, taken: map[string]int{}}
	if info, err := os.Stat(src.path); err == nil {
		m.changed = info.ModTime()
	}
	return m, nil
}

// sectionsOf splits Markdown at its headings. It ignores headings inside fences, and omits front matter.
func sectionsOf(text string) (all []section) {
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n"), "\n")
	if strings.TrimSpace(lines[0]) == "---" {
		for i, line := range lines[1:] {
			if strings.TrimSpace(line) == "---" {
				lines = lines[i+2:]
				break
			}
		}
	}
	var levels []int
	now, fence := section{}, ""
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		mark := fenceOf(trimmed)
		switch {
		case fence == "" && !(strings.HasPrefix(mark, "`") && strings.Contains(trimmed[len(mark):], "`")): // a backtick fence with another backtick is inline code
			fence = mark
		case fence != "" && strings.HasPrefix(mark, fence) && trimmed == mark:
			fence = ""
		}
		level := 0
		if fence == "" {
			level = headingLevel(line)
		}
		if level == 0 {
			now.body = append(now.body, line)
			continue
		}
		all = append(all, now)
		for len(levels) > 0 && levels[len(levels)-1] >= level {
			levels = levels[:len(levels)-1]
		}
		levels = append(levels, level)
		outer := append([]string{}, now.headings[:min(len(levels)-1, len(now.headings))]...)
		now = section{headings: append(outer, headingText(trimmed))}
	}
	return append(all, now)
}

// fenceOf returns the fence at the beginning of a line: three or more backticks or tildes; blank for none.
func fenceOf(line string) string {
	for _, sign := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, sign)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// headingLevel returns the level of a heading, its number of #; 0 if the line is not a heading.
func headingLevel(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n == 0 || n > 6 || len(line) > n && line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

// headingText returns the text of a heading. It also strips # at the end if a blank precedes them.
func headingText(line string) string {
	text := strings.TrimSpace(strings.TrimLeft(line, "#"))
	if open := strings.TrimRight(text, "#"); open == "" || strings.HasSuffix(open, " ") || strings.HasSuffix(open, "\t") {
		return strings.TrimSpace(open)
	}
	return text
}

func (m *markdown) row() int { return m.n }

func (m *markdown) next() (importRow, error) {
	for len(m.sections) > 0 {
		s := m.sections[0]
		m.sections = m.sections[1:]
		body := strings.TrimSpace(strings.Join(s.body, "\n"))
		if body == "" {
			continue
		}
		m.n++
		key, heading := m.key, strings.Join(s.headings, " > ")
		if m.n > 1 {
			key += "#" + slug(s.headings[len(s.headings)-1])
		}
		key = m.uniqueKey(key)
		if at := field.FirstNotUTF8(heading + body); at >= 0 {
			return nil, fmt.Errorf("the section is not UTF-8 at its byte %d; convert the file first", at)
		}
		if heading != "" {
			body = heading + "\n\n" + body
		}
		row := textRow(map[string]string{"text": body, "key": key, "source": "markdown"})
		if !m.changed.IsZero() {
			row.setText("created_at", m.changed.UTC().Format(time.RFC3339Nano))
		}
		return row, nil
	}
	return nil, io.EOF
}

// uniqueKey returns the key, with a number as a suffix if another section has the key already.
func (m *markdown) uniqueKey(key string) string {
	own := key
	for ; m.taken[own] > 0; m.taken[key]++ {
		own = fmt.Sprintf("%s-%d", key, m.taken[key]+1)
	}
	m.taken[own]++
	return own
}

// slug converts a heading to the suffix of a key: its words in lower case, joined by "-".
func slug(heading string) string {
	words := strings.FieldsFunc(strings.ToLower(normalize(heading)),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "-")
}
