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

// maxMarkdown bounds a file of Markdown, which is read whole.
const maxMarkdown = 16 << 20

func normalized(text string) string { return norm.NFC.String(text) }

// markdown gives the sections of a file: one for each heading that has a text below it, and one for the text before the
// first. The first has the key of the file, so that a file which grows headings keeps its memory.
type markdown struct {
	sections []section
	key      string
	changed  time.Time
	n        int
	taken    map[string]int // keys, each with the number that was given behind it last
}

// A section is a text and the headings that it stands below, the outermost first.
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

// sectionsOf cuts Markdown at its headings. Lines in fences are not headings, and front matter is left out.
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
		case fence == "" && !(strings.HasPrefix(mark, "`") && strings.Contains(trimmed[len(mark):], "`")): // such a line is text
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

// fenceOf returns the fence that a line begins with: three or more of one sign; blank for none.
func fenceOf(line string) string {
	for _, sign := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, sign)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// headingLevel is the number of # that begin a heading; 0 for another line.
func headingLevel(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n == 0 || n > 6 || len(line) > n && line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

// headingText is a heading without the # around it: those at its end belong to it unless a blank parts them from it.
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
		key = m.free(key)
		if at := field.FirstNotUTF8(heading + body); at >= 0 {
			return nil, fmt.Errorf("the section is not UTF-8 at its byte %d; convert the file first", at)
		}
		if heading != "" {
			body = heading + "\n\n" + body
		}
		row := saying(map[string]string{"text": body, "key": key, "source": "markdown"})
		if !m.changed.IsZero() {
			row.say("created_at", m.changed.UTC().Format(time.RFC3339Nano))
		}
		return row, nil
	}
	return nil, io.EOF
}

// free is a key, or where another section has it the key with the next number that none has.
func (m *markdown) free(key string) string {
	own := key
	for ; m.taken[own] > 0; m.taken[key]++ {
		own = fmt.Sprintf("%s-%d", key, m.taken[key]+1)
	}
	m.taken[own]++
	return own
}

// slug is a heading as the end of a key: its letters and digits in lower case, with a - between its words.
func slug(heading string) string {
	words := strings.FieldsFunc(strings.ToLower(normalized(heading)),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "-")
}
