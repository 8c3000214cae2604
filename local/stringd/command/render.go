package command

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/local/stringd/sfmd"
)

// render renders a page. A whole document has hints above its text.
func (c *call) render(p *state.Page) (text string) {
	if p.Block != "" {
		start, end, _ := p.Doc.Find(p.Block)
		text, p.Auto = p.Doc.Render(start, end, nil)
		return text
	}
	text, p.Auto = p.Doc.Render(0, p.Doc.End(), func(d sfmd.Directive) string { return c.include(p.Path, d, []string{p.Path}) })
	if h := c.hints(p); len(h) > 0 {
		return strings.TrimSpace(strings.Join(h, "\n") + "\n\n" + text)
	}
	return text
}

func (c *call) hints(p *state.Page) (h []string) {
	var names []string
	for _, m := range p.Menus {
		key := m.Dir + "\x00" + m.Name
		if c.Menus[key] {
			names = append(names, m.Name)
			continue
		}
		c.Menus[key] = true
		h = append(h, "[nav] "+m.Name+" — first view")
		h = append(h, m.Entries()[:min(len(m.Links), 20)]...)
	}
	if len(names) > 0 {
		h = append(h, "[nav] "+strings.Join(names, ", ")+" — /nav <name>")
	}
	if len(p.Doc.Actions) > 0 {
		h = append(h, "[actions] "+strings.Join(state.ActionIDs(p.Doc), ", ")+"  ·  /act --help (all)  ·  /act.<name> --help")
	}
	if missing := c.missingEnv(p.Doc); len(missing) > 0 {
		h = append(h, "[!] Missing required env: $"+strings.Join(missing, ", $"))
	}
	return h
}

func (c *call) missingEnv(d *sfmd.Document) (missing []string) {
	want := d.Front.List("requires")
	if len(want) == 0 {
		return nil
	}
	env, _ := c.Env() // an unreadable file has none
	for _, k := range want {
		if k = strings.TrimPrefix(k, "$"); env[k] == "" {
			missing = append(missing, k)
		}
	}
	return missing
}

// maxIncludes bounds the depth of includes.
const maxIncludes = 16

// include returns the block of another file that replaces a directive.
func (c *call) include(from string, d sfmd.Directive, stack []string) string {
	path := d.Path
	if path == "" {
		path = filepath.Base(from) + ".source/" + d.Name + ".md"
	}
	real, err := c.Locate(path, filepath.Dir(from))
	if err != nil {
		return "⚠ Include failed: " + d.Name + " (" + err.Error() + ")"
	}
	mark := real + "#" + d.Name
	if slices.Contains(stack, mark) || len(stack) > maxIncludes {
		return "⚠ Circular include detected: " + d.Name
	}
	text, _, err := c.ReadFile(real)
	if err != nil {
		return "⚠ Include failed: " + d.Name + " (" + strings.SplitN(err.Error(), "\n", 2)[0] + ")"
	}
	doc := sfmd.Parse(text)
	start, end, ok := doc.Find(d.Name)
	if !ok && d.Path != "" {
		return "⚠ Include failed: " + d.Name + " (no such block)"
	} else if !ok {
		start, end = 0, doc.End()
	}
	shown, _ := doc.Render(start, end, func(inner sfmd.Directive) string {
		return c.include(real, inner, append(slices.Clone(stack), mark))
	})
	return shown
}
