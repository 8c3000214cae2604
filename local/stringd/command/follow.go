package command

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/local/stringd/sfmd"
)

// openApp opens the page of an app's topic.
func (c *call) openApp() (string, error) {
	name, _ := c.Topic.App()
	for _, file := range []string{"index.md", "string.md"} {
		page, err := c.openTarget(filepath.Join(c.Agent.Home, "apps", name, file), c.Agent.Home)
		if f := (*lang.Error)(nil); !errors.As(err, &f) || f.Code != lang.NotFound {
			return page, err
		}
	}
	return "", lang.Errorf(lang.NotFound, "App not found: %s", name)
}

// follow finds the target of a shortcut, and the directory that it is relative to.
func (c *call) follow(id string) (href, dir string, err error) {
	page := cmp.Or(c.Doc, &state.Page{Doc: &sfmd.Document{}})
	for _, l := range page.Doc.Links {
		if l.ID == id {
			return l.Href, page.Dir(), nil
		}
	}
	if v, ok := c.Shortcuts[id]; ok {
		return valueHref(v), page.Dir(), nil
	}
	for _, l := range page.Auto {
		if l.ID == id {
			return l.Href, page.Dir(), nil
		}
	}
	for _, m := range page.Menus {
		for _, l := range m.Links {
			if id == m.Name+"."+l.ID || id == l.ID {
				return l.Href, m.Dir, nil
			}
		}
	}
	return "", "", lang.Errorf(lang.NotFound, "Shortcut not found: @%s", id)
}

// valueHref makes a link of a value, so that the id of a memory can be opened.
func valueHref(v string) string {
	if len(v) == 36 && strings.Count(v, "-") == 4 && !strings.ContainsAny(v, "/.:") {
		return "mem:" + v
	}
	return v
}
