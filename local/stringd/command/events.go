package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/inbox"
)

// maxListedEvents bounds the events in a list.
const maxListedEvents = 50

func (c *call) events() (string, error) {
	args := strings.Fields(c.argsAndBody())
	verb := strings.ToLower(c.sub)
	if verb == "" && len(args) > 0 {
		verb, args = strings.ToLower(args[0]), args[1:]
	}
	return c.eventVerb(verb, args)
}

func (c *call) eventVerb(verb string, args []string) (string, error) {
	box := c.Settings.Host.Inbox(c.Agent)
	all := len(args) == 1 && args[0] == "--all"
	id := ""
	if len(args) > 0 {
		id = args[0]
	}
	switch verb {
	case "", "list":
		return listEvents(box, all)
	case "read":
		return readEvent(box, id)
	case "ack":
		if id == "" {
			return "", lang.Errorf(lang.InvalidPayload, "Usage: /events.ack <id>")
		}
		if err := box.Ack(id); err != nil {
			return "", eventError(err, id)
		}
		return "Acked " + id, nil
	case "clear":
		n, err := box.Clear(all)
		return fmt.Sprintf("Cleared %d event(s)", n), err
	}
	return "", lang.Errorf(lang.Unsupported, "Unknown command: /events.%s\nUse /info to see available commands.", verb)
}

func eventError(err error, id string) error {
	if errors.Is(err, inbox.ErrNotFound) {
		return lang.Errorf(lang.NotFound, "Event not found: %s", id)
	}
	return err
}

func listEvents(box *inbox.Inbox, all bool) (string, error) {
	events, err := box.List(all)
	if err != nil {
		return "", err
	}
	title := "Pending"
	if all {
		title = "Recent"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# event inbox\n\nTexts that came through this agent's webhook.\n\n## %s events (%d)\n\n", title, len(events))
	for _, e := range events[:min(len(events), maxListedEvents)] {
		fmt.Fprintf(&b, "  %s  %s  %s  %s\n", e.ID, e.Status, e.ReceivedAt, preview(e.Text))
	}
	if len(events) == 0 {
		b.WriteString("  (no events)\n")
	}
	b.WriteString("\n## Commands\n\n  /events list --all\n  /events.read <id>\n  /events.ack <id>\n  /events.clear [--all]\n  /remember --event <id>")
	return b.String(), nil
}

// preview returns the first non-blank line of an event, cut.
func preview(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return oneLine(first, 80)
}

func readEvent(box *inbox.Inbox, id string) (string, error) {
	if id == "" {
		return "", lang.Errorf(lang.InvalidPayload, "Usage: /events.read <id>")
	}
	e, err := box.Get(id)
	if err != nil {
		return "", eventError(err, id)
	}
	return lang.Titled("Event "+id,
		fmt.Sprintf("receivedAt: %s\nsource: %s\nstatus: %s\n\n%s\n\nnext: /events.ack %s", e.ReceivedAt, e.Source, e.Status,
			e.Text, id)), nil
}
