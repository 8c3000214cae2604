package command

import (
	"cmp"
	"fmt"
	"strings"
)

func sessionFamily() []def {
	return []def{
		{name: "topics", usage: "/topics [type]", about: "this agent's topics", shell: true, run: (*call).topics},
		{name: "sessions", run: (*call).topics, shell: true},
		{name: "session", usage: "/session list|close <topic>", about: "list topics, close one", shell: true, run: (*call).session},
	}
}

func (c *call) topics() (string, error) {
	want := TopicType(c.args)
	switch want {
	case "", Tab, App, Bash, Hub:
	default:
		return "", failf(InvalidPayload, "Unknown topic type: %s (tab, app, bash, hub)", c.args)
	}
	var rows []string
	for _, l := range c.set.Host.Sessions(c.agent.ID) {
		if want != "" && l.Topic.Type != want {
			continue
		}
		row := fmt.Sprintf("%s\t%s", l.Topic.Name, l.Topic.Type)
		if l.Meta != nil {
			row += "\t" + l.Meta.URI
		}
		rows = append(rows, row)
	}
	return under(fmt.Sprintf("Topics (%d)", len(rows)), cmp.Or(strings.Join(rows, "\n"), "(none)")), nil
}

func (c *call) session() (string, error) {
	verb, name, _ := strings.Cut(c.args, " ")
	switch name = strings.TrimSpace(name); {
	case verb == "" || verb == "list":
		c.args = name
		return c.topics()
	case verb != "close" || name == "":
		return "", failf(InvalidPayload, "Usage: /session list|close <topic>")
	}
	t, ok := ParseTopic(name)
	switch {
	case !ok:
		return "", failf(InvalidTarget, "Invalid topic: %s", name)
	case t.Name == c.topic.Name:
		return "", failf(InvalidTarget, "This is the current topic. Close it from another one.")
	case !c.set.Host.CloseSession(c.agent.ID, t.Name):
		return "", failf(NotFound, "No session: %s", t.Name)
	}
	return "Closed session: " + t.Name, nil
}

// notOffered are commands of the protocol that reach for hosts and stores this node has nothing to do with.
func notOffered(c *call) (string, error) {
	return "", failf(Unsupported, "%s is not offered by this node.", c.word)
}

func packageFamily() []def {
	return []def{
		{name: "install", sub: true, run: notOffered}, {name: "uninstall", sub: true, run: notOffered},
		{name: "capability", sub: true, run: notOffered}, {name: "fs", sub: true, run: notOffered},
	}
}
