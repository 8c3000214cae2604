package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/local/stringd/inbox"
	"github.com/cairndb/cairn/local/stringd/shell"
	"github.com/cairndb/cairn/node/api"
)

// An Agent issues commands.
type Agent struct {
	ID      string
	Home    string
	Allowed []string // further directories its documents may be in
}

// Host is the daemon that commands run in. Its methods may be called from any goroutine.
type Host interface {
	Agents() []Agent
	AddAgent(id, home string, allowed []string) (created bool, err error)
	RemoveAgent(id string) (bool, error)
	Sessions(agent string) []Listed
	CloseSession(agent, topic string) bool
	Webhook(agent string, rotate bool) (url string, err error)
	Inbox(Agent) *inbox.Inbox
	Status() string
	Shutdown() error
}

// Listed is a session as the lists show it.
type Listed struct {
	Topic     Topic
	Executing bool
	Queued    int
	Meta      *Meta
	CWD       string // of a shell
}

// Settings are the same for every session of a daemon.
type Settings struct {
	Host       Host
	Memory     api.At        // its scopes let commands run programs, use files and ask other hosts
	FullAccess bool          // documents may lie anywhere
	Roots      Roots         // of agents' homes and allowed directories
	Timeout    time.Duration // of a program
	Environ    []string      // of programs; HOME is the agent's
	Temp       string        // directory for the shells' files

	once  sync.Once
	table table
}

// Meta describes the document of a session.
type Meta struct {
	URI           string   `json:"uri"`
	Title         *string  `json:"title"`
	CurrentBlock  *string  `json:"current_block"`
	BlockID       *string  `json:"block_id"`
	Menus         []string `json:"menus"`
	Actions       []string `json:"actions"`
	HistoryLength int      `json:"history_length"`
	Converted     bool     `json:"converted"`
	Warnings      []string `json:"warnings"`
}

// A Session is the state of one topic of one agent. Run is called by one goroutine at a time; Meta, CWD and Close by
// any.
type Session struct {
	set   *Settings
	topic Topic
	agent Agent // of the running command

	doc     *page
	history []*page           // where /back goes
	dir     string            // of the directory opened last; empty when a document was opened since
	vars    *ordered          // {name}
	values  map[string]string // @name of templates and recalls
	menus   map[string]bool   // sources that were unfolded once
	seen    map[string]stamp  // files whose content the client knows
	undo    *undo

	shell *shell.Shell
	cwd   atomic.Pointer[string]
	meta  atomic.Pointer[Meta]
}

// NewSession makes the empty session of a topic.
func NewSession(set *Settings, t Topic) *Session {
	return &Session{set: set, topic: t, vars: newOrdered(), values: map[string]string{}, menus: map[string]bool{}, seen: map[string]stamp{},
		shell: shell.New(shell.Config{Environ: set.Environ, Temp: set.Temp})}
}

// Meta describes the session's document; nil without one.
func (s *Session) Meta() *Meta { return s.meta.Load() }

// CWD returns the working directory of the session's shell; empty when it has none.
func (s *Session) CWD() string {
	if p := s.cwd.Load(); p != nil && s.shell.Alive() {
		return *p
	}
	return ""
}

// Close ends the session's shell, and with it a command that runs there.
func (s *Session) Close() { s.shell.Close() }

// A call is one command on its way.
type call struct {
	*Session
	ctx  context.Context
	word string // as typed, with its slash
	name string // before the first . or : of the word, without the slash and folded
	sub  string // after it
	args string // rest of the first line
	body string // after the first newline
	more bool   // there was a newline
}

// joined is the arguments with the body, for commands whose quoted values may span lines.
func (c *call) joined() string {
	if !c.more {
		return c.args
	}
	return c.args + "\n" + c.body
}

// Run carries out one command. It never panics: a fault of ours is an INTERNAL_ERROR.
func (s *Session) Run(ctx context.Context, a Agent, cmd string) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = Result{InternalError, fmt.Sprint(p)}
		}
		s.meta.Store(s.describe())
	}()
	s.agent = a
	return result(s.dispatch(ctx, strings.TrimSpace(cmd)))
}

func (s *Session) dispatch(ctx context.Context, cmd string) (string, error) {
	if s.topic.Type == Bash {
		return s.bash(ctx, cmd)
	}
	if rest, ok := strings.CutPrefix(cmd, "//"); ok {
		cmd = "/" + rest
	}
	if !strings.HasPrefix(cmd, "/") {
		return "", failf(Unsupported, "Commands must start with /. Use /help for details.")
	}
	c := s.parse(ctx, cmd)
	d := c.find()
	if d == nil {
		return "", failf(Unsupported, "Unknown command: %s\nUse /info to see available commands.", c.word)
	}
	return d.run(c)
}

// parse splits a command into its parts.
func (s *Session) parse(ctx context.Context, cmd string) *call {
	c := &call{Session: s, ctx: ctx}
	head, body, more := strings.Cut(cmd, "\n")
	head = strings.TrimSuffix(head, "\r")
	c.body, c.more = body, more
	c.word = head
	if i := strings.IndexAny(head, " \t"); i >= 0 {
		c.word, c.args = head[:i], strings.TrimSpace(head[i:])
	}
	c.name = c.word
	if i := strings.IndexAny(c.word, ".:"); i >= 0 {
		c.name, c.sub = c.word[:i], c.word[i+1:]
	}
	c.name = strings.ToLower(strings.TrimPrefix(c.name, "/"))
	return c
}

// A def is one command: a line of a family's table.
type def struct {
	name  string
	sub   bool   // takes .sub or :sub
	usage string // shown by /help
	about string
	shell bool // works in bash topics too
	run   func(*call) (string, error)
}

// table is every command, made once: the hubs' own ones under their names, the others under none.
type table struct {
	families [][]def
	pages    []def
	hubs     map[string][]def
}

// commands is the table; /help lists its families in this order.
func (s *Settings) commands() *table {
	s.once.Do(func() {
		s.table = table{pages: hubPages(), hubs: hubFamily(), families: [][]def{documentFamily(), navigationFamily(), actionFamily(),
			variableFamily(), editFamily(), shellFamily(), eventFamily(), sessionFamily(), memoryFamily(), graphFamily(), packageFamily()}}
	})
	return &s.table
}

// find looks a command up: the hub's own ones first, in a hub.
func (c *call) find() *def {
	bare := !strings.ContainsAny(c.word, ".:")
	look := func(f []def) *def {
		i := slices.IndexFunc(f, func(d def) bool { return d.name == c.name && (d.sub || bare) })
		if i < 0 {
			return nil
		}
		return &f[i]
	}
	t := c.set.commands()
	if c.topic.Type == Hub {
		if d := look(t.hubs[c.topic.Name]); d != nil {
			return d
		}
		if d := look(t.pages); d != nil && (c.name != "open" || c.args == "") {
			return d
		}
	}
	for _, f := range t.families {
		if d := look(f); d != nil {
			return d
		}
	}
	return nil
}
