package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/stringd/sfmd"
)

func (c *call) info() (string, error) {
	if id, ok := strings.CutPrefix(c.args, "@"); ok {
		if v, there := c.values[id]; there && c.doc == nil {
			return "@" + id + " → " + v, nil
		}
		href, _, err := c.follow(id)
		if err != nil {
			return "", err
		}
		return "@" + id + " → " + href, nil
	}
	var b strings.Builder
	row := func(key, value string) { fmt.Fprintf(&b, "%-11s%s\n", key+":", value) }
	if app, config := c.topic.app(); app != "" {
		row("app", strings.TrimSuffix(app+":"+config, ":"))
	}
	p := c.doc
	switch {
	case p == nil:
		cwd := "~/"
		if c.dir != "" {
			cwd = c.display(c.dir) + "/"
		}
		row("cwd", cmp.Or(c.CWD(), cwd))
		row("file", "(none open)")
	case p.path == "":
		row("uri", p.uri)
	default:
		row("file", c.display(p.path))
		row("cwd", c.display(c.workDir())+"/")
	}
	if p != nil {
		c.documentRows(p, row)
	}
	row("history", fmt.Sprintf("%d entries", len(c.history)))
	if vars := c.shownVars(); vars != "" {
		row("vars", vars)
	}
	if p != nil && len(p.doc.Warnings) > 0 {
		b.WriteString("\nWarnings:\n  " + strings.Join(p.doc.Warnings, "\n  ") + "\n")
	}
	return under("Session info", strings.TrimRight(b.String(), "\n")), nil
}

// documentRows lists the parts of a document by kind, without kinds of which it has none.
func (c *call) documentRows(p *page, row func(key, value string)) {
	links := each(p.doc.Links, func(l sfmd.Link) string { return "@" + l.ID })
	if n := len(p.auto); n > 0 {
		links = append(links, fmt.Sprintf("+%d auto", n))
	}
	block := ""
	if p.block != "" {
		block = "#" + p.block
	}
	for _, r := range [][]string{
		{"title", p.doc.Front.Text("title")},
		{"block", block},
		append([]string{"blocks"}, p.doc.BlockIDs()...),
		append([]string{"menus"}, p.menuNames()...),
		append([]string{"shortcuts"}, links...),
		append([]string{"actions"}, each(p.doc.Actions, func(a sfmd.Action) string { return a.ID + "(" + a.Method + ")" })...),
	} {
		if value := strings.Join(r[1:], ", "); value != "" {
			row(r[0], value)
		}
	}
}

func (c *call) shownVars() string {
	shown := slices.DeleteFunc(slices.Clone(c.vars.keys), func(k string) bool { return strings.HasPrefix(k, "_") })
	return strings.Join(each(shown, func(k string) string { return fmt.Sprintf("{%s}=\"%s\"", k, oneLine(c.vars.m[k], 60)) }), ", ")
}

func (c *call) help() (string, error) {
	var b strings.Builder
	for _, f := range commands().families {
		for _, d := range f {
			if d.usage != "" && (c.topic.Type != Bash || d.shell) {
				fmt.Fprintf(&b, "  %-36s %s\n", d.usage, d.about)
			}
		}
	}
	if c.topic.Type == Bash {
		b.WriteString("  everything else                      goes to the shell\n")
	}
	if c.doc != nil && len(c.doc.doc.Actions) > 0 {
		b.WriteString("\nActions of this page\n")
		for _, id := range actionIDs(c.doc.doc) {
			b.WriteString("  /act." + id + "\n")
		}
	}
	return under("String Commands", strings.TrimRight(b.String(), "\n")), nil
}

func navigationFamily() []def {
	return []def{{name: "nav", usage: "/nav [menu|page|scaffold]", about: "menus and shortcuts", run: (*call).nav}}
}

// menuPreview limits the entries of each menu in the list of menus.
const menuPreview = 5

func (c *call) nav() (string, error) {
	if c.args == "scaffold" {
		return under("Menu template", "[@home Home](index.md)\n[@docs Documentation](docs.md)\n\nSave it as nav.md and add [!nav:main](nav.md) to a document."), nil
	}
	if c.doc == nil {
		return "", noDocument()
	}
	if c.args == "page" {
		return c.navPage()
	}
	if c.args == "" {
		rows := each(c.doc.menus, func(m menu) string { return fmt.Sprintf("%s (%d): %s", m.name, len(m.links), some(m.links)) })
		return under("Menus", cmp.Or(strings.Join(rows, "\n"), "(none)")), nil
	}
	i := slices.IndexFunc(c.doc.menus, func(m menu) bool { return m.name == c.args })
	if i < 0 {
		return "", failf(NotFound, "Menu not found: %s", c.args)
	}
	return under("Menu: "+c.args, cmp.Or(strings.Join(c.doc.menus[i].entries(), "\n"), "(empty)")), nil
}

func some(links []sfmd.Link) string {
	s := strings.Join(each(links[:min(len(links), menuPreview)], func(l sfmd.Link) string { return l.ID }), ", ")
	if k := len(links) - menuPreview; k > 0 {
		s += fmt.Sprintf(", ... (%d more)", k)
	}
	return s
}

func (c *call) navPage() (string, error) {
	var rows []string
	part := func(title string, links []sfmd.Link) {
		if len(links) > 0 {
			rows = append(append(rows, title+":"), each(links, func(l sfmd.Link) string { return "  @" + l.ID + " → " + l.Href })...)
		}
	}
	part("Shortcuts", c.doc.doc.Links)
	part("Auto", c.doc.auto)
	return under("Page", cmp.Or(strings.Join(rows, "\n"), "(no shortcuts)")), nil
}
