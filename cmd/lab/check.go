package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/lab/history"
)

// check returns the command that checks a history written by deploy/soak/run.sh.
func check(a *cli.Streams) *cobra.Command {
	return &cobra.Command{Use: "check FILE",
		Short: "Judge the history that a soak has left, and fail when something is wrong with it", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			v, err := history.Check(f)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s%s\n", v.Details(), v)
			if !v.Pass() {
				return cli.ExitCode(cli.ExitFailed)
			}
			return nil
		}}
}
