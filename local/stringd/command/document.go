package command

import (
	"cmp"
	"strings"
)

const maxHistory = 100

func documentFamily() []def {
	return []def{
		{name: "open", usage: "/open <path|uri|path#block|@id|dir|mem:...>", about: "open a document", run: (*call).open},
		{name: "back", usage: "/back", about: "return to the document before", run: (*call).back},
		{name: "refresh", usage: "/refresh", about: "read the document again", run: (*call).refresh},
		{name: "close", usage: "/close", about: "close the document, or the shell", shell: true, run: (*call).close},
		{name: "source", usage: "/source", about: "the document as it is written", run: (*call).source},
		{name: "ls", usage: "/ls [dir]", about: "list files", run: (*call).ls},
		{name: "info", usage: "/info [@id]", about: "what this topic holds", shell: true, run: (*call).info},
		{name: "help", usage: "/help", about: "this list", shell: true, run: (*call).help},
	}
}

func (c *call) open() (string, error) {
	target := unquote(c.args)
	base := c.workDir()
	if target == "" {
		switch {
		case c.topic.Type == App:
			return c.openApp()
		case c.doc == nil:
			return "", failf(InvalidTarget, "Usage: /open <path>")
		}
		target = c.doc.uri
		if c.doc.block != "" {
			target += "#" + c.doc.block
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
		return c.openMemory(target)
	case "http", "https":
		return "", failf(LoadError, "HTTP loading is disabled: %s", target)
	}
	path, block := splitBlock(target)
	if path == "" && c.doc != nil { // #block of this document
		path = c.doc.path
	}
	real, err := c.locate(path, base)
	if err != nil {
		return "", err
	}
	if listing, err := c.list(real); err == nil {
		c.dir = real
		return listing, nil
	}
	p, err := c.load(real, block)
	if err != nil {
		return "", err
	}
	return c.show("Opened", p, true)
}

// show makes p the session's document and renders it.
func (c *call) show(verb string, p *page, push bool) (string, error) {
	if push && c.doc != nil {
		c.history = append(c.history, c.doc)
		if len(c.history) > maxHistory {
			c.history = c.history[1:]
		}
	}
	c.doc, c.dir = p, ""
	text := c.render(p)
	p.text = text
	name := c.nameOf(p)
	if p.block != "" {
		name += "#" + p.block
	}
	out := under(verb+" "+name, text)
	if id := p.doc.Front.Text("default"); id != "" && p.block == "" && verb == "Opened" {
		if done, err := c.perform(p, id, ""); err == nil {
			out += "\n\n---\n\n" + done
		}
	}
	return out, nil
}

func (c *call) back() (string, error) {
	if len(c.history) == 0 {
		return "", failf(InvalidTarget, "No previous page in history.")
	}
	last := c.history[len(c.history)-1]
	c.history = c.history[:len(c.history)-1]
	if fresh, err := c.again(last); err == nil {
		return c.show("Back to", fresh, false)
	}
	c.doc, c.dir = last, ""
	return under("Back to "+c.nameOf(last), last.text), nil
}

// again reads a page again.
func (c *call) again(p *page) (*page, error) {
	if p.path == "" {
		return c.memoryPage(p.uri)
	}
	real, err := c.locate(p.path, c.agent.Home)
	if err != nil {
		return nil, err
	}
	return c.load(real, p.block)
}

func (c *call) refresh() (string, error) {
	if c.doc == nil {
		return "", noDocument()
	}
	p, err := c.again(c.doc)
	if err != nil {
		return "", err
	}
	return c.show("Refreshed", p, false)
}

func noDocument() error { return failf(InvalidTarget, "No document open. Use /open <path> first.") }

func (c *call) close() (string, error) {
	if c.topic.Type == Bash {
		c.shell.Reset()
		return "Closed: " + c.topic.Name, nil
	}
	if c.doc == nil {
		return "", failf(InvalidTarget, "No document open.")
	}
	uri := c.doc.uri
	c.doc, c.dir, c.vars = nil, "", newOrdered()
	clear(c.values)
	c.shell.Reset()
	return "Closed: " + uri, nil
}

func (c *call) source() (string, error) {
	if c.doc == nil {
		return "", noDocument()
	}
	return under("[source: "+c.doc.uri+"]", c.doc.doc.Source), nil
}

func (c *call) ls() (string, error) {
	if c.topic.Type != Tab {
		return "", failf(InvalidTarget, "/ls works in tab topics only.")
	}
	dir, err := c.locate(cmp.Or(unquote(c.args), "."), c.workDir())
	if err != nil {
		return "", err
	}
	return c.list(dir)
}

func (c *call) list(dir string) (string, error) {
	entries, err := c.readDir(dir)
	if err != nil {
		return "", failf(NotFound, "Directory not found: %s", c.display(dir))
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
	return under("Listing "+c.display(dir)+"/", cmp.Or(strings.Join(append(dirs, files...), "\n"), "  (empty)")), nil
}
