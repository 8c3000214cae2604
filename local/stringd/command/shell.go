package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/local/stringd/shell"
	"github.com/cairndb/cairn/node/api"
)

func (c *call) exec() (string, error) {
	line := c.argsAndBody()
	if strings.TrimSpace(line) == "" {
		return "", lang.Errorf(lang.Unsupported, "Usage: /exec <shell command>")
	}
	if c.Topic.Type == lang.Bash {
		return c.inShell(line)
	}
	out, err := c.once(line, c.WorkDir())
	if err != nil {
		return "", err
	}
	return c.report(out)
}

// errShellOff rejects a client that may not run programs.
var errShellOff = lang.Errorf(lang.Unsupported, "The shell is off on this node.")

// once runs a line in its own shell.
func (c *call) once(line, dir string) (out shell.Out, err error) {
	err = c.Settings.Memory.Act(c.ctx, api.RunProgram, errShellOff, func(ctx context.Context) (err error) {
		out, err = shell.Once(ctx, shell.Line{Text: line, Dir: dir, Environ: c.environ(), Timeout: c.Settings.Timeout})
		return err
	})
	return out, err
}

// environ returns the environment of programs: that of the daemon, the home of the agent, and the variables of the
// topic.
func (c *call) environ() []string {
	env := append(slices.Clone(c.Settings.Environ), "HOME="+c.Agent.Home)
	for _, k := range c.Vars.Keys {
		if !strings.HasPrefix(k, "_") {
			env = append(env, k+"="+c.Vars.Values[k])
		}
	}
	return env
}

// report returns the result of a program in the form of the protocol.
func (c *call) report(out shell.Out) (string, error) {
	body := cmp.Or(out.Text, "(no output)")
	if out.TimedOut {
		return "", lang.Errorf(lang.Timeout, "timed out after %s | cwd: %s\n---\n%s", c.Settings.Timeout, out.CWD, body)
	}
	text := lang.Titled(fmt.Sprintf("exit: %d | cwd: %s", out.Status, out.CWD), body)
	if out.Status != 0 {
		return "", lang.ExitError(out.Status, text)
	}
	return text, nil
}

// bash runs the input of a bash topic: a command that works there, or a line for the shell.
func bash(ctx context.Context, s *state.Session, cmd string) (string, error) {
	if rest, ok := strings.CutPrefix(cmd, "//"); ok {
		c := parse(ctx, s, "/"+rest)
		switch c.name {
		case "help", "info", "close":
			return c.find().run(c)
		}
		return "", lang.Errorf(lang.Unsupported, "Unknown command: /%s\nUse //help to see available commands.", c.typed)
	}
	if strings.HasPrefix(cmd, "/") {
		c := parse(ctx, s, cmd)
		if !strings.Contains(c.typed[1:], "/") {
			if d := c.find(); d != nil && d.shell {
				return d.run(c)
			} else if d != nil {
				return "", lang.Errorf(lang.Unsupported, "%s does not work in a bash topic.", c.typed)
			}
		}
	}
	return (&call{Session: s, ctx: ctx}).inShell(cmd)
}

func (c *call) inShell(line string) (string, error) {
	var out shell.Out
	err := c.Settings.Memory.Act(c.ctx, api.RunProgram, errShellOff, func(ctx context.Context) (err error) {
		out, err = c.Shell.Run(ctx, c.Agent.Home, line, c.Settings.Timeout)
		return err
	})
	if err != nil {
		return "", err
	}
	c.SetCWD(out.CWD)
	return c.report(out)
}
