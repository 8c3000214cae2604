package sfmd

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

var (
	anyLink     = regexp.MustCompile(`(!?)\[([^\]@!][^\]]*)\]\(([^)\s]+)\)`)
	refLink     = regexp.MustCompile(`\[([^\]@!][^\]]*)\]\[([^\]@][^\]]*)?\]`)
	simpleLabel = regexp.MustCompile(`^[A-Za-z0-9 -]{1,20}$`)
)

const maxHref = 40

// End returns the end offset for rendering the whole document.
func (d *Document) End() int { return len(d.Source) + 1 }

// Render renders the part of the document between two offsets for an agent. auto holds the shortcuts that it made for
// long links. include, if not nil, returns the text that replaces an include directive.
func (d *Document) Render(start, end int, include func(Directive) string) (text string, auto []Link) {
	r := renderer{d: d, used: map[string]int{}, short: map[Link]string{}}
	for _, l := range d.Links {
		r.used[l.ID]++
	}
	var out []string
	for _, l := range d.lines {
		if l.start < start || l.start >= end || l.front || l.hidden {
			continue
		}
		if l.fence > 0 {
			out = append(out, l.text)
			continue
		}
		t := strings.TrimSpace(l.text)
		if m := directive.FindStringSubmatch(t); m != nil {
			if m[1] == "include" && include != nil && strings.TrimSpace(m[2]) != "" {
				out = append(out, include(Directive{strings.TrimSpace(m[2]), strings.TrimSpace(m[3])}))
			}
			continue
		}
		if openMark.MatchString(t) || closeMark.MatchString(t) || refDef.MatchString(t) {
			continue
		}
		out = append(out, outsideCode(l.text, r.links))
	}
	return strings.TrimSpace(strings.Join(out, "\n")), r.auto
}

type renderer struct {
	d    *Document
	used map[string]int
	auto []Link

	short    map[Link]string // ids of the shortcuts in auto
	numbered int
}

// links rewrites the links in a text.
func (r *renderer) links(s string) string {
	if !strings.Contains(s, "[") {
		return s
	}
	s = rewrite(shortcut, s, func(m []string) string {
		return "[" + cmp.Or(strings.TrimSpace(m[2]), m[1]) + "][@" + m[1] + "]"
	})
	s = rewrite(refLink, s, func(m []string) string {
		if href, ok := r.d.refs[strings.ToLower(cmp.Or(m[2], m[1]))]; ok {
			return "[" + m[1] + "](" + href + ")"
		}
		return m[0]
	})
	return rewrite(anyLink, s, func(m []string) string {
		href := m[3]
		if m[1] == "!" || !strings.HasPrefix(href, "http://") && !strings.HasPrefix(href, "https://") && len(href) <= maxHref {
			return m[0]
		}
		return "[" + m[2] + "][@" + r.shorten(m[2], href) + "]"
	})
}

// rewrite replaces the matches of a pattern. f gets the match and its groups.
func rewrite(pattern *regexp.Regexp, s string, f func(m []string) string) string {
	return pattern.ReplaceAllStringFunc(s, func(match string) string { return f(pattern.FindStringSubmatch(match)) })
}

// shorten makes a shortcut for a link: the slug of its label, or a number.
func (r *renderer) shorten(label, href string) string {
	link := Link{Label: label, Href: href}
	if id, ok := r.short[link]; ok {
		return id
	}
	id := Slug(label)
	if !simpleLabel.MatchString(label) || id == "" {
		r.numbered++
		id = fmt.Sprint("link-", r.numbered)
	}
	r.used[id]++
	if n := r.used[id]; n > 1 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	r.short[link] = id
	r.auto = append(r.auto, Link{id, label, href})
	return id
}
