// Command lab contains benchmarks and experiments for Cairn's developers. It runs from the source tree and is not
// shipped; users measure with `cairn bench`.
//
//	go run ./cmd/lab --help
//
// Folder history checks the answers that clients got. Folder etcd, its own module, compares writes with etcd.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, errw io.Writer) int {
	root := command(&cli.Streams{Out: out, Err: errw})
	root.SetArgs(args)
	return cli.Exit(root.ExecuteContext(ctx), errw)
}

// command returns the root command. Each verb has its own file.
func command(a *cli.Streams) *cobra.Command {
	root := &cobra.Command{Use: "lab", Short: "Measure and try Cairn, and compare it with others", SilenceErrors: true, SilenceUsage: true}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return cli.Usage(cli.FlagError(c, err)) })
	root.AddCommand(bench.Verbs(a, recallVerb, alikeVerb, restartVerb, followersVerb, lagVerb, surfacesVerb, gatewayVerb,
		failoverVerb, snapshotVerb, sweepVerb, factsVerb, driftVerb, modelsVerb)...)
	root.AddCommand(check(a))
	return root
}
