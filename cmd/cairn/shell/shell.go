// Package shell implements `cairn shell`, which runs verbs from a terminal or a script.
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

// A shell runs one verb per line in this process. Its own flags apply to all of them.
type shell struct {
	cli.Streams
	root              func(*cli.Streams) *cobra.Command
	context, database string // selected with \c; blank: from the environment and the shell's flags
	blocks, timing    bool
}

// Command returns the command `cairn shell`. root returns the commands for its lines.
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
	t.DatabaseFlag(c)
	for _, name := range []string{"json", "timeout"} { // each verb has its own flags
		if err := c.Flags().MarkHidden(name); err != nil {
			panic("shell: " + err.Error()) // impossible: the flag exists
		}
	}
	return c
}

// environ returns the environment variables that make the verbs use the shell's flags. It blanks inherited variables
// that would select another node or token.
func environ(t *cli.Target, given func(flag string) bool) map[string]string {
	env := map[string]string{}
	for flag, v := range map[string][2]string{"home": {"CAIRN_HOME", t.Home},
		"endpoints": {"CAIRN_ENDPOINTS", strings.Join(t.Endpoints, ",")}, "context": {"CAIRN_CONTEXT", t.ContextName},
		"token": {"CAIRN_TOKEN", t.TokenText}, "token-file": {"CAIRN_TOKEN_FILE", t.TokenFile}, "ca": {"CAIRN_CA", t.CA}} {
		if given(flag) {
			env[v[0]] = v[1]
		}
	}
	if given("home") || given("endpoints") {
		env["CAIRN_CONTEXT"] = ""
		if given("context") { // keep the context's other settings
			env["CAIRN_TOKEN_FILE"], env["CAIRN_CA"], env["CAIRN_TLS"] = t.TokenFile, t.CA, ""
		}
	}
	if t.TLS {
		env["CAIRN_TLS"] = "1"
	} else if given("tls") {
		env["CAIRN_TLS"] = ""
	}
	if given("home") && !given("endpoints") {
		env["CAIRN_ENDPOINTS"] = ""
	}
	if given("token") && !given("token-file") {
		env["CAIRN_TOKEN_FILE"] = ""
	}
	return env
}

// script runs the lines of the input until one fails.
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

// interactive reads lines from a terminal. The terminal is in raw mode only while a line is edited, so that Ctrl-C
// interrupts a running verb.
func (s *shell) interactive(ctx context.Context, in *os.File) error {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP) // SIGINT ends a verb, not the shell
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
			_ = ui.SetSize(wide, high) // on an error only long lines are drawn badly
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

// line runs one line. It reports whether the shell must end, and returns the exit code of the verb.
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

// verb runs one verb as a process would, in the selected context and database.
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
		args = s.addPlace(c, args)
	}
	return of.Execute(ctx, root, args)
}

// addPlace adds flags for the selected context and database, if the verb has such flags. Flags in the line itself
// come later and override them.
func (s *shell) addPlace(c *cobra.Command, args []string) []string {
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

// command runs a command of the shell itself.
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

// complete extends the word before the cursor to the common prefix of all candidates. If that adds nothing, it lists
// the candidates.
func (s *shell) complete(ctx context.Context, ui io.Writer, line string, pos int) (string, int, bool) {
	args, err := Words(line[:pos])
	if err != nil {
		return "", 0, false // inside quotes: text, not a name
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

// candidates returns the completions of the last word, from cobra's completion command.
func (s *shell) candidates(ctx context.Context, args []string, last string) (found []string) {
	var out bytes.Buffer
	root := s.root(&cli.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard})
	if c, _, err := root.Find(args); err == nil && c != root {
		args = s.addPlace(c, args)
	}
	root.SetArgs(append(append([]string{cobra.ShellCompNoDescRequestCmd}, args...), last))
	if root.ExecuteContext(ctx) != nil {
		return nil
	}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, ":") || !strings.HasPrefix(line, last) { // lines with ":" are directives for other shells
			continue
		}
		found = append(found, line)
	}
	return found
}
