package command

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
)

var (
	assignment = regexp.MustCompile(`^(?:\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|([A-Za-z_]\w*))\s*=\s*(.*)$`)
	fencedVar  = regexp.MustCompile("(?s)^```\\{([A-Za-z_]\\w*)\\}[ \t]*\n(.*?)\n?```[ \t]*$")
	persistent = regexp.MustCompile(`\$([A-Za-z_]\w*)`)
)

func (c *call) setVars() (string, error) {
	input := strings.TrimSpace(c.argsAndBody())
	if input == "" {
		return c.listVars()
	}
	if m := fencedVar.FindStringSubmatch(input); m != nil {
		c.Vars.Set(m[1], m[2])
		return fmt.Sprintf("{%s} = %q", m[1], m[2]), nil
	}
	type one struct{ name, value, env string }
	var assignments []one
	for line := range strings.SplitSeq(input, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		m := assignment.FindStringSubmatch(line)
		if m == nil {
			return "", lang.Errorf(lang.InvalidPayload, "Invalid assignment: %s", line)
		}
		assignments = append(assignments, one{m[1] + m[3], lang.Unquote(strings.TrimSpace(m[4])), m[2]})
	}
	var lines []string
	for _, t := range assignments {
		if t.env == "" {
			c.Vars.Set(t.name, t.value)
			lines = append(lines, fmt.Sprintf("{%s} = \"%s\"", t.name, t.value))
			continue
		}
		scope, err := c.SetEnv(t.env, t.value)
		if err != nil {
			return "", err
		}
		lines = append(lines, fmt.Sprintf("$%s = \"%s\" (%s)", t.env, t.value, scope))
	}
	return strings.Join(lines, "\n"), nil
}

func (c *call) listVars() (string, error) {
	var rows []string
	for _, k := range c.Vars.Keys {
		rows = append(rows, fmt.Sprintf("{%s} = \"%s\"", k, c.Vars.Values[k]))
	}
	env, err := c.Env()
	if err != nil {
		return "", err
	}
	for _, k := range slices.Sorted(maps.Keys(env)) {
		rows = append(rows, fmt.Sprintf("$%s = \"%s\"", k, env[k]))
	}
	if len(rows) == 0 {
		return "No variables set.", nil
	}
	return lang.Titled("Variables", strings.Join(rows, "\n")), nil
}
