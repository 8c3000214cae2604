package sfmd

import (
	"slices"
	"strings"
)

// Find looks a block up by its id: marked regions first, then headings that carry the id, then headings by slug.
// start and end are byte offsets in Source of what an edit of the block replaces.
func (d *Document) Find(id string) (start, end int, ok bool) {
	for _, b := range d.Blocks {
		if b.ID == id && b.Closed {
			return b.Start, b.End, true
		}
	}
	for i, l := range d.lines {
		if m := headingID.FindStringSubmatch(headText(l)); m != nil && m[1] == id {
			return d.section(i)
		}
	}
	for i, l := range d.lines {
		if t := headText(l); t != "" && Slug(headingID.ReplaceAllString(t, "")) == id {
			return d.section(i)
		}
	}
	return 0, 0, false
}

// headText is a heading's text; empty for other lines.
func headText(l line) string {
	if !l.plain() || !strings.HasPrefix(l.text, "#") {
		return ""
	}
	if m := heading.FindStringSubmatch(l.text); m != nil {
		return m[2]
	}
	return ""
}

// section runs from a heading to the next of the same or a higher level.
func (d *Document) section(at int) (start, end int, ok bool) {
	level := len(heading.FindStringSubmatch(d.lines[at].text)[1])
	for _, l := range d.lines[at+1:] {
		if headText(l) != "" && len(heading.FindStringSubmatch(l.text)[1]) <= level {
			return d.lines[at].start, l.start, true
		}
	}
	return d.lines[at].start, len(d.Source), true
}

// BlockIDs are the ids that Find knows: marked regions, then headings' own ids.
func (d *Document) BlockIDs() (ids []string) {
	add := func(id string) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, b := range d.Blocks {
		if b.Closed {
			add(b.ID)
		}
	}
	for _, l := range d.lines {
		if t := headText(l); t != "" {
			if m := headingID.FindStringSubmatch(t); m != nil {
				add(m[1])
			} else if s := Slug(t); s != "" {
				add(s)
			}
		}
	}
	return ids
}

// Slug is a heading as an id: lower case ASCII words joined by dashes.
func Slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r == ' ' || r == '\t':
			b.WriteByte(' ')
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-':
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), "-")
}
