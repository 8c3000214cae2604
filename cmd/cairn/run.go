package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/debug"
	"github.com/cairndb/cairn/cmd/cairn/doctor"
	"github.com/cairndb/cairn/cmd/cairn/memory"
)

// app is the commands, each a method that makes one.
type app struct{ cli.Streams }

func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	out, errw = cli.Shown(out), cli.Shown(errw)
	a := &app{cli.Streams{In: in, Out: out, Err: errw}}
	root := a.root()
	root.SetArgs(args)
	return cli.Exit(root.ExecuteContext(ctx), errw)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "cairn",
		Short: "A clustered, replicated memory server for AI agents",
		Long: `A clustered, replicated memory server for AI agents.

  cairn dev                         run one node with no set-up
  cairn remember "Alice leads payments"
  cairn recall "who leads payments?"

Exit codes: 0 ok, 1 failed, 2 called wrongly; "status --exit-code" 3 degraded.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return cli.Usage(cli.FlagError(c, err)) })
	group(root, "memories", "Memories:", append(memory.Commands(&a.Streams), a.recall())...)
	group(root, "node", "Nodes and clusters:", a.dev(), a.serve(), a.status(), a.top(), a.cluster(), a.context(), a.log(), a.audit(), a.embed(), a.key(), a.recover(), doctor.Command(&a.Streams),
		debug.Command(&a.Streams), bench.Command(&a.Streams))
	group(root, "database", "Databases, tokens and moving data:", a.db(), a.token(), a.importCmd(), a.exportCmd(), a.backup(), a.restore())
	group(root, "host", "Clients on this host:", a.mcp(), a.process(), a.covenant(), a.sift())
	root.AddCommand(a.version(), a.shell())
	root.Args = cobra.NoArgs // a command that does not exist is an argument here
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	strict(root)
	cli.CompleteNames(root)
	return root
}

// group adds verbs that help shows below one title.
func group(root *cobra.Command, id, title string, verbs ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, v := range verbs {
		v.GroupID = id
	}
	root.AddCommand(verbs...)
}

// strict makes wrong arguments usage errors, and a group without a verb one too.
func strict(c *cobra.Command) {
	if args := c.Args; args != nil {
		c.Args = func(c *cobra.Command, s []string) error {
			err := args(c, s)
			switch {
			case err == nil:
				return nil
			case c.HasSubCommands():
				return cli.UnknownVerb(c, s[0])
			case args(c, nil) != nil || args(c, s[:1]) == nil: // it takes arguments, others than these
				_, wants, _ := strings.Cut(c.Use, " ")
				if len(s) == 0 {
					return cli.Usagef("%s needs %s; see %s --help", c.CommandPath(), wants, c.CommandPath())
				}
				return cli.Usagef("%s takes %s, not %q; see %s --help", c.CommandPath(), wants, strings.Join(s, " "), c.CommandPath())
			case c.Flags().Lookup("node-id") != nil:
				return cli.Usagef("%s takes flags alone, not %q: a node is named with --node-id", c.CommandPath(), s[0])
			}
			return cli.Usagef("%s takes flags alone, not %q", c.CommandPath(), s[0])
		}
	}
	if c.HasSubCommands() && c.RunE == nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownVerb(c, args[0])
			}
			return cli.Usagef("%s needs a verb; see %s --help", c.CommandPath(), c.CommandPath())
		}
	}
	for _, s := range c.Commands() {
		strict(s)
	}
}

func (a *app) version() *cobra.Command {
	return cli.WithJSON(&cobra.Command{Use: "version", Short: "Print the version, its commit and the commit's date", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		return a.Tell(cli.AsJSON(c), cli.ThisBuild(), "%s", cli.ThisBuild())
	}})
}
