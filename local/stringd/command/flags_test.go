package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/local/stringd/sfmd"
	"github.com/cairndb/cairn/node/api"
)

func TestTakeFlags(t *testing.T) {
	t.Parallel()
	known := []lang.Flag{tierFlag, {Name: "-k", Check: wholeNumber(1, 100)}, {Name: "--full", NoValue: true}, nsFlag}
	for _, c := range []struct {
		line, text string
		flags      lang.Flags
		fails      string
	}{
		{line: "plain words", text: "plain words", flags: lang.Flags{}},
		{line: "--tier working it isn't  spaced", text: "it isn't  spaced", flags: lang.Flags{"--tier": "working"}},
		{line: "text --full -k 3", text: "text", flags: lang.Flags{"--full": "true", "-k": "3"}},
		{line: "--ns=x text", text: "text", flags: lang.Flags{"--ns": "x"}},
		{line: "what does --unknown mean", text: "what does --unknown mean", flags: lang.Flags{}},
		{line: "the --tier in the middle", text: "the --tier in the middle", flags: lang.Flags{}},
		{line: "-- --full", text: "--full", flags: lang.Flags{}},
		{line: `"quoted words"`, text: "quoted words", flags: lang.Flags{}},
		{line: "", text: "", flags: lang.Flags{}},
		{line: "--tier attic x", fails: "--tier attic"},
		{line: "x -k 1000", fails: "-k 1000"},
		{line: "--tier", fails: "needs a value"},
	} {
		f, text, err := lang.TakeFlags(c.line, known)
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
	for raw, want := range map[string]lang.Topic{"": {Name: "main", Type: lang.Tab},
		" docs ": {Name: "docs", Type: lang.Tab}, "memory": {Name: "memory", Type: lang.Tab},
		"app": {Name: "app", Type: lang.Hub}, "App": {Name: "App", Type: lang.Tab},
		"app:weather:korea": {Name: "app:weather:korea", Type: lang.App}, "bash:a:b": {Name: "bash:a:b", Type: lang.Bash}} {
		if got, ok := lang.ParseTopic(raw); !ok || got != want {
			t.Errorf("%q: got %v %v, want %v", raw, got, ok, want)
		}
	}
	for _, raw := range []string{"file:x", "hub:app", "app:", "a.b", "a b", "a/b", "bash::x", "tool:x", strings.Repeat("x", 201)} {
		if got, ok := lang.ParseTopic(raw); ok {
			t.Errorf("%q: %v", raw, got)
		}
	}
}

// A hostDoor allows all operations on the host. If it is idle, it reports success without running them.
type hostDoor struct {
	api.Host
	idle bool
}

func (hostDoor) Local(string) (api.Caller, error) { return api.Caller{}, nil }

func (d hostDoor) Do(ctx context.Context, _ api.Caller, _ *api.Op, request any) (any, error) {
	if d.idle {
		return &api.Nothing{}, nil
	}
	return &api.Nothing{}, request.(*api.HostRequest).Run(ctx)
}

// TestActsAreDoneByTheDoor: an operation that the door does not run has no effect on the host.
func TestActsAreDoneByTheDoor(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	home := t.TempDir()
	for _, idle := range []bool{true, false} {
		s := state.NewSession(&state.Settings{Timeout: time.Minute, Memory: api.At{Host: hostDoor{idle: idle}}},
			lang.Topic{Name: "main", Type: lang.Tab})
		s.Agent = state.Agent{Home: home}
		c, file := &call{Session: s, ctx: t.Context()}, home+"/a.md"
		err := c.writeFile(file, "text")
		_, set := s.SetEnv("NAME", "x")
		text, _, _ := s.ReadFile(file)
		entries, _ := s.ReadDir(home)
		env, _ := s.Env()
		_, sent := (&actionRun{call: c, action: sfmd.Action{Method: "GET", Target: server.URL}}).http()
		if err := errors.Join(err, set, sent); err != nil {
			t.Fatal(err)
		}
		if done := []bool{text != "", len(entries) > 0, len(env) > 0, asked > 0}; slices.Contains(done, idle) {
			t.Errorf("read, listed, set and asked: %v, with a door that is idle: %v", done, idle)
		}
	}
}

// TestFieldsInAQuery: the value of a field in the query of a target arrives unchanged, whatever characters it
// contains.
func TestFieldsInAQuery(t *testing.T) {
	t.Parallel()
	const value = "R&D a+b=c #1/ü?"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		fmt.Fprintf(w, "%s|%s|%d", r.URL.Path, q.Get("q"), len(q))
	}))
	defer server.Close()
	s := state.NewSession(&state.Settings{Timeout: time.Minute, Memory: api.At{Host: hostDoor{}}}, lang.Topic{Name: "main", Type: lang.Tab})
	s.Agent = state.Agent{Home: t.TempDir()}
	for _, method := range []string{"GET", "POST"} {
		a := sfmd.Action{Method: method, Target: server.URL + "/{q}?q={q}&n=1", Fields: []sfmd.Field{{Name: "q", Type: "string"}}}
		p := &actionRun{call: &call{Session: s, ctx: t.Context()}, action: a, values: map[string]string{"q": value}}
		if res, err := p.http(); err != nil || res.text != "/"+value+"|"+value+"|2" {
			t.Errorf("%s: %q, %v", method, res.text, err)
		}
	}
}

func TestPathsStayInside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := state.NewSession(&state.Settings{Roots: state.NewRoots(dir, nil, nil), Memory: api.At{Host: hostDoor{}}},
		lang.Topic{Name: "main", Type: lang.Tab})
	s.Agent = state.Agent{Home: dir + "/home", Allowed: []string{dir + "/a/b"}}
	for path, inside := range map[string]bool{dir + "/home": true, dir + "/home/x": true, dir + "/homes": false,
		dir + "/a/b/c": true, dir + "/a/bc": false, dir + "/a": false} {
		if _, err := s.Locate(path, "/"); (err == nil) != inside {
			t.Errorf("%s: %v", path, err)
		}
	}
}
