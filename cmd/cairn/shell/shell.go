// Package shell runs verbs one after the other, from a terminal or a script.
package shell

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

const shellHelp = `Verbs are those of cairn --help, without the word cairn: recall "who leads payments?", list --namespace work.
  tab          completes verbs, flags and the names that flags accept
  \c NAME      switches to a context, or to a database of that name; \c alone switches back
  \x           prints each row as a block of its fields, or as a table again
  \timing      shows after each verb how long it took; a second \timing ends that
  \?           prints this
  exit, \q     ends the shell, like quit and Ctrl-D; Ctrl-C ends a running verb`

// A shell runs verbs, one a line, in one process. What it was called with holds for all of them.
type shell struct {
	cli.Streams
	root              func(*cli.Streams) *cobra.Command
	context, database string // gone to with \c; blank: what the environment and the flags of shell say
	blocks, timing    bool
}

// Command is `cairn shell`. root makes the commands that its lines call.
func Command(s *cli.Streams, root func(*cli.Streams) *cobra.Command) *cobra.Command {
	var t cli.Target
	c := &cobra.Command{Use: "shell", Short: "Run verbs one after the other, with completion and history", Args: cobra.NoArgs,
		Long: "Run verbs one after the other, with completion and history.\n\n" + shellHelp + `

Lines that are piped in are run until one fails, whose exit code is the shell's; # begins a comment.`,
		Example: "  cairn shell\n  cairn shell --context prod < questions.txt",
		RunE: func(c *cobra.Command, _ []string) error {
			for name, value := range environ(&t, c.Flags().Changed) {
				if err := os.Setenv(name, value); err != nil {
					return err
				}
			}
			sh := &shell{Streams: *s, root: root, database: t.Database}
			if in, ok := s.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) && cli.IsTerminal(s.Out) {
				return sh.interactive(c.Context(), in)
			}
			return sh.script(c.Context())
		}}
	t.Flags(c)
	t.InDatabase(c)
	for _, name := range []string{"json", "timeout"} { // each verb has its own
		if err := c.Flags().MarkHidden(name); err != nil {
			panic("shell: " + err.Error()) // the flag was just made
		}
	}
	return c
}

// environ returns the environment in which a shell runs its verbs, so that they reach the node that its flags name. It
// blanks what the environment itself says of another node or another token.
func environ(t *cli.Target, given func(flag string) bool) map[string]string {
	env := map[string]string{}
	for flag, v := range map[string][2]string{"home": {"CAIRN_HOME", t.Home},
		"endpoints": {"CAIRN_ENDPOINTS", strings.Join(t.Endpoints, ",")}, "context": {"CAIRN_CONTEXT", t.Named},
		"token": {"CAIRN_TOKEN", t.TokenText}, "token-file": {"CAIRN_TOKEN_FILE", t.TokenFile}, "ca": {"CAIRN_CA", t.CA}} {
		if given(flag) {
			env[v[0]] = v[1]
		}
	}
	if given("home") || given("endpoints") {
		env["CAIRN_CONTEXT"] = ""
		if given("context") { // what else it says holds for the node of the flags
			env["CAIRN_TOKEN_FILE"], env["CAIRN_CA"], env["CAIRN_TLS"] = t.TokenFile, t.CA, ""
		}
	}
	if t.TLS {
		env["CAIRN_TLS"] = "1"
	}
	if given("home") && !given("endpoints") {
		env["CAIRN_ENDPOINTS"] = ""
	}
	if given("token") && !given("token-file") {
		env["CAIRN_TOKEN_FILE"] = ""
	}
	return env
}

// script runs the lines of its input until one fails.
func (s *shell) script(ctx context.Context) error {
	lines := bufio.NewScanner(s.Input(ctx))
	for lines.Scan() {
		end, code := s.line(ctx, lines.Text())
		switch {
		case code != cli.ExitOK:
			return cli.ExitCode(code)
		case end:
			return nil
		}
	}
	return lines.Err()
}

// interactive reads from a terminal. The terminal is raw while a line is edited, and as it was while a verb runs, which
// Ctrl-C ends then.
func (s *shell) interactive(ctx context.Context, in *os.File) error {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP) // an interrupt ends a verb, not the shell
	defer stop()
	ui := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{s.Input(ctx), cli.Raw(s.Out)}, "")
	ui.History = openHistory()
	ui.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		return s.complete(ctx, ui, line, pos)
	}
	fmt.Fprintln(s.Out, `\? for help, \q to end`)
	for {
		was, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return err
		}
		if wide, high, err := term.GetSize(int(in.Fd())); err == nil && wide > 0 {
			_ = ui.SetSize(wide, high) // it draws lines that are too long less well
		}
		ui.SetPrompt(s.prompt())
		line, err := ui.ReadLine()
		if e := term.Restore(int(in.Fd()), was); e != nil {
			return e
		}
		if err != nil {
			fmt.Fprintln(s.Out)
			if errors.Is(err, io.EOF) || ctx.Err() != nil {
				return nil
			}
			return err
		}
		verb, done := signal.NotifyContext(ctx, syscall.SIGINT)
		end, _ := s.line(verb, line)
		done()
		if end {
			return nil
		}
	}
}

