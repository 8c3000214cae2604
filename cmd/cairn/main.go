// Command cairn is the memory server and everything that talks to it.
//
// Results go to stdout, everything else to stderr. It exits with 0 when all is well, 1 when something failed or the
// node rejected it (the message is on stderr, with a hint when there is advice), 2 when it was called wrongly and
// nothing was sent.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/dialect"
)

func main() {
	if dialect.IsClaustrum(os.Args[0]) {
		os.Exit(dialect.Claustrum(&cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
