package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// writeRun holds the throughput and latency for one number of clients.
type writeRun struct {
	Clients int     `json:"clients"`
	Writes  int     `json:"writes"`
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"writes_per_second"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
}

// writeReport holds the output of `bench write`.
type writeReport struct {
	Target string     `json:"target"`
	Bytes  int        `json:"text_bytes"`
	Runs   []writeRun `json:"runs"`
	Ratio  float64    `json:"ratio"` // rate of the last run over the first
}

type writeBench struct {
	cli.Target
	clients []int
	nodes   int
	bytes   int
	length  time.Duration
	reads   float64
	rounds  int
}

var writeHelp = help{
	long: `Measure writes: every client waits for its answer before it writes again.

Without --endpoints it starts its own nodes on this machine, in a temporary directory that it removes.
With --endpoints it writes into that cluster, under the namespace "bench".

With --follower-reads it starts three processes and measures writes into the leader alone, beside so many stale recalls a
second on the followers, and beside as many on a node that is no member: on one machine recalls take processors from the
writes, and the last shows how much of the ratio is that. Recalls are due at fixed times, whether or not the last was answered.`,
	example: "  cairn bench write --nodes 3\n  cairn bench write --nodes 3 --follower-reads 200\n  cairn bench write --endpoints 127.0.0.1:7437 --clients 1,16,64 --for 10s",
}

func (b *writeBench) flags(c *cobra.Command) {
	b.Target.Flags(c)
	b.InDatabase(c)
	c.Flags().IntSliceVar(&b.clients, "clients", []int{1, 64}, "numbers of clients to measure, one after the other")
	c.Flags().IntVar(&b.nodes, "nodes", 1, "without --endpoints: how many nodes to start, 1 or 3")
	c.Flags().IntVar(&b.bytes, "bytes", 200, "length of a memory's text")
	c.Flags().DurationVar(&b.length, "for", 5*time.Second, "how long each number of clients writes")
	c.Flags().Float64Var(&b.reads, "follower-reads", 0, "with --nodes 3: recalls a second on the followers, in turn with none")
	c.Flags().IntVar(&b.rounds, "rounds", 5, "with --follower-reads: how often each is measured")
}

func (b *writeBench) validate() error {
	switch {
	case b.nodes != 1 && b.nodes != 3:
		return cli.Usagef("--nodes %d: want 1 or 3", b.nodes)
	case len(b.clients) == 0 || slices.Min(b.clients) < 1:
		return cli.Usage(errors.New("--clients: one or more, each at least 1"))
	case b.bytes < 32 || b.bytes > 1<<20:
		return cli.Usagef("--bytes %d: want 32 to 1048576", b.bytes)
	case b.reads < 0:
		return cli.Usagef("--follower-reads %g: it must be positive", b.reads)
	case b.length <= 0:
		return cli.Usagef("--for %s: it must be positive", b.length)
	}
	return nil
}

func (b *writeBench) run(ctx context.Context, l *lab) (report, error) {
	if err := b.validate(); err != nil {
		return nil, err
	}
	if b.reads > 0 {
		return b.beside(ctx, l)
	}
	sub, err := l.subject(ctx, &b.Target, b.nodes)
	if err != nil {
		return nil, err
	}
	r := &writeReport{Target: sub.said, Bytes: b.bytes}
	for _, n := range b.clients {
		fmt.Fprintf(l.Err, "clients: %d, for %s\n", n, b.length)
		w, err := b.measure(ctx, sub.cfg, n)
		if err != nil {
			return nil, err
		}
		r.Runs = append(r.Runs, w)
	}
	r.Ratio = r.Runs[len(r.Runs)-1].Rate / r.Runs[0].Rate
	return r, nil
}

func (r *writeReport) print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%s, texts of %d bytes\n\n", r.Target, r.Bytes)
	if err := grid(a.Out, "clients\twrites/s\tp50 ms\tp99 ms\t", r.Runs, func(n writeRun) string {
		return fmt.Sprintf("%d\t%.0f\t%.2f\t%.2f\t", n.Clients, n.Rate, n.P50, n.P99)
	}); err != nil {
		return err
	}
	if len(r.Runs) > 1 {
		fmt.Fprintf(a.Out, "\n%d clients write %.1f times as fast as %d\n", r.Runs[len(r.Runs)-1].Clients, r.Ratio, r.Runs[0].Clients)
	}
	return nil
}

// measure lets n connected clients write until the time is up. A write under way then is finished and counted; the
// first that fails ends the measurement.
func (b *writeBench) measure(ctx context.Context, cfg client.Config, n int) (r writeRun, err error) {
	var l lab // its clients end with the measurement, and do not stand idle beside the next
	defer l.close()
	loaders, err := l.loaders(ctx, cfg, n, 0)
	if err != nil {
		return r, err
	}
	for _, w := range loaders {
		if _, err := w.c.Remember(ctx, b.memory(w.who, -1)); err != nil { // finds the leader before the clock runs
			return r, err
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	got := load(ctx, span{long: b.length}, loaders, 0, func(ctx context.Context, l *loader, k int) error {
		_, err := l.c.Remember(ctx, b.memory(l.who, k))
		if err != nil {
			stop(err)
		}
		return err
	})
	if err := context.Cause(ctx); err != nil || got.Requests == 0 {
		return r, cmp.Or(err, errors.New("nothing was written"))
	}
	return writeRun{n, got.Requests, got.Seconds, got.Rate, got.P50, got.P99}, nil
}

// memory is a text of its own, so that no two writes are alike.
func (b *writeBench) memory(who, k int) wire.Remember {
	text := []byte("writer " + strconv.Itoa(who) + " memory " + strconv.Itoa(k))
	for i := 0; len(text) < b.bytes; i++ {
		text = append(text, " word"...)
		text = strconv.AppendInt(text, int64((who*31+k*7+i*i)%5000), 10)
	}
	m := wire.NewRemember(string(text[:b.bytes]))
	m.Namespace = "bench"
	return m
}
