package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// A Bench is one verb that measures: its help, and what makes a measurement for a call of it.
type Bench struct {
	Use, Short, Long, Example string
	Start                     func() Measurement
}

// A Measurement is one call of a bench. The rig ends the nodes and clients that Run starts.
type Measurement interface {
	Flags(*cobra.Command)
	Run(context.Context, *Rig) (Report, error)
}

// A Report holds the results of a bench. --json prints it as JSON.
type Report interface{ Print(*cli.Streams) error }

// judged is a report that passed or failed, which decides the exit code.
type judged interface{ Pass() bool }

// Verbs returns a command for each bench.
func Verbs(a *cli.Streams, benches ...Bench) (verbs []*cobra.Command) {
	for _, b := range benches {
		m := b.Start()
		c := &cobra.Command{Use: b.Use, Short: b.Short, Long: b.Long, Example: b.Example, Args: cobra.NoArgs}
		m.Flags(c)
		if c.Flags().Lookup("json") == nil { // one that names a cluster has it
			cli.WithJSON(c)
		}
		c.RunE = func(c *cobra.Command, _ []string) error { return perform(c, a, m) }
		verbs = append(verbs, c)
	}
	return verbs
}

// Command is `cairn bench`.
func Command(a *cli.Streams) *cobra.Command {
	group := &cobra.Command{Use: "bench", Short: "Measure a cluster: load, recall, write; compare two runs"}
	group.AddCommand(Verbs(a, writeVerb, RecallVerb, loadVerb)...)
	group.AddCommand(compare(a))
	return group
}

// perform runs a bench and prints its report, for people or for machines.
func perform(c *cobra.Command, a *cli.Streams, m Measurement) (err error) {
	l := &Rig{Streams: a}
	defer func() { err = errors.Join(err, l.Close()) }()
	r, err := m.Run(c.Context(), l)
	if err != nil {
		return err
	}
	if cli.AsJSON(c) {
		err = a.JSON(r)
	} else {
		err = r.Print(a)
	}
	if j, ok := r.(judged); err == nil && ok && !j.Pass() {
		return cli.ExitCode(cli.ExitFailed)
	}
	return err
}

// List is a line for each of several things, for --help.
func List[T any](all []T, of func(T) (name, what string)) string {
	var b strings.Builder
	for _, x := range all {
		name, what := of(x)
		fmt.Fprintf(&b, "  %-12s %s\n", name, what)
	}
	return b.String()
}
