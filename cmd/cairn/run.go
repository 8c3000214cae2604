package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/admin"
	"github.com/cairndb/cairn/cmd/cairn/agents"
	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/cluster"
	"github.com/cairndb/cairn/cmd/cairn/debug"
	"github.com/cairndb/cairn/cmd/cairn/dialect"
	"github.com/cairndb/cairn/cmd/cairn/doctor"
	"github.com/cairndb/cairn/cmd/cairn/memory"
	"github.com/cairndb/cairn/cmd/cairn/model"
	"github.com/cairndb/cairn/cmd/cairn/serve"
	"github.com/cairndb/cairn/cmd/cairn/shell"
	"github.com/cairndb/cairn/cmd/cairn/status"
	"github.com/cairndb/cairn/cmd/cairn/stopped"
	"github.com/cairndb/cairn/cmd/cairn/transfer"
)

func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	out, errw = cli.NewEscaper(out), cli.NewEscaper(errw)
	s := &cli.Streams{In: in, Out: out, Err: errw}
	return s.Execute(ctx, root(s), args)
}

// root returns the root command with all subcommands, which print to s.
func root(s *cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "cairn",
		Short: "A clustered, replicated memory server for AI agents",
		Long: `A clustered, replicated memory server for AI agents.

  cairn dev                         run one node with no set-up
  cairn remember "Alice leads payments"
  cairn recall "who leads payments?"

Exit codes: 0 ok, 1 failed or rejected by the node, 2 called wrongly and nothing was sent; "status --exit-code" 3 degraded.
With --json, an error is the last line of stderr: {"error":…,"hint":…,"exit":1}, with "code" where a gateway and "wire_code" where a
wire port rejected the request; stdout has nothing then, or what was done before.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       cli.ThisBuild().String(),
	}
	c.SetVersionTemplate("{{.Version}}\n")
	c.SetIn(s.In)
	c.SetOut(s.Out)
	c.SetErr(s.Err)
	c.SetUsageFunc(cli.PrintUsage)
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return cli.Usage(cli.FlagError(c, err)) })
	group(c, "memories", "Memories:", memory.Commands(s)...)
	group(c, "node", "Nodes and clusters:", serve.Dev(s), serve.Command(s), status.Command(s), status.Top(s),
		cluster.Command(s), contexts(s), status.Log(s), admin.Audit(s), model.Command(s),
		stopped.Key(s), stopped.Recover(s), doctor.Command(s), debug.Command(s), bench.Command(s))
	group(c, "database", "Databases, tokens and moving data:", admin.DB(s), admin.Token(s), transfer.Import(s),
		transfer.Export(s), transfer.Backup(s), transfer.Restore(s))
	group(c, "host", "Clients on this host:", agents.Connect(s), agents.Hook(s), dialect.MCP(s), dialect.Process(s),
		dialect.Covenant(s), dialect.Sift(s))
	c.AddCommand(version(s), shell.Command(s, root))
	c.Args = cobra.NoArgs // cobra passes an unknown command as an argument
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	showExamples(c)
	c.InitDefaultCompletionCmd()
	helpOfVerbs(c)
	strict(c)
	cli.CompleteNames(c)
	return c
}

// helpOfVerbs replaces the help command, so that help for an unknown verb is a usage error.
func helpOfVerbs(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"}) // exists: the line above added it
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		of, rest, err := root.Find(args)
		if err == nil && len(rest) > 0 && of.HasSubCommands() {
			err = cli.UnknownVerb(of, rest[0])
		}
		if err != nil {
			return err
		}
		return of.Help()
	}
}

// group adds verbs under a common title in the help.
func group(root *cobra.Command, id, title string, verbs ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, v := range verbs {
		v.GroupID = id
	}
	root.AddCommand(verbs...)
}

// strict makes wrong arguments and a missing verb usage errors, for a command and its subcommands.
func strict(c *cobra.Command) {
	if args := c.Args; args != nil {
		c.Args = func(c *cobra.Command, s []string) error {
			err := args(c, s)
			switch {
			case err == nil:
				return nil
			case c.HasSubCommands():
				return cli.UnknownVerb(c, s[0])
			case args(c, nil) != nil || args(c, s[:1]) == nil: // it accepts arguments, but not this number or these values
				_, wants, _ := strings.Cut(c.Use, " ")
				if len(s) == 0 {
					return cli.Usagef("%s needs %s; see %s --help", c.CommandPath(), wants, c.CommandPath())
				}
				if tooFew(c, args, s) {
					return cli.Usagef("%s needs %s, not only %q; see %s --help", c.CommandPath(), wants, strings.Join(s, " "), c.CommandPath())
				}
				return cli.Usagef("%s accepts %s, not %q; see %s --help", c.CommandPath(), wants, strings.Join(s, " "), c.CommandPath())
			case c.Flags().Lookup("node-id") != nil:
				return cli.Usagef("%s accepts only flags, not %q: name the node with --node-id", c.CommandPath(), s[0])
			}
			return cli.Usagef("%s accepts only flags, not %q", c.CommandPath(), s[0])
		}
	}
	if c.HasSubCommands() {
		cli.BeforeVerbs(c)
	}
	if c.HasSubCommands() && c.RunE == nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownVerb(c, args[0])
			}
			return cli.Usagef("%s needs a verb: %s; see %s --help", c.CommandPath(), verbsOf(c), c.CommandPath())
		}
	}
	for _, s := range c.Commands() {
		strict(s)
	}
}

// tooFew reports whether arguments would be accepted if more followed.
func tooFew(c *cobra.Command, args cobra.PositionalArgs, s []string) bool {
	for more := range 4 {
		if args(c, append(slices.Clone(s), slices.Repeat([]string{"x"}, more+1)...)) == nil {
			return true
		}
	}
	return false
}

// verbsOf lists the verbs of a command for an error.
func verbsOf(c *cobra.Command) string {
	var names []string
	for _, v := range c.Commands() {
		if v.IsAvailableCommand() && v.Name() != "help" {
			names = append(names, v.Name())
		}
	}
	return strings.Join(names, ", ")
}

func version(s *cli.Streams) *cobra.Command {
	return cli.WithJSON(&cobra.Command{Use: "version", Short: "Print the version, its commit and the commit's date",
		Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			return s.PrintResult(cli.AsJSON(c), cli.ThisBuild(), "%s", cli.ThisBuild())
		}})
}
