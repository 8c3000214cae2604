package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/lab/trial"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/client"
)

// followersRun measures how recalls on the followers affect writes on the leader. Each round measures the writes
// alone, during the recalls, and during the same recalls on a node outside the cluster, which uses as much of the
// machine without affecting the cluster. Figures are medians over the rounds; ratios are medians of the rounds'
// ratios.
type followersRun struct {
	Clients int           `json:"clients"`
	Rounds  int           `json:"rounds"`
	Alone   trial.Figures `json:"alone"`
	Stray   trial.Figures `json:"beside_recalls_elsewhere"`
	Beside  trial.Figures `json:"beside_recalls_on_followers"`
	ToAlone fraction      `json:"to_alone"`
	ToStray fraction      `json:"to_elsewhere"`       // the ratio expected with three machines
	Recalls float64       `json:"recalls_per_second"` // answered by followers
	Recall  float64       `json:"recall_p50_ms"`
}

type fraction struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// turnNames names the turns of a round.
var turnNames = []string{"alone", "recalls elsewhere", "recalls on followers"}

const (
	turnAlone = iota
	turnElsewhere
	turnFollowers
)

type followersReport struct {
	Bytes    int            `json:"text_bytes"`
	Target   float64        `json:"recalls_target_per_second"`
	Memories int            `json:"memories_recalled_from"`
	Runs     []followersRun `json:"runs"`
}

const (
	followersReaders = 8    // distributed over both followers
	followersFill    = 2000 // memories that the recalls find
)

type followersBench struct {
	bench.Write
	trial.Cairn
	reads  float64
	rounds int
}

var followersVerb = bench.Bench{
	Use: "followers", Short: "Measure writes into the leader during recalls on the followers",
	Start: func() bench.Measurement { return new(followersBench) },
	Long: `Start three processes and measure writes into the leader alone, during stale recalls on the followers, and during as many recalls on
a node that is no member: on one machine recalls take processors from the writes, and the last shows how much of the ratio is that.
Recalls are due at fixed times, whether or not the last was answered.`,
	Example: "  go run ./cmd/lab followers --reads 200",
}

func (b *followersBench) Flags(c *cobra.Command) {
	b.WriterFlags(c)
	b.Flag(c)
	c.Flags().Float64Var(&b.reads, "reads", 100, "recalls a second on the followers")
	c.Flags().IntVar(&b.rounds, "rounds", 5, "how often each is measured")
}

// Run measures writes into the leader of three processes, with and without recalls on the followers in turn.
func (b *followersBench) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	if b.reads <= 0 || b.rounds < 1 {
		return nil, cli.Usage(errors.New("--reads is positive, --rounds at least 1"))
	}
	own, err := b.Trio(ctx, l, func(*config.NodeFile) {})
	if err != nil {
		return nil, err
	}
	stray, err := b.Dev(ctx, l)
	if err != nil {
		return nil, err
	}
	leader, err := own.Whole(ctx)
	if err != nil {
		return nil, err
	}
	writes := own.Client(own.Nodes[leader])
	readers := make([][]*bench.Loader, len(turnNames)) // none in the turn with writes alone
	for i := range 2 {
		for turn, cfg := range map[int]client.Config{turnElsewhere: stray.Client(), turnFollowers: own.Client(own.Nodes[(leader+1+i)%3])} {
			more, err := l.Loaders(ctx, cfg, followersReaders/2, 0)
			if err != nil {
				return nil, err
			}
			readers[turn] = append(readers[turn], more...)
		}
	}
	for _, cfg := range []client.Config{writes, stray.Client()} { // the memories that the recalls find
		filler, err := l.Loaders(ctx, cfg, 1, 0)
		if err != nil {
			return nil, err
		}
		if err := filler[0].Fill(ctx, l, followersFill); err != nil {
			return nil, err
		}
	}
	r := &followersReport{Bytes: b.Bytes, Target: b.reads, Memories: followersFill}
	for _, n := range b.Clients {
		fmt.Fprintf(l.Err, "clients: %d\n", n)
		turns, err := trial.Rounds(l.Streams, b.rounds, turnNames, func(i int) (followersTurn, error) { return b.turn(ctx, writes, readers[i], n) })
		if err != nil {
			return nil, err
		}
		r.Runs = append(r.Runs, newFollowersRun(n, b.rounds, turns))
	}
	return r, nil
}

// A followersTurn holds the writes of one turn, and the recalls during them.
type followersTurn struct {
	writes  bench.WriteRun
	recalls bench.LoadRun
}

func newFollowersRun(clients, rounds int, turns [][]followersTurn) followersRun {
	mid := func(turn int) trial.Figures {
		return trial.FiguresOf(api.Each(turns[turn], func(t followersTurn) bench.WriteRun { return t.writes }))
	}
	to := func(base int) fraction {
		var p50, p99 []float64
		for i, t := range turns[turnFollowers] {
			p50, p99 = append(p50, t.writes.P50/turns[base][i].writes.P50), append(p99, t.writes.P99/turns[base][i].writes.P99)
		}
		return fraction{trial.Median(p50), trial.Median(p99)}
	}
	return followersRun{Clients: clients, Rounds: rounds, Alone: mid(turnAlone), Stray: mid(turnElsewhere), Beside: mid(turnFollowers),
		ToAlone: to(turnAlone), ToStray: to(turnElsewhere),
		Recalls: trial.MedianOf(turns[turnFollowers], func(t followersTurn) float64 { return t.recalls.Rate }),
		Recall:  trial.MedianOf(turns[turnFollowers], func(t followersTurn) float64 { return t.recalls.P50 })}
}

// turn measures writes once, while the readers, if any, recall at the target rate.
func (b *followersBench) turn(ctx context.Context, cfg client.Config, readers []*bench.Loader, n int) (t followersTurn, err error) {
	reading, stop := context.WithCancel(ctx)
	read := make(chan bench.LoadRun, 1)
	go func() { // counts recalls that are in progress at the end
		read <- bench.Load(reading, bench.Durations{Measure: b.Length + time.Minute}, readers, b.reads,
			func(_ context.Context, l *bench.Loader, k int) error { return l.Recall(ctx, k, false) })
	}()
	begun := time.Now()
	t.writes, err = b.Measure(ctx, cfg, n)
	stop()
	t.recalls = <-read
	t.recalls.Rate = float64(t.recalls.Requests) / time.Since(begun).Seconds()
	return t, err
}

func (r *followersReport) Print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "three nodes, texts of %d bytes; beside: %.0f recalls a second\n", r.Bytes, r.Target)
	w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', tabwriter.AlignRight)
	for _, n := range r.Runs {
		fmt.Fprintf(w, "\nclients: %d\twrites/s\tp50 ms\tp99 ms\t\n", n.Clients)
		for i, f := range []trial.Figures{n.Alone, n.Stray, n.Beside} {
			fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.2f\t\n", turnNames[i], f.Rate, f.P50, f.P99)
		}
		fmt.Fprintf(w, "to alone\t\t%.2f\t%.2f\t\nto elsewhere\t\t%.2f\t%.2f\t\n", n.ToAlone.P50, n.ToAlone.P99,
			n.ToStray.P50, n.ToStray.P99)
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "followers answered %.0f recalls a second, p50 %.2f ms\n", n.Recalls, n.Recall)
	}
	return nil
}
