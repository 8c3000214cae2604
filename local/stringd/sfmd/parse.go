package sfmd

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// Document is a parsed file. Its fields must not be changed.
type Document struct {
	Source    string
	Front     Front
	Blocks    []Block // in order of their opening marks, including unclosed ones
	Menus     []Directive
	Links     []Link // explicit shortcuts, in order of the text
	Actions   []Action
	Responses map[string]string // templates by action id
	Warnings  []string

	lines []line
	refs  map[string]string // [name]: url
}

// Block is a marked region. Start and End are the byte offsets in Source of the text between the marker lines.
type Block struct {
	ID         string
	Start, End int
	Closed     bool
}

// Directive refers to another file.
type Directive struct{ Name, Path string }

// Link is a shortcut.
type Link struct{ ID, Label, Href string }

// line is one line of the source.
type line struct {
	start, end int    // offsets; end is before the newline
	text       string // without CR
	fence      int    // 1 + index of the fence it belongs to, delimiters included; 0 outside
	front      bool
	hidden     bool // of an action or its template
}

// A fence is a block of code.
type fence struct {
	open, close int // line indexes; for an unclosed fence, close is the last line
	info        string
}

const ident = `[A-Za-z0-9_-]+`

var (
	openMark  = regexp.MustCompile(`^<!--\s*#(` + ident + `)\s*-->$`)
	closeMark = regexp.MustCompile(`^<!--\s*/(` + ident + `)\s*-->$`)
	directive = regexp.MustCompile(`^\[!(nav|menu|include|requirements)(?::([^\]]*))?\]\(([^)]*)\)$`)
	refDef    = regexp.MustCompile(`^\[([^\]]+)\]:\s*(\S+)\s*$`)
	shortcut  = regexp.MustCompile(`\[@(` + ident + `(?:\.` + ident + `)?)(?:\s+([^\]]*))?\]\(([^)]*)\)`)
	shortRef  = regexp.MustCompile(`\[([^\]@!][^\]]*)\]\[@(` + ident + `(?:\.` + ident + `)?)\]`)
	fenceMark = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})\\s*(.*)$")
	heading   = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*#*\s*$`)
	headingID = regexp.MustCompile(`(?:\[\])?\{#(` + ident + `)\}\s*$`)
)

// Parse parses a document. It accepts any text and reports errors in Warnings.
func Parse(source string) *Document {
	d := &Document{Source: source, Responses: map[string]string{}, refs: map[string]string{}}
	d.split()
	d.readFront()
	fences := d.readFences()
	d.readBlocks()
	d.readLinks()
	d.readActions(fences)
	return d
}

func (d *Document) warn(format string, args ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
}

func (d *Document) split() {
	for at := 0; at <= len(d.Source); {
		end := strings.IndexByte(d.Source[at:], '\n')
		if end < 0 {
			end = len(d.Source)
		} else {
			end += at
		}
		d.lines = append(d.lines, line{start: at, end: end, text: strings.TrimSuffix(d.Source[at:end], "\r")})
		at = end + 1
	}
}

// readFront reads the front matter, if the first line is --- and it has an end.
func (d *Document) readFront() {
	if strings.TrimRight(d.lines[0].text, " \t") != "---" {
		return
	}
	for i := 1; i < len(d.lines); i++ {
		if strings.TrimRight(d.lines[i].text, " \t") != "---" {
			continue
		}
		for j := range i + 1 {
			d.lines[j].front = true
		}
		var err error
		// Including the opening mark, so that line numbers in errors are right.
		if d.Front, err = parseFront(d.Source[:d.lines[i].start]); err != nil {
			d.Front = nil
			d.warn("INVALID_FRONTMATTER: %s", strings.Join(strings.Fields(err.Error()), " "))
		}
		return
	}
}

// readFences marks the lines of code.
func (d *Document) readFences() (fences []fence) {
	for i := 0; i < len(d.lines); i++ {
		m := fenceMark.FindStringSubmatch(d.lines[i].text)
		if m == nil || d.lines[i].front || m[1][0] == '`' && strings.Contains(m[2], "`") {
			continue
		}
		f := fence{open: i, close: len(d.lines) - 1, info: strings.TrimSpace(m[2])}
		for j := i + 1; j < len(d.lines); j++ {
			if c := fenceMark.FindStringSubmatch(d.lines[j].text); c != nil && c[1][0] == m[1][0] && len(c[1]) >= len(m[1]) &&
				strings.TrimSpace(c[2]) == "" {
				f.close = j
				break
			}
		}
		fences = append(fences, f)
		for j := i; j <= f.close; j++ {
			d.lines[j].fence = len(fences)
		}
		i = f.close
	}
	return fences
}

// isText reports whether a line is neither code nor front matter.
func (l line) isText() bool { return l.fence == 0 && !l.front }

