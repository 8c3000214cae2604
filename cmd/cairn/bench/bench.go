package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// A Bench describes a verb that measures. Start returns the measurement, which adds its own flags.
type Bench struct {
	Use, Short, Long, Example string
	Start                     func() Measurement
}

// A Measurement is one run of a bench. Run leaves its nodes and clients to the rig, which closes them.
type Measurement interface {
	Flags(*cobra.Command)
	Run(context.Context, *Rig) (Report, error)
}

// A Report holds the results of a bench. --json prints it as JSON.
type Report interface{ Print(*cli.Streams) error }

// verdict is a report that passes or fails; failing sets the exit code.
type verdict interface{ Pass() bool }

// Verbs returns a command for each bench.
func Verbs(a *cli.Streams, benches ...Bench) (verbs []*cobra.Command) {
	for _, b := range benches {
		m := b.Start()
		c := &cobra.Command{Use: b.Use, Short: b.Short, Long: b.Long, Example: b.Example, Args: cobra.NoArgs}
		m.Flags(c)
		if c.Flags().Lookup("json") == nil { // cli.Target adds --json already
			cli.WithJSON(c)
		}
		c.RunE = func(c *cobra.Command, _ []string) error { return perform(c, a, m) }
		verbs = append(verbs, c)
	}
	return verbs
}

// Command returns the command `cairn bench`.
func Command(a *cli.Streams) *cobra.Command {
	group := &cobra.Command{Use: "bench", Short: "Measure a cluster: load, recall, write; compare two runs"}
	group.AddCommand(Verbs(a, writeVerb, RecallVerb, loadVerb)...)
	group.AddCommand(compare(a))
	return group
}

// perform runs a measurement and prints its report, with --json as JSON.
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
	if j, ok := r.(verdict); err == nil && ok && !j.Pass() {
		return cli.ExitCode(cli.ExitFailed)
	}
	return err
}

// List returns a help line for each of all.
func List[T any](all []T, of func(T) (name, what string)) string {
	var b strings.Builder
	for _, x := range all {
		name, what := of(x)
		fmt.Fprintf(&b, "  %-12s %s\n", name, what)
	}
	return b.String()
}
