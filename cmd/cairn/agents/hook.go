package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/sift"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/large"
	"github.com/cairndb/cairn/wire/redact"
)

// headers is an event that belongs to no session: it prints the headers of a request with the tool's token, for tools
// that run a program to get them.
const headers = "headers"

// How long a hook waits. A node that is away costs a tool no more than reachFor; a node that answers may take longer at
// the ends of a session than while a tool works.
const (
	reachFor   = 40 * time.Millisecond
	captureFor = 40 * time.Millisecond
	answerFor  = 2 * time.Second
)

const (
	contextTokens = 1000
	maxInput      = 16 << 20
)

// Hook is `cairn hook`.
func Hook(s *cli.Streams) *cobra.Command {
	return &cobra.Command{Use: "hook TOOL EVENT", Short: "Run by a coding agent's hooks: JSON on stdin, JSON on stdout",
		Args: cobra.ExactArgs(2), ValidArgs: toolNames(),
		Long: `Run by the hooks that cairn connect writes: JSON on stdin, JSON on stdout, in the form that the tool expects.

At the start of a session it prints what is known about the project, within 1,000 tokens. After a tool's use it stores what the
tool did; secrets are taken out. It never stops the tool: it exits with 0 whatever happens, and waits no more than 50 ms for a
node that is away. What cannot be stored then waits in a spool and is sent by a later hook.

The event "headers" prints the HTTP headers with the tool's token.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := runHook(c.Context(), s, args[0], args[1]); err != nil {
				fmt.Fprintf(s.Err, "cairn hook: %v\n", err)
			}
			return nil
		}}
}

// A moment holds the fields that a tool writes to stdin, under the names that the tools use.
type moment struct {
	session, dir, tool, message string
	input, response             any
}

func readMoment(r io.Reader) (m moment, err error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil || len(b) > maxInput {
		return m, cmp.Or(err, errors.New("more than 16 MiB on stdin"))
	}
	var in map[string]json.RawMessage
	if len(strings.TrimSpace(string(b))) > 0 {
		if err := json.Unmarshal(b, &in); err != nil {
			return m, fmt.Errorf("stdin: %w", err)
		}
	}
	text := func(names ...string) (s string) {
		for _, name := range names {
			if json.Unmarshal(in[name], &s) == nil && s != "" {
				return s
			}
		}
		return ""
	}
	value := func(names ...string) any {
		for _, name := range names {
			if v, err := large.JSON(in[name]); err == nil && v != nil {
				return v
			}
		}
		return nil
	}
	m = moment{session: text("session_id", "sessionId", "conversation_id"), dir: text("cwd"), tool: text("tool_name", "toolName"),
		message: text("last_assistant_message", "prompt_response", "text"),
		input:   value("tool_input", "toolArgs"), response: value("tool_response", "tool_output", "toolResult")}
	var roots []string
	if m.dir == "" && json.Unmarshal(in["workspace_roots"], &roots) == nil && len(roots) > 0 {
		m.dir = roots[0]
	}
	if m.dir == "" {
		m.dir, err = os.Getwd()
	}
	return m, err
}

func runHook(ctx context.Context, s *cli.Streams, name, eventName string) error {
	t, ok := findTool(name)
	if !ok {
		return fmt.Errorf("no tool %q", name)
	}
	base, err := dir()
	if err != nil {
		return err
	}
	if eventName == headers {
		wd, err := os.Getwd()
		if err != nil {
			return err
		}
		r, err := connected(base, t, wd)
		if err != nil {
			return err
		}
		token, err := r.target().Token()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "%s\n", kit.Must(kit.Object{"Authorization", "Bearer " + token}))
		return err
	}
	at := slices.IndexFunc(t.events, func(e event) bool { return e.name == eventName })
	if at < 0 {
		return fmt.Errorf("no event %q of %s", eventName, t.title)
	}
	e := t.events[at]
	m, err := readMoment(s.In)
	if err != nil {
		return err
	}
	r, err := connected(base, t, m.dir)
	if err != nil {
		return err
	}
	switch e.does {
	case tellContext:
		if _, err := fmt.Fprintf(s.Out, "%s\n", kit.Must(t.answer(e, r.known(ctx, m.dir)))); err != nil {
			return err
		}
		return r.send(ctx, answerFor)
	case sendSpool:
		return r.send(ctx, answerFor)
	}
	c, ok := m.capture(t, e)
	if !ok {
		return nil
	}
	if err := r.store(ctx, c, captureFor); err != nil {
		return errors.Join(err, r.spool().add(c))
	}
	return nil
}

// connected returns the record that holds in a directory.
func connected(base string, t tool, cwd string) (*record, error) {
	all, err := records(base, t.name)
	if err != nil {
		return nil, err
	}
	r := holding(all, cwd)
	if r == nil {
		err = fmt.Errorf("%s is not connected: run cairn connect %s", t.title, t.name)
	}
	return r, err
}

// shells are the names that agents have for the tool that runs a command. Summaries know it as Bash.
var shells = map[string]bool{"bash": true, "shell": true, "run_shell_command": true}

// capture returns what to store of the moment. ok is false if there is nothing: after uses of the memory's own tools,
// for one.
func (m moment) capture(t tool, e event) (c capture, ok bool) {
	c = capture{Session: cmp.Or(m.session, "unknown"), Tool: m.tool, Source: t.name, Dir: m.dir,
		Subspace: os.Getenv("SIFTCODER_SUBSPACE"), At: time.Now().UnixMilli()}
	switch {
	case e.does == captureTurn && strings.TrimSpace(m.message) != "":
		c.Tool, c.Payload = "Stop", map[string]any{"message": m.message}
	case e.does == captureUse && m.tool != "" && !strings.Contains(strings.ToLower(m.tool), "cairn"):
		c.Payload = map[string]any{"tool_input": m.input, "tool_response": m.response}
		if shells[strings.ToLower(m.tool)] {
			c.Tool = "Bash"
		}
	default:
		return c, false
	}
	c.Payload, _ = redact.JSON(c.Payload) // the spool must hold no secrets either
	return c, true
}

// workspace is the project that a directory is in, or the part of it that the subspace names.
func workspace(ctx context.Context, dir, subspace string) (sift.Workspace, string, error) {
	w, err := sift.Find(ctx, dir, subspace)
	return w, cmp.Or(os.Getenv("SIFTCODER_NS"), sift.DefaultNS), err
}

// store has the node keep a capture, in the workspace of its directory.
func (r *record) store(ctx context.Context, c capture, wait time.Duration) error {
	if r.Home == "" {
		return errors.New("the node is not on this machine")
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	w, ns, err := workspace(ctx, c.Dir, c.Subspace)
	if err != nil {
		return err
	}
	home := filepath.Join(r.Home, "run", "siftcoder")
	socket := sift.Socket(home, ns, w.Key)
	if _, err := os.Stat(socket); err != nil {
		data, err := sift.Call(ctx, sift.Control(home), map[string]any{"kind": "open", "path": c.Dir, "subspace": c.Subspace})
		if err != nil {
			return err
		}
		var served sift.Served
		if err := json.Unmarshal(data, &served); err != nil {
			return err
		}
		socket = served.Socket
	}
	_, err = sift.Call(ctx, socket,
		map[string]any{"kind": "capture", "sessionId": c.Session, "tool": c.Tool, "source": c.Source, "ts": c.At, "payload": c.Payload})
	return err
}

// send stores what waits in the spool, for as long as that takes at most. What another project captured waits for that
// project's hooks: its node may be another one.
func (r *record) send(ctx context.Context, wait time.Duration) error {
	end := time.Now().Add(wait)
	all, err := records(r.dir, r.Tool)
	if err != nil {
		return err
	}
	later := map[string]bool{} // by directory
	return r.spool().drain(func(c capture) error {
		wait, known := later[c.Dir]
		if !known {
			of := holding(all, c.Dir)
			wait = of == nil || of.Project != r.Project
		}
		if later[c.Dir] = wait; wait {
			return errLater
		}
		err := r.store(ctx, c, time.Until(end))
		var no *sift.Refusal
		switch {
		case errors.As(err, &no) && strings.HasPrefix(no.Text, "capture: "): // as it is, it will never be stored
			return nil
		case errors.As(err, &no) && strings.HasPrefix(no.Text, "open: "): // its directory is gone, and may come back
			later[c.Dir] = true
			return errLater
		}
		return err
	})
}

// waiting counts the captures in the spool for this record's node. With drop it also removes them, so that no other
// node gets them.
func (r *record) waiting(drop bool) (n int, err error) {
	all, err := records(r.dir, r.Tool)
	if err != nil {
		return 0, err
	}
	err = r.spool().drain(func(c capture) error {
		if of := holding(all, c.Dir); of != nil && of.Project != r.Project {
			return errLater
		}
		if n++; !drop {
			return errLater
		}
		return nil
	})
	return n, err
}

// known returns what is known about the project as text for the model. If the node does not answer the text says so,
// and not that nothing is known.
func (r *record) known(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	if err := r.reach(ctx); err != nil {
		return unreachable
	}
	w, ns, err := workspace(ctx, dir, os.Getenv("SIFTCODER_SUBSPACE"))
	if err != nil {
		return unreachable
	}
	var blocks []string
	left, most := contextTokens, contextTokens*2/3            // the rest is the project's, however much else is known
	for _, of := range []string{"default", w.Namespace(ns)} { // what models and people said, then what tools did here
		answer, err := cli.Call(ctx, r.target(), api.Prompt,
			map[string]any{"max_tokens": most, "namespaces": []string{of}, "skip_reinforce": true})
		if err != nil {
			return unreachable
		}
		if answer.Text != "" {
			blocks = append(blocks, answer.Text)
		}
		left -= answer.Tokens
		most = left
	}
	if len(blocks) == 0 {
		return "Cairn, the memory: nothing is known about this project yet."
	}
	return strings.Join(blocks, "\n")
}

const unreachable = "Cairn, the memory: memory unreachable. Its node does not answer, so what earlier sessions learned is not shown here; " +
	"that says nothing about what is known. What this session does is kept and stored when the node is back."

// reach connects to the gateway once, for as long as a hook may wait.
func (r *record) reach(ctx context.Context) error {
	u, err := url.Parse(r.Endpoint)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reachFor)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), u.Scheme)))
	if err != nil {
		return err
	}
	return c.Close()
}
