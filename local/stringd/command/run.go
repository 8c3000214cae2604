package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
)

// call is a running command.
type call struct {
	*state.Session
	ctx     context.Context
	typed   string // the word as typed, with its slash
	name    string // before the first . or : of the word, without the slash and folded
	sub     string // after it
	args    string // rest of the first line
	body    string // after the first newline
	hasBody bool   // the command has a newline
}

// argsAndBody returns the arguments with the body, for commands whose quoted values may span lines.
func (c *call) argsAndBody() string {
	if !c.hasBody {
		return c.args
	}
	return c.args + "\n" + c.body
}

// Run runs a command of an agent in a session. A panic becomes an INTERNAL_ERROR.
func Run(ctx context.Context, s *state.Session, a state.Agent, cmd string) (r lang.Result) {
	defer func() {
		if p := recover(); p != nil {
			r = lang.Result{Code: lang.InternalError, Text: fmt.Sprint(p)}
		}
		s.UpdateMeta()
	}()
	s.Agent = a
	return lang.ResultOf(dispatch(ctx, s, strings.TrimSpace(cmd)))
}

func dispatch(ctx context.Context, s *state.Session, cmd string) (string, error) {
	if s.Topic.Type == lang.Bash {
		return bash(ctx, s, cmd)
	}
	if rest, ok := strings.CutPrefix(cmd, "//"); ok {
		cmd = "/" + rest
	}
	if !strings.HasPrefix(cmd, "/") {
		return "", lang.Errorf(lang.Unsupported, "Commands must start with /. Use /help for details.")
	}
	c := parse(ctx, s, cmd)
	d := c.find()
	if d == nil {
		return "", lang.Errorf(lang.Unsupported, "Unknown command: %s\nUse /info to see available commands.", c.typed)
	}
	return d.run(c)
}

// parse splits a command into its parts.
func parse(ctx context.Context, s *state.Session, cmd string) *call {
	c := &call{Session: s, ctx: ctx}
	head, body, more := strings.Cut(cmd, "\n")
	head = strings.TrimSuffix(head, "\r")
	c.body, c.hasBody = body, more
	c.typed = head
	if i := strings.IndexAny(head, " \t"); i >= 0 {
		c.typed, c.args = head[:i], strings.TrimSpace(head[i:])
	}
	c.name = c.typed
	if i := strings.IndexAny(c.typed, ".:"); i >= 0 {
		c.name, c.sub = c.typed[:i], c.typed[i+1:]
	}
	c.name = strings.ToLower(strings.TrimPrefix(c.name, "/"))
	return c
}

// commandDef describes a command, a line of the table.
type commandDef struct {
	name  string
	sub   bool   // accepts .sub or :sub
	usage string // shown by /help
	about string
	shell bool // works in bash topics too
	run   func(*call) (string, error)
}

// table holds all commands.
type table struct {
	general, pages []commandDef
	hubs           map[string][]commandDef // commands of single hubs, by hub
}

// tableOnce builds the table at its first use.
var tableOnce struct {
	sync.Once
	table
}

func commands() *table {
	tableOnce.Do(func() { tableOnce.table = table{generalCommands(), hubPageCommands(), hubCommands()} })
	return &tableOnce.table
}

// find looks up the command. A hub looks among its own commands first.
func (c *call) find() *commandDef {
	bare := !strings.ContainsAny(c.typed, ".:")
	lookup := func(f []commandDef) *commandDef {
		i := slices.IndexFunc(f, func(d commandDef) bool { return d.name == c.name && (d.sub || bare) })
		if i < 0 {
			return nil
		}
		return &f[i]
	}
	t := commands()
	if c.Topic.Type == lang.Hub {
		if d := lookup(t.hubs[c.Topic.Name]); d != nil {
			return d
		}
		if d := lookup(t.pages); d != nil && (c.name != "open" || c.args == "") {
			return d
		}
	}
	return lookup(t.general)
}
