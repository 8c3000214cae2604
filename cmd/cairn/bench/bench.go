package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// bench is a row of the registry. Its help, flags and run are in a file of its own.
type bench struct {
	use      string // its name, and what it takes
	measures string
	help     help
	start    func() measurement // one for each call
}

// help holds the --help text of a bench.
type help struct{ long, example string }

// measurement is one call of a bench. Nodes and clients that run starts belong to the lab, which ends them.
type measurement interface {
	flags(*cobra.Command)
	run(context.Context, *lab) (report, error)
}

// report holds the results of a bench. --json prints it as JSON.
type report interface{ print(*cli.Streams) error }

// judged is a report that passed or failed, which is the exit code of the bench.
type judged interface{ pass() bool }

// benches is the registry, in the order in which they were added.
var benches = []bench{
	{use: "write", measures: "Measure writes: every client waits for its answer before it writes again", help: writeHelp, start: func() measurement { return new(writeBench) }},
	{use: "recall {--corpus FILE --queries FILE | --size N}", measures: "Load a corpus, ask every question, and say how well and how fast they were answered", help: recallHelp, start: func() measurement { return new(recallBench) }},
	{use: "lag", measures: "Write at a rate, and look for every memory once it was acknowledged", help: lagHelp, start: func() measurement { return new(lagBench) }},
	{use: "load", measures: "Measure any load, closed (clients wait for answers) or open (a rate is kept)", help: loadHelp, start: func() measurement { return new(loadBench) }},
	{use: "surfaces", measures: "Measure every protocol of one node", help: surfacesHelp, start: func() measurement { return new(surfacesBench) }},
	{use: "gateway", measures: "Compare recalls over HTTP with the same over the wire, and weigh idle event streams", help: gatewayHelp, start: func() measurement { return new(gatewayBench) }},
	{use: "failover", measures: "Kill the leader of three nodes, and say for how long no write was acknowledged", help: failoverHelp, start: func() measurement { return new(failoverBench) }},
	{use: "snapshot", measures: "Say what a snapshot and a backup of many memories do to concurrent writes, and how long garbage collection pauses", help: snapshotHelp, start: func() measurement { return new(snapshotBench) }},
	{use: "sweep", measures: "Measure one node at sizes that grow by factors of three, and say with which power of the size each figure grows", help: sweepHelp, start: func() measurement { return new(sweepBench) }},
}

// Command is `cairn bench`: a verb for each row, one that compares what two runs wrote, and one that makes a model for bench recall.
func Command(a *cli.Streams) *cobra.Command {
	group := &cobra.Command{Use: "bench", Short: "Measure and compare"}
	for _, b := range benches {
		m := b.start()
		c := &cobra.Command{Use: b.use, Short: b.measures, Long: b.help.long, Example: b.help.example, Args: cobra.NoArgs}
		m.flags(c)
		if c.Flags().Lookup("json") == nil { // one that names a cluster has it
			cli.WithJSON(c)
		}
		c.RunE = func(c *cobra.Command, _ []string) error { return perform(c, a, m) }
		group.AddCommand(c)
	}
	group.AddCommand(compare(a), trainTable(a))
	return group
}

// perform runs a bench and prints its report, for people or for machines.
func perform(c *cobra.Command, a *cli.Streams, m measurement) (err error) {
	l := &lab{Streams: a}
	defer func() { err = errors.Join(err, l.close()) }()
	r, err := m.run(c.Context(), l)
	if err != nil {
		return err
	}
	if cli.AsJSON(c) {
		err = a.JSON(r)
	} else {
		err = r.print(a)
	}
	if j, ok := r.(judged); err == nil && ok && !j.pass() {
		return cli.ExitCode(cli.ExitFailed)
	}
	return err
}

// list is a line for each of several things, for --help.
func list[T any](all []T, of func(T) (name, what string)) string {
	var b strings.Builder
	for _, x := range all {
		name, what := of(x)
		fmt.Fprintf(&b, "  %-12s %s\n", name, what)
	}
	return b.String()
}