func (s *shell) prompt() string {
	switch {
	case s.context != "" && s.database != "":
		return "cairn " + s.context + "/" + s.database + "> "
	case s.context != "" || s.database != "":
		return "cairn " + s.context + s.database + "> "
	}
	return "cairn> "
}

// line runs one line. It reports whether the shell is to end, and the exit code of a verb.
func (s *shell) line(ctx context.Context, line string) (end bool, code int) {
	args, err := Words(line)
	if err != nil {
		return false, cli.Exit(cli.Usage(err), s.Err)
	}
	if len(args) == 0 {
		return false, cli.ExitOK
	}
	if strings.HasPrefix(args[0], `\`) || len(args) == 1 && (args[0] == "exit" || args[0] == "quit") {
		return s.command(args)
	}
	if args[0] == "cairn" {
		args = args[1:]
	}
	start := time.Now()
	code = s.verb(ctx, args)
	if s.timing {
		fmt.Fprintln(s.Err, time.Since(start).Round(100*time.Microsecond))
	}
	return false, code
}

// verb runs one verb as the process would, where the shell has gone to.
func (s *shell) verb(ctx context.Context, args []string) int {
	out := s.Out
	if s.blocks {
		out = cli.Blocks{Writer: out}
	}
	of := &cli.Streams{In: strings.NewReader(""), Out: out, Err: s.Err}
	root := s.root(of)
	if c, _, err := root.Find(args); err == nil {
		if c.Name() == "shell" {
			return cli.Exit(cli.Usagef("this is already a shell"), s.Err)
		}
		args = s.placed(c, args)
	}
	return of.Execute(ctx, root, args)
}

// placed adds the context and the database that the shell has gone to, where the verb has such flags. What a line says
// itself comes later and holds.
func (s *shell) placed(c *cobra.Command, args []string) []string {
	var place []string
	if s.context != "" && c.Flags().Lookup("context") != nil {
		place = append(place, "--context="+s.context)
	}
	if f := c.Flags().Lookup("db"); s.database != "" && f != nil && !f.Hidden {
		place = append(place, "--db="+s.database)
	}
	depth := strings.Count(c.CommandPath(), " ")
	return append(append(append([]string(nil), args[:depth]...), place...), args[depth:]...)
}

// command runs a line that is for the shell itself.
func (s *shell) command(args []string) (end bool, code int) {
	switch args[0] {
	case `\q`, "exit", "quit":
		return true, cli.ExitOK
	case `\?`:
		fmt.Fprintln(s.Out, shellHelp)
	case `\x`:
		s.blocks = !s.blocks
	case `\timing`:
		s.timing = !s.timing
	case `\c`:
		s.context, s.database = "", ""
		if len(args) < 2 {
			break
		}
		all, err := cli.OpenContexts()
		if err != nil {
			return false, cli.Exit(err, s.Err)
		}
		if _, ok := all.All[args[1]]; ok {
			s.context = args[1]
		} else {
			s.database = args[1]
		}
	default:
		return false, cli.Exit(cli.Usagef(`there is no %s: \? lists the commands`, args[0]), s.Err)
	}
	return false, cli.ExitOK
}

// complete extends the word before the cursor as far as all candidates agree, and lists them when that is no farther.
func (s *shell) complete(ctx context.Context, ui io.Writer, line string, pos int) (string, int, bool) {
	args, err := Words(line[:pos])
	if err != nil {
		return "", 0, false // within quotes: a text, not a name
	}
	last := ""
	if len(args) > 0 && !strings.HasSuffix(line[:pos], " ") {
		last, args = args[len(args)-1], args[:len(args)-1]
	}
	found := s.candidates(ctx, args, last)
	if len(found) == 0 {
		return "", 0, false
	}
	more := found[0]
	for _, f := range found[1:] {
		for !strings.HasPrefix(f, more) {
			more = more[:len(more)-1]
		}
	}
	if len(found) == 1 && !strings.HasSuffix(more, "=") {
		more += " "
	}
	if len(more) <= len(last) {
		fmt.Fprintln(ui, strings.Join(found, "  "))
		return "", 0, false
	}
	rest := more[len(last):]
	return line[:pos] + rest + line[pos:], pos + len(rest), true
}

// candidates asks the verbs what may stand there.
func (s *shell) candidates(ctx context.Context, args []string, last string) (found []string) {
	var out bytes.Buffer
	root := s.root(&cli.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard})
	if c, _, err := root.Find(args); err == nil && c != root {
		args = s.placed(c, args)
	}
	root.SetArgs(append(append([]string{cobra.ShellCompNoDescRequestCmd}, args...), last))
	if root.ExecuteContext(ctx) != nil {
		return nil
	}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, ":") || !strings.HasPrefix(line, last) { // the last line is a directive for other shells
			continue
		}
		found = append(found, line)
	}
	return found
}
