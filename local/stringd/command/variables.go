package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/kit"
)

func variableFamily() []def {
	return []def{
		{name: "set", usage: "/set {name} = \"value\"", about: "set a variable of the topic, or $NAME for good; without arguments, list them", run: (*call).setVars},
	}
}

var (
	assignment = regexp.MustCompile(`^(?:\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|([A-Za-z_]\w*))\s*=\s*(.*)$`)
	fencedVar  = regexp.MustCompile("(?s)^```\\{([A-Za-z_]\\w*)\\}[ \t]*\n(.*?)\n?```[ \t]*$")
	reference  = regexp.MustCompile(`\{([A-Za-z_]\w*)\}`)
	persistent = regexp.MustCompile(`\$([A-Za-z_]\w*)`)
)

func (c *call) setVars() (string, error) {
	input := strings.TrimSpace(c.joined())
	if input == "" {
		return c.listVars()
	}
	if m := fencedVar.FindStringSubmatch(input); m != nil {
		c.vars.set(m[1], m[2])
		return fmt.Sprintf("{%s} = %q", m[1], m[2]), nil
	}
	type one struct{ name, value, env string }
	var todo []one
	for line := range strings.SplitSeq(input, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		m := assignment.FindStringSubmatch(line)
		if m == nil {
			return "", failf(InvalidPayload, "Invalid assignment: %s", line)
		}
		todo = append(todo, one{m[1] + m[3], unquote(strings.TrimSpace(m[4])), m[2]})
	}
	var said []string
	for _, t := range todo {
		if t.env == "" {
			c.vars.set(t.name, t.value)
			said = append(said, fmt.Sprintf("{%s} = \"%s\"", t.name, t.value))
			continue
		}
		scope, err := c.setEnv(t.env, t.value)
		if err != nil {
			return "", err
		}
		said = append(said, fmt.Sprintf("$%s = \"%s\" (%s)", t.env, t.value, scope))
	}
	return strings.Join(said, "\n"), nil
}

func (c *call) listVars() (string, error) {
	var rows []string
	for _, k := range c.vars.keys {
		rows = append(rows, fmt.Sprintf("{%s} = \"%s\"", k, c.vars.m[k]))
	}
	env, err := c.env()
	if err != nil {
		return "", err
	}
	for _, k := range slices.Sorted(maps.Keys(env)) {
		rows = append(rows, fmt.Sprintf("$%s = \"%s\"", k, env[k]))
	}
	if len(rows) == 0 {
		return "No variables set.", nil
	}
	return under("Variables", strings.Join(rows, "\n")), nil
}

// An envScope is a file of $variables. Those of a configuration hide those of its app, and these the agent's.
type envScope struct {
	label, path string
	nested      bool // below the key env
}

func (s *Session) scopes() []envScope {
	out := []envScope{{"global", filepath.Join(s.agent.Home, "config.json"), true}}
	name, config := s.topic.app()
	if name == "" {
		return out
	}
	dir := filepath.Join(s.agent.Home, "apps", name)
	out = append(out, envScope{name, filepath.Join(dir, "env.json"), false})
	if config != "" {
		dir = filepath.Join(append([]string{dir}, strings.Split(config, ":")...)...)
		out = append(out, envScope{name + ":" + config, filepath.Join(dir, "env.json"), false})
	}
	return out
}

func (e envScope) read() (all map[string]json.RawMessage, env map[string]string, err error) {
	all, env = map[string]json.RawMessage{}, map[string]string{}
	b, err := os.ReadFile(e.path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, env, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, nil, failf(LoadError, "%s is not a JSON object", filepath.Base(e.path))
	}
	of := all
	if e.nested {
		of = map[string]json.RawMessage{}
		_ = json.Unmarshal(all["env"], &of) // another shape holds no variables
	}
	for k, raw := range of {
		var v string
		if json.Unmarshal(raw, &v) == nil {
			env[k] = v
		}
	}
	return all, env, nil
}

// env is the persistent variables this topic sees. The daemon's own environment is no part of it: it holds secrets.
func (s *Session) env() (map[string]string, error) {
	out := map[string]string{}
	err := s.files(func() error {
		for _, e := range s.scopes() {
			_, env, err := e.read()
			if err != nil {
				return err
			}
			maps.Copy(out, env)
		}
		return nil
	})
	if err != nil && err != filesOff {
		return nil, err
	}
	return out, nil
}

// setEnv writes a persistent variable to the topic's own scope.
func (s *Session) setEnv(name, value string) (label string, err error) {
	all := s.scopes()
	e := all[len(all)-1]
	return e.label, s.files(func() error { return e.set(name, value) })
}

func (e envScope) set(name, value string) error {
	whole, env, err := e.read()
	if err != nil {
		return err
	}
	env[name] = value
	var content any = env
	if e.nested {
		raw, err := json.Marshal(env)
		if err != nil {
			return err
		}
		whole["env"] = raw
		content = whole
	}
	b, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(e.path), 0o700); err != nil {
		return err
	}
	return kit.WriteFile(e.path, append(b, '\n'), 0o600)
}

// substitute replaces {name} by the topic's variables; unset ones stay as written.
func (s *Session) substitute(text string) string {
	return reference.ReplaceAllStringFunc(text, func(m string) string {
		if v, ok := s.vars.m[m[1:len(m)-1]]; ok {
			return v
		}
		return m
	})
}