func (d *Document) readBlocks() {
	var open []int // indexes of open blocks
	known, opened := map[string]bool{}, map[string]int{}
	for _, l := range d.lines {
		t := strings.TrimSpace(l.text)
		if !l.isText() || !strings.HasPrefix(t, "<!--") {
			continue
		}
		if m := openMark.FindStringSubmatch(t); m != nil {
			if known[m[1]] {
				d.warn("DUPLICATE_BLOCK_ID: #%s", m[1])
			}
			known[m[1]] = true
			opened[m[1]]++
			open = append(open, len(d.Blocks))
			d.Blocks = append(d.Blocks, Block{ID: m[1], Start: min(l.end+1, len(d.Source))})
			continue
		}
		m := closeMark.FindStringSubmatch(t)
		if m == nil {
			continue
		}
		if opened[m[1]] == 0 {
			d.warn("UNEXPECTED_BLOCK_CLOSE: /%s", m[1])
			continue
		}
		at := len(open) - 1
		for d.Blocks[open[at]].ID != m[1] {
			at--
		}
		for _, k := range open[at:] {
			opened[d.Blocks[k].ID]--
		}
		for _, k := range open[at+1:] {
			d.warn("MISMATCHED_BLOCK: #%s is open at /%s", d.Blocks[k].ID, m[1])
		}
		b := &d.Blocks[open[at]]
		b.End, b.Closed = max(l.start, b.Start), true
		open = open[:at]
	}
	for _, k := range open {
		d.warn("UNCLOSED_BLOCK: #%s", d.Blocks[k].ID)
	}
}

// readLinks collects directives, reference definitions and shortcuts.
func (d *Document) readLinks() {
	for _, l := range d.lines {
		if !l.isText() {
			continue
		}
		t := strings.TrimSpace(l.text)
		if m := directive.FindStringSubmatch(t); m != nil {
			d.readDirective(m)
		} else if m := refDef.FindStringSubmatch(t); m != nil {
			d.refs[strings.ToLower(m[1])] = m[2]
		}
	}
	idCount, seen := map[string]int{}, map[[2]string]bool{}
	for _, l := range d.lines {
		if !l.isText() {
			continue
		}
		outsideCode(l.text, func(s string) string {
			for _, m := range shortcut.FindAllStringSubmatch(s, -1) {
				d.addLink(idCount, seen, Link{m[1], strings.TrimSpace(m[2]), m[3]})
			}
			for _, m := range shortRef.FindAllStringSubmatch(s, -1) {
				if href, ok := d.refs["@"+strings.ToLower(m[2])]; ok {
					d.addLink(idCount, seen, Link{m[2], m[1], href})
				}
			}
			return s
		})
	}
}

func (d *Document) readDirective(m []string) {
	kind, name, path := m[1], strings.TrimSpace(m[2]), strings.TrimSpace(m[3])
	if kind == "requirements" {
		return
	}
	if name == "" {
		d.warn("MISSING_IDENTIFIER: [!%s]", kind)
		return
	}
	if kind != "include" { // Render inserts includes
		d.Menus = append(d.Menus, Directive{name, path})
	}
}

// addLink adds a shortcut. A repeated id gets the next free number; a repeated link is skipped.
func (d *Document) addLink(idCount map[string]int, seen map[[2]string]bool, l Link) {
	if seen[[2]string{l.ID, l.Href}] {
		return
	}
	idCount[l.ID]++
	if n := idCount[l.ID]; n > 1 {
		l.ID = fmt.Sprint(l.ID, n)
	}
	seen[[2]string{l.ID, l.Href}] = true
	l.Label = cmp.Or(l.Label, l.ID)
	d.Links = append(d.Links, l)
}

// outsideCode applies f to the text outside of inline code.
func outsideCode(s string, f func(string) string) string {
	if !strings.Contains(s, "`") {
		return f(s)
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '`')
		if i < 0 {
			break
		}
		n := i
		for n < len(s) && s[n] == '`' {
			n++
		}
		ticks := s[i:n]
		end := closingTicks(s[n:], ticks)
		if end < 0 {
			break
		}
		b.WriteString(f(s[:i]))
		b.WriteString(s[i : n+end+len(ticks)])
		s = s[n+end+len(ticks):]
	}
	b.WriteString(f(s))
	return b.String()
}

// closingTicks finds a run of exactly as many backticks, or returns -1.
func closingTicks(s, ticks string) int {
	for at := 0; ; {
		i := strings.Index(s[at:], ticks)
		if i < 0 {
			return -1
		}
		i += at
		end := i + len(ticks)
		if end >= len(s) || s[end] != '`' {
			return i
		}
		for end < len(s) && s[end] == '`' {
			end++
		}
		at = end
	}
}
