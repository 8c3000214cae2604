package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/lab/trial"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

type restartBench struct {
	trial.Cairn
	size, dim int
}

var restartVerb = bench.Bench{
	Use: "restart", Short: "End a node that has many memories, start it again, and measure its first answer",
	Start: func() bench.Measurement { return new(restartBench) },
	Long: `Start a node as a process, in a temporary directory that it removes, and store many memories. Then end the node, with SIGTERM and
with SIGKILL, and measure the time from its next start to its first answer, and until it takes writes.`,
	Example: "  go run ./cmd/lab restart --size 1000000 --dim 384",
}

func (b *restartBench) Flags(c *cobra.Command) {
	b.Flag(c)
	c.Flags().IntVar(&b.size, "size", 100_000, "memories to store first")
	c.Flags().IntVar(&b.dim, "dim", 0, "dimensions of their vectors; 0 for none")
}

// restartReport holds the times after each way to end a node.
type restartReport struct {
	Memories int `json:"memories"`
	Dim      int `json:"dim"`
	bench.LoadRate
	Starts []startRun `json:"starts"`
}

func (b *restartBench) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	if b.size < 100 || b.dim < 0 {
		return nil, cli.Usage(errors.New("--size is at least 100, --dim at least 0"))
	}
	n, err := b.Dev(ctx, l)
	if err != nil {
		return nil, err
	}
	c, err := l.Dial(ctx, n.Client())
	if err != nil {
		return nil, err
	}
	r := &restartReport{Memories: b.size, Dim: b.dim}
	if r.LoadRate, err = bench.Store(ctx, l.Streams, c, b.size, bench.NewGenerator(b.dim).Memory, func([]string) {}); err != nil {
		return nil, err
	}
	q := wire.NewRecall(bench.NewGenerator(0).Question())
	q.TopK, q.SkipReinforce = 10, true
	r.Starts, err = measureStarts(ctx, n, q)
	return r, err
}

func (r *restartReport) Print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%d memories of %d words, %d dimensions, loaded at %.0f/s\n", r.Memories, bench.GeneratedWords, r.Dim, r.All)
	for _, s := range r.Starts {
		fmt.Fprintf(a.Out, "started after %s: first answer in %.1f s, ready to write in %.1f s\n", s.After, s.Read, s.Ready)
	}
	return nil
}

// startRun holds the times of one start.
type startRun struct {
	After string  `json:"after"`          // the signal that ended the node before
	Read  float64 `json:"first_answer_s"` // a stale recall with all expected results
	Ready float64 `json:"ready_s"`
}

// measureStarts ends the node with each signal and measures its next start.
func measureStarts(ctx context.Context, n *trial.DevNode, ask wire.Recall) (runs []startRun, err error) {
	for _, end := range []struct {
		name string
		sig  syscall.Signal
	}{{"SIGTERM", syscall.SIGTERM}, {"SIGKILL", syscall.SIGKILL}} {
		if err := n.End(end.sig); err != nil {
			return runs, err
		}
		at, began := n.Client(), time.Now()
		up := n.Launch(ctx)
		read, err := firstAnswer(ctx, at, ask)
		if err != nil {
			return runs, fmt.Errorf("after %s: %w", end.name, err)
		}
		if err := <-up; err != nil {
			return runs, err
		}
		runs = append(runs, startRun{After: end.name, Read: read.Sub(began).Seconds(), Ready: time.Since(began).Seconds()})
	}
	return runs, nil
}

// firstAnswer dials until the node accepts, asks, and returns the time of the answer. The node listens before it can
// answer, so dialing again is enough.
func firstAnswer(ctx context.Context, node client.Config, ask wire.Recall) (at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var cl *client.Client
	for cl == nil {
		if cl, err = client.Dial(ctx, node); err != nil &&
			pause.For(ctx, 10*time.Millisecond) != nil {
			return at, err
		}
	}
	ask.MinScore = new(float64) // no minimum score
	results, _, err := cl.Recall(ctx, ask)
	at = time.Now()
	if err == nil && len(results) < ask.TopK {
		err = fmt.Errorf("%d of %d memories found", len(results), ask.TopK)
	}
	return at, errors.Join(err, cl.Close())
}
