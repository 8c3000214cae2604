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

// headersEvent is an event outside of sessions. It prints HTTP headers with the tool's token, for tools that run a
// program to get headers.
const headersEvent = "headers"

// Timeouts of a hook. An unreachable node delays a tool by at most reachTimeout. A node that answers may take longer
// at the start and end of a session than while a tool works.
const (
	reachTimeout   = 40 * time.Millisecond
	captureTimeout = 40 * time.Millisecond
	answerTimeout  = 2 * time.Second
)

const (
	contextTokens = 1000
	maxInput      = 16 << 20
)

// Hook returns the command `cairn hook`.
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

// A hookInput holds the fields that a tool writes to the hook's stdin.
type hookInput struct {
	session, dir, tool, message string
	input, response             any
}

func readHookInput(r io.Reader) (m hookInput, err error) {
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
	m = hookInput{session: text("session_id", "sessionId", "conversation_id"), dir: text("cwd"), tool: text("tool_name", "toolName"),
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
	base, err := recordsDir()
	if err != nil {
		return err
	}
	if eventName == headersEvent {
		wd, err := os.Getwd()
		if err != nil {
			return err
		}
		r, err := connectedRecord(base, t, wd)
		if err != nil {
			return err
		}
		token, err := r.target().Token()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "%s\n", kit.MustJSON(kit.Object{"Authorization", "Bearer " + token}))
		return err
	}
	at := slices.IndexFunc(t.events, func(e event) bool { return e.name == eventName })
	if at < 0 {
		return fmt.Errorf("no event %q of %s", eventName, t.title)
	}
	e := t.events[at]
	m, err := readHookInput(s.In)
	if err != nil {
		return err
	}
	r, err := connectedRecord(base, t, m.dir)
	if err != nil {
		return err
	}
	switch e.action {
	case printContext:
		if _, err := fmt.Fprintf(s.Out, "%s\n", kit.MustJSON(t.contextAnswer(e, r.projectContext(ctx, m.dir)))); err != nil {
			return err
		}
		return r.sendSpooled(ctx, answerTimeout)
	case sendSpool:
		return r.sendSpooled(ctx, answerTimeout)
	}
	c, ok := m.capture(t, e)
	if !ok {
		return nil
	}
	err = r.store(ctx, c, captureTimeout)
	if err == nil {
		return nil
	}
	if lost := r.spool().add(c); lost != nil {
		return errors.Join(err, lost)
	}
	return fmt.Errorf("kept until a later hook can send it: %w", err)
}

// connectedRecord returns the record that applies to a directory; an error if there is none.
func connectedRecord(base string, t tool, cwd string) (*record, error) {
	all, err := records(base, t.name)
	if err != nil {
		return nil, err
	}
	r := recordFor(all, cwd)
	if r == nil {
		err = fmt.Errorf("%s is not connected: run cairn connect %s", t.title, t.name)
	}
	return r, err
}

// shellTools are the agents' names for the tool that runs a shell command. Summaries call it Bash.
var shellTools = map[string]bool{"bash": true, "shell": true, "run_shell_command": true}

// capture returns the capture to store for an event. ok is false if there is none, for example after a use of Cairn's
// own tools.
func (m hookInput) capture(t tool, e event) (c capture, ok bool) {
	c = capture{Session: cmp.Or(m.session, "unknown"), Tool: m.tool, Source: t.name, Dir: m.dir,
		Subspace: os.Getenv("SIFTCODER_SUBSPACE"), At: time.Now().UnixMilli()}
	switch {
	case e.action == captureTurn && strings.TrimSpace(m.message) != "":
		c.Tool, c.Payload = "Stop", map[string]any{"message": m.message}
	case e.action == captureUse && m.tool != "" && !strings.Contains(strings.ToLower(m.tool), "cairn"):
		c.Payload = map[string]any{"tool_input": m.input, "tool_response": m.response}
		if shellTools[strings.ToLower(m.tool)] {
			c.Tool = "Bash"
		}
	default:
		return c, false
	}
	c.Payload, _ = redact.JSON(c.Payload) // the spool must hold no secrets either
	return c, true
}

// workspace returns the workspace of a directory's project, or of the subspace in it, and SiftCoder's namespace.
func workspace(ctx context.Context, dir, subspace string) (sift.Workspace, string, error) {
	w, err := sift.FindWorkspace(ctx, dir, subspace)
	return w, cmp.Or(os.Getenv("SIFTCODER_NS"), sift.DefaultNS), err
}

// store sends a capture to the node, into the workspace of the capture's directory.
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
		data, err := sift.Call(ctx, sift.ControlSocket(home), map[string]any{"kind": "open", "path": c.Dir, "subspace": c.Subspace})
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

// sendSpooled stores the captures in the spool, for at most the time wait. Captures of another project stay for that
// project's hooks, because its node may be another one.
func (r *record) sendSpooled(ctx context.Context, wait time.Duration) error {
	end := time.Now().Add(wait)
	all, err := records(r.dir, r.Tool)
	if err != nil {
		return err
	}
	later := map[string]bool{} // by directory
	return r.spool().drain(func(c capture) error {
		wait, known := later[c.Dir]
		if !known {
			of := recordFor(all, c.Dir)
			wait = of == nil || of.Project != r.Project
		}
		if later[c.Dir] = wait; wait {
			return errKeep
		}
		err := r.store(ctx, c, time.Until(end))
		var no *sift.Refusal
		switch {
		case errors.As(err, &no) && strings.HasPrefix(no.Text, "capture: "): // the node rejects its content: drop it
			return nil
		case errors.As(err, &no) && strings.HasPrefix(no.Text, "open: "): // its directory does not exist: it may come back
			later[c.Dir] = true
			return errKeep
		}
		return err
	})
}

// countWaiting counts the captures in the spool for this record's node. With drop it also removes them, so that no
// other node gets them.
func (r *record) countWaiting(drop bool) (n int, err error) {
	all, err := records(r.dir, r.Tool)
	if err != nil {
		return 0, err
	}
	err = r.spool().drain(func(c capture) error {
		if of := recordFor(all, c.Dir); of != nil && of.Project != r.Project {
			return errKeep
		}
		if n++; !drop {
			return errKeep
		}
		return nil
	})
	return n, err
}

// projectContext returns the text about the project for the model. If the node does not answer, the text says so
// instead of claiming that nothing is known.
func (r *record) projectContext(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := r.reach(ctx); err != nil {
		return unreachableText
	}
	w, ns, err := workspace(ctx, dir, os.Getenv("SIFTCODER_SUBSPACE"))
	if err != nil {
		return unreachableText
	}
	var blocks []string
	left, most := contextTokens, contextTokens*2/3            // at least a third is reserved for the project
	for _, of := range []string{"default", w.Namespace(ns)} { // first what people and models stored, then the captures of this project
		answer, err := cli.Call(ctx, r.target(), api.Prompt,
			map[string]any{"max_tokens": most, "namespaces": []string{of}, "skip_reinforce": true})
		if err != nil {
			return unreachableText
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

const unreachableText = "Cairn, the memory: memory unreachable. Its node does not answer, so what earlier sessions learned is not shown here; " +
	"that says nothing about what is known. What this session does is kept and stored when the node is back."

// reach checks within reachTimeout that the gateway accepts a connection.
func (r *record) reach(ctx context.Context) error {
	u, err := url.Parse(r.Endpoint)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), u.Scheme)))
	if err != nil {
		return err
	}
	return c.Close()
}
