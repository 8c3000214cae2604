// Command cairn is the memory server and its command line client.
//
// Results go to stdout, everything else to stderr. The exit code is 0 for success, 1 for a failure or a rejection by
// the node (with a message on stderr, and a hint if there is advice), and 2 for a usage error, when nothing was sent.
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
	ends := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
