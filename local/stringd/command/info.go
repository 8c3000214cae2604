package command

import (
	"fmt"
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
		cwd := c.CWD()
		if cwd == "" {
			cwd = "~/"
			if c.dir != "" {
				cwd = c.display(c.dir) + "/"
			}
		}
		row("cwd", cwd)
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

func (c *call) documentRows(p *page, row func(key, value string)) {
	if t := p.doc.Front.Text("title"); t != "" {
		row("title", t)
	}
	if p.block != "" {
		row("block", "#"+p.block)
	}
	if ids := p.doc.BlockIDs(); len(ids) > 0 {
		row("blocks", strings.Join(ids, ", "))
	}
	var names []string
	for _, m := range p.menus {
		names = append(names, m.name)
	}
	if len(names) > 0 {
		row("menus", strings.Join(names, ", "))
	}
	var links []string
	for _, l := range p.doc.Links {
		links = append(links, "@"+l.ID)
	}
	if n := len(p.auto); n > 0 {
		links = append(links, fmt.Sprintf("+%d auto", n))
	}
	if len(links) > 0 {
		row("shortcuts", strings.Join(links, ", "))
	}
	var acts []string
	for _, a := range p.doc.Actions {
		acts = append(acts, a.ID+"("+a.Method+")")
	}
	if len(acts) > 0 {
		row("actions", strings.Join(acts, ", "))
	}
}

func (c *call) shownVars() string {
	var rows []string
	for _, k := range c.vars.keys {
		if !strings.HasPrefix(k, "_") {
			rows = append(rows, fmt.Sprintf("{%s}=\"%s\"", k, oneLine(c.vars.m[k], 60)))
		}
	}
	return strings.Join(rows, ", ")
}

func (c *call) help() (string, error) {
	var b strings.Builder
	for _, f := range c.set.commands().families {
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
		for _, a := range c.doc.doc.Actions {
			fmt.Fprintf(&b, "  /act.%s\n", a.ID)
		}
	}
	return under("String Commands", strings.TrimRight(b.String(), "\n")), nil
}

func navigationFamily() []def {
	return []def{{name: "nav", usage: "/nav [menu|page|scaffold]", about: "menus and shortcuts", run: (*call).nav}}
}

// menuPreview is how many entries the list of menus shows of each.
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
		var rows []string
		for _, m := range c.doc.menus {
			rows = append(rows, fmt.Sprintf("%s (%d): %s", m.name, len(m.links), some(m.links)))
		}
		return under("Menus", orElse(strings.Join(rows, "\n"), "(none)")), nil
	}
	for _, m := range c.doc.menus {
		if m.name == c.args {
			var rows []string
			for _, l := range m.links {
				rows = append(rows, fmt.Sprintf("[%s][@%s.%s]", l.Label, m.name, l.ID))
			}
			return under("Menu: "+m.name, orElse(strings.Join(rows, "\n"), "(empty)")), nil
		}
	}
	return "", failf(NotFound, "Menu not found: %s", c.args)
}

func some(links []sfmd.Link) string {
	var ids []string
	for _, l := range links[:min(len(links), menuPreview)] {
		ids = append(ids, l.ID)
	}
	s := strings.Join(ids, ", ")
	if k := len(links) - menuPreview; k > 0 {
		s += fmt.Sprintf(", ... (%d more)", k)
	}
	return s
}

func (c *call) navPage() (string, error) {
	var b strings.Builder
	part := func(title string, links []sfmd.Link) {
		if len(links) == 0 {
			return
		}
		b.WriteString(title + ":\n")
		for _, l := range links {
			fmt.Fprintf(&b, "  @%s → %s\n", l.ID, l.Href)
		}
	}
	part("Shortcuts", c.doc.doc.Links)
	part("Auto", c.doc.auto)
	return under("Page", orElse(strings.TrimRight(b.String(), "\n"), "(no shortcuts)")), nil
}
