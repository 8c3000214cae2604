package command

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/sfmd"
)

// openApp opens the page of an app's topic.
func (c *call) openApp() (string, error) {
	name, _ := c.Topic.App()
	for _, file := range []string{"index.md", "string.md"} {
		page, err := c.openTarget(filepath.Join(c.Agent.Home, "apps", name, file), c.Agent.Home)
		if f := (*lang.Fault)(nil); !errors.As(err, &f) || f.Code != lang.NotFound {
			return page, err
		}
	}
	return "", lang.Failf(lang.NotFound, "App not found: %s", name)
}

// follow finds the target of a shortcut, and the directory that it is relative to.
func (c *call) follow(id string) (href, dir string, err error) {
	if c.Doc != nil {
		here := ""
		if c.Doc.Path != "" {
			here = filepath.Dir(c.Doc.Path)
		}
		at := func(links []sfmd.Link) bool {
			i := slices.IndexFunc(links, func(l sfmd.Link) bool { return l.ID == id })
			if i >= 0 {
				href, dir = links[i].Href, here
			}
			return i >= 0
		}
		if at(c.Doc.Doc.Links) {
			return href, dir, nil
		}
		if v, ok := c.Values[id]; ok {
			return valueHref(v), here, nil
		}
		if at(c.Doc.Auto) {
			return href, dir, nil
		}
		for _, m := range c.Doc.Menus {
			for _, l := range m.Links {
				if id == m.Name+"."+l.ID || id == l.ID {
					return l.Href, m.Dir, nil
				}
			}
		}
	} else if v, ok := c.Values[id]; ok {
		return valueHref(v), "", nil
	}
	return "", "", lang.Failf(lang.NotFound, "Shortcut not found: @%s", id)
}

// valueHref lets a memory's id be opened.
func valueHref(v string) string {
	if len(v) == 36 && strings.Count(v, "-") == 4 && !strings.ContainsAny(v, "/.:") {
		return "mem:" + v
	}
	return v
}
