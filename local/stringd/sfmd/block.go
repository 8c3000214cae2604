package sfmd

import (
	"cmp"
	"slices"
	"strings"
)

// blockHeading is a heading in the text. Its block extends to the next heading of the same or a higher level.
type blockHeading struct {
	start, level int
	id, slug     string // the explicit id, or ""; the id made of the words
}

func (d *Document) blockHeadings() (all []blockHeading) {
	for _, l := range d.lines {
		if !l.isText() || !strings.HasPrefix(l.text, "#") {
			continue
		}
		m := heading.FindStringSubmatch(l.text)
		if m == nil || m[2] == "" {
			continue
		}
		h := blockHeading{start: l.start, level: len(m[1]), slug: Slug(headingID.ReplaceAllString(m[2], ""))}
		if own := headingID.FindStringSubmatch(m[2]); own != nil {
			h.id = own[1]
		}
		all = append(all, h)
	}
	return all
}

// Find finds a block by its id: first marked regions, then headings with that explicit id, then headings by slug.
// start and end are the byte offsets in Source of what an edit replaces.
func (d *Document) Find(id string) (start, end int, ok bool) {
	for _, b := range d.Blocks {
		if b.ID == id && b.Closed {
			return b.Start, b.End, true
		}
	}
	heads := d.blockHeadings()
	at := slices.IndexFunc(heads, func(h blockHeading) bool { return h.id != "" && h.id == id })
	if at < 0 {
		at = slices.IndexFunc(heads, func(h blockHeading) bool { return h.slug == id })
	}
	if at < 0 {
		return 0, 0, false
	}
	for _, h := range heads[at+1:] {
		if h.level <= heads[at].level {
			return heads[at].start, h.start, true
		}
	}
	return heads[at].start, len(d.Source), true
}

// BlockIDs returns the ids for Find: marked regions first, then headings.
func (d *Document) BlockIDs() (ids []string) {
	known := map[string]bool{"": true}
	add := func(id string) {
		if !known[id] {
			ids, known[id] = append(ids, id), true
		}
	}
	for _, b := range d.Blocks {
		if b.Closed {
			add(b.ID)
		}
	}
	for _, h := range d.blockHeadings() {
		add(cmp.Or(h.id, h.slug))
	}
	return ids
}

// Slug makes an id of a heading: lower-case ASCII words joined by dashes.
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
