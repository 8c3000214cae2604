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

// A WriteRun holds throughput and latency for one number of clients.
type WriteRun struct {
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
	Runs   []WriteRun `json:"runs"`
	Ratio  float64    `json:"ratio"` // rate of the last run over the first
}

// Write is the measurement of `cairn bench write`.
type Write struct {
	cli.Target
	Clients []int // numbers of clients to measure
	Bytes   int   // of a memory's text
	Length  time.Duration
	nodes   int
}

var writeVerb = Bench{
	Use: "write", Short: "Measure writes: every client waits for its answer before it writes again",
	Start: func() Measurement { return new(Write) },
	Long: `Measure writes: every client waits for its answer before it writes again.

Without --endpoints it starts its own nodes on this machine, in a temporary directory that it removes.
With --endpoints it writes into that cluster, under the namespace "bench".`,
	Example: "  cairn bench write --nodes 3\n  cairn bench write --endpoints 127.0.0.1:7437 --clients 1,16,64 --for 10s",
}

// Flags implements Measurement.
func (b *Write) Flags(c *cobra.Command) {
	b.Target.Flags(c)
	b.DatabaseFlag(c)
	b.WriterFlags(c)
	c.Flags().IntVar(&b.nodes, "nodes", 1, "without --endpoints: how many nodes to start, 1 or 3")
}

// WriterFlags adds the flags for the number of clients, the text size and the duration.
func (b *Write) WriterFlags(c *cobra.Command) {
	c.Flags().IntSliceVar(&b.Clients, "clients", []int{1, 64}, "numbers of clients to measure, one after the other")
	c.Flags().IntVar(&b.Bytes, "bytes", 200, "length of a memory's text")
	c.Flags().DurationVar(&b.Length, "for", 5*time.Second, "how long each number of clients writes")
}

// Validate returns a usage error for invalid values of the flags of WriterFlags.
func (b *Write) Validate() error {
	switch {
	case len(b.Clients) == 0 || slices.Min(b.Clients) < 1:
		return cli.Usage(errors.New("--clients: one or more, each at least 1"))
	case b.Bytes < 32 || b.Bytes > 1<<20:
		return cli.Usagef("--bytes %d: want 32 to 1048576", b.Bytes)
	case b.Length <= 0:
		return cli.Usagef("--for %s: it must be positive", b.Length)
	}
	return nil
}

// Run implements Measurement.
func (b *Write) Run(ctx context.Context, l *Rig) (Report, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	sub, err := l.clusterUnderTest(ctx, &b.Target, b.nodes)
	if err != nil {
		return nil, err
	}
	r := &writeReport{Target: sub.description, Bytes: b.Bytes}
	for _, n := range b.Clients {
		fmt.Fprintf(l.Err, "clients: %d, for %s\n", n, b.Length)
		w, err := b.Measure(ctx, sub.cfg, n)
		if err != nil {
			return nil, err
		}
		r.Runs = append(r.Runs, w)
	}
	r.Ratio = r.Runs[len(r.Runs)-1].Rate / r.Runs[0].Rate
	return r, nil
}

func (r *writeReport) Print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%s, texts of %d bytes\n\n", r.Target, r.Bytes)
	if err := Grid(a.Out, "clients\twrites/s\tp50 ms\tp99 ms\t", r.Runs, func(n WriteRun) string {
		return fmt.Sprintf("%d\t%.0f\t%.2f\t%.2f\t", n.Clients, n.Rate, n.P50, n.P99)
	}); err != nil {
		return err
	}
	if len(r.Runs) > 1 {
		fmt.Fprintf(a.Out, "\n%d clients write %.1f times as fast as %d\n", r.Runs[len(r.Runs)-1].Clients, r.Ratio, r.Runs[0].Clients)
	}
	return nil
}

// Measure connects n clients that write for b.Length.
func (b *Write) Measure(ctx context.Context, cfg client.Config, n int) (r WriteRun, err error) {
	var l Rig // closes the clients, so that they are not idle during the next measurement
	defer l.Close()
	loaders, err := l.Loaders(ctx, cfg, n, 0)
	if err != nil {
		return r, err
	}
	return MeasureWrites(ctx, loaders, b.Length, func(ctx context.Context, l *Loader, k int) error {
		_, err := l.Client.Remember(ctx, b.Memory(l.ID, k))
		return err
	})
}

// MeasureWrites lets the clients write for a time. It counts writes in progress at the end, and stops at the first
// error. Each client writes once before the measurement, to find the leader.
func MeasureWrites(ctx context.Context, loaders []*Loader, length time.Duration, write func(context.Context, *Loader, int) error) (r WriteRun, err error) {
	for _, w := range loaders {
		if err := write(ctx, w, -1); err != nil {
			return r, err
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	got := Load(ctx, Durations{Measure: length}, loaders, 0, func(ctx context.Context, l *Loader, k int) error {
		err := write(ctx, l, k)
		if err != nil {
			stop(err)
		}
		return err
	})
	if err := context.Cause(ctx); err != nil || got.Requests == 0 {
		return r, cmp.Or(err, errors.New("nothing was written"))
	}
	return WriteRun{len(loaders), got.Requests, got.Seconds, got.Rate, got.P50, got.P99}, nil
}

// Memory returns a memory with a unique text.
func (b *Write) Memory(who, k int) wire.Remember {
	text := []byte("writer " + strconv.Itoa(who) + " memory " + strconv.Itoa(k))
	for i := 0; len(text) < b.Bytes; i++ {
		text = append(text, " word"...)
		text = strconv.AppendInt(text, int64((who*31+k*7+i*i)%5000), 10)
	}
	m := wire.NewRemember(string(text[:b.Bytes]))
	m.Namespace = "bench"
	return m
}
