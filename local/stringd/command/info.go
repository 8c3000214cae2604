package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/local/stringd/sfmd"
	"github.com/cairndb/cairn/node/api"
)

func (c *call) info() (string, error) {
	if id, ok := strings.CutPrefix(c.args, "@"); ok {
		if v, found := c.Shortcuts[id]; found && c.Doc == nil {
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
	if app, config := c.Topic.App(); app != "" {
		row("app", strings.TrimSuffix(app+":"+config, ":"))
	}
	p := c.Doc
	switch {
	case p == nil:
		cwd := "~/"
		if c.Dir != "" {
			cwd = c.Display(c.Dir) + "/"
		}
		row("cwd", cmp.Or(c.CWD(), cwd))
		row("file", "(none open)")
	case p.Path == "":
		row("uri", p.URI)
	default:
		row("file", c.Display(p.Path))
		row("cwd", c.Display(c.WorkDir())+"/")
	}
	if p != nil {
		c.documentRows(p, row)
	}
	row("history", fmt.Sprintf("%d entries", len(c.History)))
	if vars := c.shownVars(); vars != "" {
		row("vars", vars)
	}
	if p != nil && len(p.Doc.Warnings) > 0 {
		b.WriteString("\nWarnings:\n  " + strings.Join(p.Doc.Warnings, "\n  ") + "\n")
	}
	return lang.Titled("Session info", strings.TrimRight(b.String(), "\n")), nil
}

// documentRows lists the parts of a document by kind, without empty kinds.
func (c *call) documentRows(p *state.Page, row func(key, value string)) {
	links := api.Each(p.Doc.Links, func(l sfmd.Link) string { return "@" + l.ID })
	if n := len(p.Auto); n > 0 {
		links = append(links, fmt.Sprintf("+%d auto", n))
	}
	block := ""
	if p.Block != "" {
		block = "#" + p.Block
	}
	for _, r := range [][]string{
		{"title", p.Doc.Front.Text("title")},
		{"block", block},
		append([]string{"blocks"}, p.Doc.BlockIDs()...),
		append([]string{"menus"}, p.MenuNames()...),
		append([]string{"shortcuts"}, links...),
		append([]string{"actions"}, api.Each(p.Doc.Actions, func(a sfmd.Action) string { return a.ID + "(" + a.Method + ")" })...),
	} {
		if value := strings.Join(r[1:], ", "); value != "" {
			row(r[0], value)
		}
	}
}

func (c *call) shownVars() string {
	shown := slices.DeleteFunc(slices.Clone(c.Vars.Keys), func(k string) bool { return strings.HasPrefix(k, "_") })
	return strings.Join(api.Each(shown, func(k string) string { return fmt.Sprintf("{%s}=\"%s\"", k, oneLine(c.Vars.Values[k], 60)) }), ", ")
}

func (c *call) help() (string, error) {
	var b strings.Builder
	for _, d := range commands().general {
		if d.usage != "" && (c.Topic.Type != lang.Bash || d.shell) {
			fmt.Fprintf(&b, "  %-36s %s\n", d.usage, d.about)
		}
	}
	if c.Topic.Type == lang.Bash {
		b.WriteString("  everything else                      goes to the shell\n")
	}
	if c.Doc != nil && len(c.Doc.Doc.Actions) > 0 {
		b.WriteString("\nActions of this page\n")
		for _, id := range state.ActionIDs(c.Doc.Doc) {
			b.WriteString("  /act." + id + "\n")
		}
	}
	return lang.Titled("String Commands", strings.TrimRight(b.String(), "\n")), nil
}

// menuPreview bounds the entries of each menu in the list of menus.
const menuPreview = 5

func (c *call) nav() (string, error) {
	if c.args == "scaffold" {
		return lang.Titled("Menu template",
			"[@home Home](index.md)\n[@docs Documentation](docs.md)\n\nSave it as nav.md and add [!nav:main](nav.md) to a document."), nil
	}
	if c.Doc == nil {
		return "", errNoDocument
	}
	if c.args == "page" {
		return c.navPage()
	}
	if c.args == "" {
		rows := api.Each(c.Doc.Menus, func(m state.Menu) string {
			return fmt.Sprintf("%s (%d): %s", m.Name, len(m.Links), previewLinks(m.Links))
		})
		return lang.Titled("Menus", cmp.Or(strings.Join(rows, "\n"), "(none)")), nil
	}
	i := slices.IndexFunc(c.Doc.Menus, func(m state.Menu) bool { return m.Name == c.args })
	if i < 0 {
		return "", lang.Errorf(lang.NotFound, "Menu not found: %s", c.args)
	}
	return lang.Titled("Menu: "+c.args, cmp.Or(strings.Join(c.Doc.Menus[i].Entries(), "\n"), "(empty)")), nil
}

func previewLinks(links []sfmd.Link) string {
	s := strings.Join(api.Each(links[:min(len(links), menuPreview)], func(l sfmd.Link) string { return l.ID }), ", ")
	if k := len(links) - menuPreview; k > 0 {
		s += fmt.Sprintf(", ... (%d more)", k)
	}
	return s
}

func (c *call) navPage() (string, error) {
	var rows []string
	part := func(title string, links []sfmd.Link) {
		if len(links) > 0 {
			rows = append(append(rows, title+":"), api.Each(links, func(l sfmd.Link) string { return "  @" + l.ID + " → " + l.Href })...)
		}
	}
	part("Shortcuts", c.Doc.Doc.Links)
	part("Auto", c.Doc.Auto)
	return lang.Titled("Page", cmp.Or(strings.Join(rows, "\n"), "(no shortcuts)")), nil
}
