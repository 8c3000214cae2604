package lang

import (
	"regexp"
	"slices"
	"strings"
)

// TopicType is the kind of a topic. It decides which commands the topic accepts.
type TopicType string

// The topic types.
const (
	Tab  TopicType = "tab"
	App  TopicType = "app"
	Bash TopicType = "bash"
	Hub  TopicType = "hub"
)

// Topic is the canonical name of a session of an agent.
type Topic struct {
	Name string
	Type TopicType
}

const maxTopic = 200

var hubs = []string{"app", "bash", "tool", "event", "system", "agent"}

// Segment matches one part of the name of a topic.
var Segment = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// ParseTopic parses a topic. An empty one is the tab main.
func ParseTopic(raw string) (Topic, bool) {
	name := strings.TrimSpace(raw)
	if name == "" {
		return Topic{"main", Tab}, true
	}
	parts := strings.Split(name, ":")
	if len(name) > maxTopic || slices.ContainsFunc(parts, func(p string) bool { return !Segment.MatchString(p) }) {
		return Topic{}, false
	}
	switch {
	case len(parts) == 1 && slices.Contains(hubs, name):
		return Topic{name, Hub}, true
	case len(parts) == 1:
		return Topic{name, Tab}, true
	case parts[0] == "app", parts[0] == "bash":
		return Topic{name, TopicType(parts[0])}, true
	}
	return Topic{}, false
}

// App returns the name of an app topic and of its configuration.
func (t Topic) App() (name, config string) {
	if t.Type != App {
		return "", ""
	}
	name, config, _ = strings.Cut(strings.TrimPrefix(t.Name, "app:"), ":")
	return name, config
}
