package command

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
)

func (c *call) topics() (string, error) {
	want := lang.TopicType(c.args)
	switch want {
	case "", lang.Tab, lang.App, lang.Bash, lang.Hub:
	default:
		return "", lang.Errorf(lang.InvalidPayload, "Unknown topic type: %s (tab, app, bash, hub)", c.args)
	}
	var rows []string
	for _, s := range c.Settings.Host.Sessions(c.Agent.ID) {
		if want != "" && s.Topic.Type != want {
			continue
		}
		row := fmt.Sprintf("%s\t%s", s.Topic.Name, s.Topic.Type)
		if m := s.Meta(); m != nil {
			row += "\t" + m.URI
		}
		rows = append(rows, row)
	}
	return lang.Titled(fmt.Sprintf("Topics (%d)", len(rows)), cmp.Or(strings.Join(rows, "\n"), "(none)")), nil
}

func (c *call) session() (string, error) {
	verb, name, _ := strings.Cut(c.args, " ")
	switch name = strings.TrimSpace(name); {
	case verb == "" || verb == "list":
		c.args = name
		return c.topics()
	case verb != "close" || name == "":
		return "", lang.Errorf(lang.InvalidPayload, "Usage: /session list|close <topic>")
	}
	t, ok := lang.ParseTopic(name)
	switch {
	case !ok:
		return "", lang.Errorf(lang.InvalidTarget, "Invalid topic: %s", name)
	case t.Name == c.Topic.Name:
		return "", lang.Errorf(lang.InvalidTarget, "This is the current topic. Close it from another one.")
	case !c.Settings.Host.CloseSession(c.Agent.ID, t.Name):
		return "", lang.Errorf(lang.NotFound, "No session: %s", t.Name)
	}
	return "Closed session: " + t.Name, nil
}

// unsupported rejects commands of the protocol that need hosts or stores that this node does not use.
func unsupported(c *call) (string, error) {
	return "", lang.Errorf(lang.Unsupported, "%s is not offered by this node.", c.typed)
}
