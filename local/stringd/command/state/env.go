package state

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// envScope is a file of $variables. The variables of a configuration override those of its app, and these override
// those of the agent.
type envScope struct {
	label, path string
	nested      bool // the variables are below the key env
}

func (s *Session) scopes() []envScope {
	out := []envScope{{"global", filepath.Join(s.Agent.Home, "config.json"), true}}
	name, config := s.Topic.App()
	if name == "" {
		return out
	}
	dir := filepath.Join(s.Agent.Home, "apps", name)
	out = append(out, envScope{name, filepath.Join(dir, "env.json"), false})
	if config != "" {
		dir = filepath.Join(append([]string{dir}, strings.Split(config, ":")...)...)
		out = append(out, envScope{name + ":" + config, filepath.Join(dir, "env.json"), false})
	}
	return out
}

// read returns the content of the file, and the variables in it. Their values may be of other types than strings.
func (e envScope) read() (all, env map[string]json.RawMessage, err error) {
	b, err := os.ReadFile(e.path)
	if err == nil && json.Unmarshal(b, &all) != nil {
		err = lang.Errorf(lang.LoadError, "%s is not a JSON object", filepath.Base(e.path))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	if !e.nested {
		return all, all, nil
	}
	if json.Unmarshal(all["env"], &env) != nil || env == nil { // another shape holds no variables
		env = map[string]json.RawMessage{}
	}
	return all, env, nil
}

// Env returns the persistent variables of the topic. It excludes the environment of the daemon, which holds secrets.
func (s *Session) Env() (map[string]string, error) {
	out := map[string]string{}
	err := s.WithFiles(func() error {
		for _, e := range s.scopes() {
			_, env, err := e.read()
			if err != nil {
				return err
			}
			for k, raw := range env {
				var v string
				if json.Unmarshal(raw, &v) == nil {
					out[k] = v
				}
			}
		}
		return nil
	})
	if err != nil && err != errNoFiles {
		return nil, err
	}
	return out, nil
}

// SetEnv writes a persistent variable to the innermost scope of the topic.
func (s *Session) SetEnv(name, value string) (label string, err error) {
	all := s.scopes()
	e := all[len(all)-1]
	return e.label, s.WithFiles(func() error { return e.set(name, value) })
}

// envMu serializes the changes of variable files, because the topics of an agent share them.
var envMu sync.Mutex

func (e envScope) set(name, value string) error {
	envMu.Lock()
	defer envMu.Unlock()
	all, env, err := e.read()
	if err != nil {
		return err
	}
	if env[name], err = json.Marshal(value); err != nil {
		return err
	}
	if e.nested {
		if all["env"], err = json.Marshal(env); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(e.path), 0o700); err != nil {
		return err
	}
	return syncwriter.Replace(e.path, append(b, '\n'), 0o600)
}

// Substitute replaces {name} with topic variables. Unset ones stay as written.
func (s *Session) Substitute(text string) string {
	return reference.ReplaceAllStringFunc(text, func(m string) string {
		if v, ok := s.Vars.Values[m[1:len(m)-1]]; ok {
			return v
		}
		return m
	})
}

// reference matches {name} in a text.
var reference = regexp.MustCompile(`\{([A-Za-z_]\w*)\}`)
