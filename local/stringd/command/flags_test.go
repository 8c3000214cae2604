package command

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

func TestTakeFlags(t *testing.T) {
	t.Parallel()
	known := []flag{tierFlag, {name: "-k", check: whole(1, 100)}, {name: "--full", bare: true}, nsFlag}
	for _, c := range []struct {
		line, text string
		flags      flags
		fails      string
	}{
		{line: "plain words", text: "plain words", flags: flags{}},
		{line: "--tier working it isn't  spaced", text: "it isn't  spaced", flags: flags{"--tier": "working"}},
		{line: "text --full -k 3", text: "text", flags: flags{"--full": "true", "-k": "3"}},
		{line: "--ns=x text", text: "text", flags: flags{"--ns": "x"}},
		{line: "what does --unknown mean", text: "what does --unknown mean", flags: flags{}},
		{line: "the --tier in the middle", text: "the --tier in the middle", flags: flags{}},
		{line: "-- --full", text: "--full", flags: flags{}},
		{line: `"quoted words"`, text: "quoted words", flags: flags{}},
		{line: "", text: "", flags: flags{}},
		{line: "--tier attic x", fails: "--tier attic"},
		{line: "x -k 1000", fails: "-k 1000"},
		{line: "--tier", fails: "needs a value"},
	} {
		f, text, err := takeFlags(c.line, known)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%q: got %v, want %s", c.line, err, c.fails)
			}
			continue
		}
		if err != nil || text != c.text || !maps.Equal(f, c.flags) {
			t.Errorf("%q: got %q %v %v, want %q %v", c.line, text, f, err, c.text, c.flags)
		}
	}
}

func TestParseTopic(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Topic{"": {"main", Tab}, " docs ": {"docs", Tab}, "memory": {"memory", Tab}, "app": {"app", Hub}, "App": {"App", Tab},
		"app:weather:korea": {"app:weather:korea", App}, "bash:a:b": {"bash:a:b", Bash}} {
		if got, ok := ParseTopic(raw); !ok || got != want {
			t.Errorf("%q: got %v %v, want %v", raw, got, ok, want)
		}
	}
	for _, raw := range []string{"file:x", "hub:app", "app:", "a.b", "a b", "a/b", "bash::x", "tool:x", strings.Repeat("x", 201)} {
		if got, ok := ParseTopic(raw); ok {
			t.Errorf("%q: %v", raw, got)
		}
	}
}

// openDoor lets everything be done to the host.
type openDoor struct{ api.Host }

func (openDoor) Local(string) (api.Caller, error) { return api.Caller{}, nil }

func (openDoor) Do(context.Context, api.Caller, *api.Op, any) (any, error) {
	return &api.Nothing{}, nil
}

func TestPathsStayInside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := NewSession(&Settings{Roots: NewRoots(dir, nil, nil), Memory: api.At{Host: openDoor{}}}, Topic{"main", Tab})
	s.agent = Agent{Home: dir + "/home", Allowed: []string{dir + "/a/b"}}
	for path, inside := range map[string]bool{dir + "/home": true, dir + "/home/x": true, dir + "/homes": false, dir + "/a/b/c": true, dir + "/a/bc": false, dir + "/a": false} {
		if _, err := s.locate(path, "/"); (err == nil) != inside {
			t.Errorf("%s: %v", path, err)
		}
	}
}
