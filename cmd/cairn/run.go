package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// app is what every command has: its three streams.
type app struct {
	in       io.Reader
	out, err io.Writer
}

// input is standard input, until ctx ends: who is waited for at a terminal can be interrupted.
func (a *app) input(ctx context.Context) io.Reader {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() { // ends with the input, or with the process
		_, err := io.Copy(w, a.in)
		w.CloseWithError(err)
	}()
	return r
}

// usageError is a call that is wrong as typed.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// hinted is an error that knows what to do about it.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	a := &app{in: in, out: out, err: errw}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var quiet exitCode
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	fmt.Fprintf(errw, "cairn: %v\n", err)
	var h hinted
	if errors.As(err, &h) {
		fmt.Fprintf(errw, "hint: %s\n", h.hint)
	}
	var u usageError
	if errors.As(err, &u) {
		return exitUsage
	}
	return exitFailed
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
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(a.dev(), a.serve(), a.status(), a.remember(), a.recall(), a.forget(), a.relate(),
		a.db(), a.token(), a.audit(), a.cluster(), a.log(), a.importCmd(), a.exportCmd(), a.backup(), a.restore(), a.recover(), a.key(), a.doctor(), a.debug(), a.bench(), a.mcp(), a.process(), a.covenant(), a.sift(), a.version())
	root.Args = cobra.NoArgs // a command that does not exist is an argument here
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	strict(root)
	return root
}

// strict makes wrong arguments usage errors, and a group without a verb one too.
func strict(c *cobra.Command) {
	if args := c.Args; args != nil {
		c.Args = func(c *cobra.Command, s []string) error {
			err := args(c, s)
			switch {
			case err == nil:
				return nil
			case c.HasSubCommands() || args(c, nil) != nil || args(c, s[:1]) == nil: // it takes arguments, others than these
				return usageError{fmt.Errorf("%w: %s", err, c.UseLine())}
			case c.Flags().Lookup("node-id") != nil:
				return usageError{fmt.Errorf("%s takes flags alone, not %q: a node is named with --node-id", c.CommandPath(), s[0])}
			}
			return usageError{fmt.Errorf("%s takes flags alone, not %q", c.CommandPath(), s[0])}
		}
	}
	if c.HasSubCommands() && c.RunE == nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("%s has no verb %q", c.CommandPath(), args[0])}
			}
			return usageError{fmt.Errorf("%s needs a verb; see %s --help", c.CommandPath(), c.CommandPath())}
		}
	}
	for _, s := range c.Commands() {
		strict(s)
	}
}

// buildVersion is the version stamped into the binary: the module's, or the commit it was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if rev == "" {
		return "devel"
	}
	return "devel-" + rev + dirty
}

func (a *app) version() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		if asJSON {
			return a.json(map[string]string{"version": buildVersion()})
		}
		fmt.Fprintln(a.out, "cairn", buildVersion())
		return nil
	}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
