package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/node/api"
)

func (c *call) hubPage() (string, error) {
	if c.Topic.Name == "event" {
		return listEvents(c.Settings.Host.Inbox(c.Agent), false)
	}
	rows := c.hubRows()
	help, err := c.hubHelp()
	return fmt.Sprintf("# %s hub\n\n%d entries\n\n%s\n\n%s", c.Topic.Name, len(rows), cmp.Or(strings.Join(rows, "\n"), "(none)"), help), err
}

func (c *call) hubHelp() (string, error) {
	var b strings.Builder
	b.WriteString("## Commands\n\n  /list")
	for _, d := range commands().hubs[c.Topic.Name] {
		b.WriteString("\n  " + d.usage)
	}
	b.WriteString("\n  and everything that works in a tab")
	return b.String(), nil
}

// hubRows returns the entries of a hub.
func (c *call) hubRows() (rows []string) {
	switch c.Topic.Name {
	case "agent":
		for _, a := range c.Settings.Host.Agents() {
			mark := "  "
			if a.ID == c.Agent.ID {
				mark = "* "
			}
			rows = append(rows, mark+a.ID+"\t"+a.Home)
		}
	case "bash":
		for _, s := range c.Settings.Host.Sessions(c.Agent.ID) {
			if cwd := s.CWD(); s.Topic.Type == lang.Bash && cwd != "" {
				rows = append(rows, strings.TrimPrefix(s.Topic.Name, "bash:")+"  alive · cwd: "+cwd)
			}
		}
	case "app":
		for _, s := range c.Settings.Host.Sessions(c.Agent.ID) {
			if s.Topic.Type == lang.App {
				rows = append(rows, s.Topic.Name)
			}
		}
	case "tool":
		rows = api.Each(c.tools(), func(name string) string { return "/tool:" + name })
	case "system":
		rows = strings.Split(c.Settings.Host.Status(), "\n")
	}
	return rows
}

// hubEvent runs a verb of /events that is a command in the hub event.
func (c *call) hubEvent() (string, error) { return c.eventVerb(c.name, strings.Fields(c.args)) }

func (c *call) hubWebhook() (string, error) {
	if c.args != "show" && c.args != "rotate" && c.args != "" {
		return "", lang.Errorf(lang.InvalidPayload, "Usage: /webhook show|rotate")
	}
	return c.Settings.Host.Webhook(c.Agent.ID, c.args == "rotate")
}

func (c *call) hubAdd() (string, error) {
	w, err := lang.Words(c.args)
	if err != nil {
		return "", err
	}
	var id, home string
	var allowed []string
	for i := 0; i < len(w); i++ {
		switch {
		case w[i] == "--home" && i+1 < len(w):
			i++
			home = w[i]
		case w[i] == "--allow" && i+1 < len(w):
			i++
			allowed = splitList(w[i])
		case id == "" && !strings.HasPrefix(w[i], "-"):
			id = w[i]
		default:
			return "", lang.Errorf(lang.InvalidPayload, "Usage: /add <id> [--home p] [--allow a,b]")
		}
	}
	if id == "" {
		return "", lang.Errorf(lang.InvalidPayload, "Usage: /add <id> [--home p] [--allow a,b]")
	}
	if id == c.Agent.ID && home != "" {
		return "", lang.Errorf(lang.Unsupported, "An agent cannot move itself: its topics, this one too, would be closed.")
	}
	created, err := c.Settings.Host.AddAgent(id, home, allowed)
	if err != nil {
		return "", lang.Errorf(lang.InvalidPayload, "%v", err)
	}
	if !created {
		return "Updated agent: " + id, nil
	}
	return "Added agent: " + id, nil
}

func (c *call) hubSetHome() (string, error) {
	w, err := lang.Words(c.args)
	if err != nil || len(w) != 2 {
		return "", lang.Errorf(lang.InvalidPayload, "Usage: /set-home <id> <path>")
	}
	if !slices.ContainsFunc(c.Settings.Host.Agents(), func(a state.Agent) bool { return a.ID == w[0] }) {
		return "", lang.Errorf(lang.NotFound, "Unknown agent: %s", w[0])
	}
	if w[0] == c.Agent.ID {
		return "", lang.Errorf(lang.Unsupported, "An agent cannot move itself: its topics, this one too, would be closed.")
	}
	if _, err := c.Settings.Host.AddAgent(w[0], w[1], nil); err != nil {
		return "", lang.Errorf(lang.InvalidPayload, "%v", err)
	}
	return "Home of " + w[0] + ": " + w[1], nil
}

func (c *call) hubRemove() (string, error) {
	if c.args == c.Agent.ID {
		return "", lang.Errorf(lang.Unsupported, "An agent cannot remove itself.")
	}
	ok, err := c.Settings.Host.RemoveAgent(c.args)
	if err == nil && !ok {
		return "", lang.Errorf(lang.NotFound, "Unknown agent: %s", c.args)
	}
	return "Removed agent: " + c.args, err
}
