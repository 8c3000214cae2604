package command

import (
	"cmp"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
)

const maxHistory = 100

func (c *call) open() (string, error) {
	target := lang.Unquote(c.args)
	base := c.WorkDir()
	if target == "" {
		switch {
		case c.Topic.Type == lang.App:
			return c.openApp()
		case c.Doc == nil:
			return "", lang.Errorf(lang.InvalidTarget, "Usage: /open <path>")
		}
		target = c.Doc.URI
		if c.Doc.Block != "" {
			target += "#" + c.Doc.Block
		}
	}
	if id, ok := strings.CutPrefix(target, "@"); ok {
		href, dir, err := c.follow(id)
		if err != nil {
			return "", err
		}
		target, base = href, cmp.Or(dir, base)
	}
	return c.openTarget(target, base)
}

func (c *call) openTarget(target, base string) (string, error) {
	switch scheme, _, _ := strings.Cut(target, ":"); scheme {
	case "mem":
		p, err := c.memoryPage(target)
		if err != nil {
			return "", err
		}
		return c.showPage("Opened", p)
	case "http", "https":
		return "", lang.Errorf(lang.LoadError, "HTTP loading is disabled: %s", target)
	}
	path, block := state.SplitBlock(target)
	if path == "" && c.Doc != nil { // a block of the open document
		path = c.Doc.Path
	}
	real, err := c.Locate(path, base)
	if err != nil {
		return "", err
	}
	if listing, err := c.list(real); err == nil {
		c.Dir = real
		return listing, nil
	}
	p, err := c.Load(real, block)
	if err != nil {
		return "", err
	}
	return c.showPage("Opened", p)
}

// showPage makes p the document of the session and renders it. /back returns from a page that was opened.
func (c *call) showPage(verb string, p *state.Page) (string, error) {
	opened := verb == "Opened"
	if opened && c.Doc != nil {
		c.History = append(c.History, c.Doc)
		if len(c.History) > maxHistory {
			c.History = c.History[1:]
		}
	}
	c.Doc, c.Dir = p, ""
	text := c.render(p)
	p.Text = text
	name := c.NameOf(p)
	if p.Block != "" {
		name += "#" + p.Block
	}
	out := lang.Titled(verb+" "+name, text)
	if id := p.Doc.Front.Text("default"); id != "" && p.Block == "" && opened {
		if done, err := c.runAction(p, id, ""); err == nil {
			out += "\n\n---\n\n" + done
		}
	}
	return out, nil
}

func (c *call) back() (string, error) {
	if len(c.History) == 0 {
		return "", lang.Errorf(lang.InvalidTarget, "No previous page in history.")
	}
	last := c.History[len(c.History)-1]
	c.History = c.History[:len(c.History)-1]
	if reloaded, err := c.reload(last); err == nil {
		return c.showPage("Back to", reloaded)
	}
	c.Doc, c.Dir = last, ""
	return lang.Titled("Back to "+c.NameOf(last), last.Text), nil
}

// reload reads a page again.
func (c *call) reload(p *state.Page) (*state.Page, error) {
	if p.Path == "" {
		return c.memoryPage(p.URI)
	}
	real, err := c.Locate(p.Path, c.Agent.Home)
	if err != nil {
		return nil, err
	}
	return c.Load(real, p.Block)
}

func (c *call) refresh() (string, error) {
	if c.Doc == nil {
		return "", errNoDocument
	}
	p, err := c.reload(c.Doc)
	if err != nil {
		return "", err
	}
	return c.showPage("Refreshed", p)
}

var errNoDocument = lang.Errorf(lang.InvalidTarget, "No document open. Use /open <path> first.")

func (c *call) close() (string, error) {
	if c.Topic.Type == lang.Bash {
		c.Shell.Reset()
		return "Closed: " + c.Topic.Name, nil
	}
	if c.Doc == nil {
		return "", lang.Errorf(lang.InvalidTarget, "No document open.")
	}
	uri := c.Doc.URI
	c.Doc, c.Dir, c.Vars = nil, "", state.NewOrderedMap()
	clear(c.Shortcuts)
	c.Shell.Reset()
	return "Closed: " + uri, nil
}

func (c *call) source() (string, error) {
	if c.Doc == nil {
		return "", errNoDocument
	}
	return lang.Titled("[source: "+c.Doc.URI+"]", c.Doc.Doc.Source), nil
}

func (c *call) ls() (string, error) {
	if c.Topic.Type != lang.Tab {
		return "", lang.Errorf(lang.InvalidTarget, "/ls works in tab topics only.")
	}
	dir, err := c.Locate(cmp.Or(lang.Unquote(c.args), "."), c.WorkDir())
	if err != nil {
		return "", err
	}
	return c.list(dir)
}

func (c *call) list(dir string) (string, error) {
	entries, err := c.ReadDir(dir)
	if err != nil {
		return "", lang.Errorf(lang.NotFound, "Directory not found: %s", c.Display(dir))
	}
	var dirs, files []string
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			dirs = append(dirs, "  "+e.Name()+"/")
		default:
			files = append(files, "  "+e.Name())
		}
	}
	return lang.Titled("Listing "+c.Display(dir)+"/", cmp.Or(strings.Join(append(dirs, files...), "\n"), "  (empty)")), nil
}
