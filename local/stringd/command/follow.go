package command

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/stringd/sfmd"
)

// openApp opens the page of an app's topic.
func (c *call) openApp() (string, error) {
	name, _ := c.topic.app()
	for _, file := range []string{"index.md", "string.md"} {
		page, err := c.openTarget(filepath.Join(c.agent.Home, "apps", name, file), c.agent.Home)
		if f := (*fault)(nil); !errors.As(err, &f) || f.code != NotFound {
			return page, err
		}
	}
	return "", failf(NotFound, "App not found: %s", name)
}

// follow finds the target of a shortcut, and the directory that it is relative to.
func (c *call) follow(id string) (href, dir string, err error) {
	if c.doc != nil {
		here := ""
		if c.doc.path != "" {
			here = filepath.Dir(c.doc.path)
		}
		at := func(links []sfmd.Link) bool {
			i := slices.IndexFunc(links, func(l sfmd.Link) bool { return l.ID == id })
			if i >= 0 {
				href, dir = links[i].Href, here
			}
			return i >= 0
		}
		if at(c.doc.doc.Links) {
			return href, dir, nil
		}
		if v, ok := c.values[id]; ok {
			return valueHref(v), here, nil
		}
		if at(c.doc.auto) {
			return href, dir, nil
		}
		for _, m := range c.doc.menus {
			for _, l := range m.links {
				if id == m.name+"."+l.ID || id == l.ID {
					return l.Href, m.dir, nil
				}
			}
		}
	} else if v, ok := c.values[id]; ok {
		return valueHref(v), "", nil
	}
	return "", "", failf(NotFound, "Shortcut not found: @%s", id)
}

// valueHref lets a memory's id be opened.
func valueHref(v string) string {
	if len(v) == 36 && strings.Count(v, "-") == 4 && !strings.ContainsAny(v, "/.:") {
		return "mem:" + v
	}
	return v
}
