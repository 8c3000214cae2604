package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"text/tabwriter"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/wire/client"
)

// besideRun is what recalls on the followers did to the leader's writes. In each round the writes are measured alone, beside
// the recalls, and beside the same recalls on a node that is no member: that one takes as much of the machine, and has
// nothing else in common with the writes. figures are medians of the rounds, ratios medians of each round's.
type besideRun struct {
	Clients int      `json:"clients"`
	Rounds  int      `json:"rounds"`
	Alone   figures  `json:"alone"`
	Stray   figures  `json:"beside_recalls_elsewhere"`
	Beside  figures  `json:"beside_recalls_on_followers"`
	ToAlone fraction `json:"to_alone"`
	ToStray fraction `json:"to_elsewhere"`       // what a cluster of three machines would see
	Recalls float64  `json:"recalls_per_second"` // that followers answered
	Recall  float64  `json:"recall_p50_ms"`
}

type figures struct {
	Rate float64 `json:"writes_per_second"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
}

type fraction struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// besides are the turns of a round.
var besides = []string{"alone", "recalls elsewhere", "recalls on followers"}

const (
	turnAlone = iota
	turnStray
	turnBeside
)

type besideReport struct {
	Bytes    int         `json:"text_bytes"`
	Target   float64     `json:"recalls_target_per_second"`
	Memories int         `json:"memories_recalled_from"`
	Runs     []besideRun `json:"runs"`
}

const (
	besideReaders = 8    // shared out among both followers
	besideFill    = 2000 // memories that the recalls find
)

// beside measures writes into the leader of three processes, with and without recalls on the followers in turn.
func (b *writeBench) beside(ctx context.Context, a *cli.Streams) (err error) {
	if b.nodes != 3 || len(b.Endpoints) > 0 || b.rounds < 1 {
		return cli.Usage(errors.New("--follower-reads starts three nodes of its own: --nodes 3, no --endpoints, at least one of --rounds"))
	}
	fmt.Fprintln(a.Err, "starting three nodes")
	own, err := startThree(ctx, func(*config.NodeFile) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.close()) }()
	stray, err := startDevNode(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stray.close()) }()
	leader, err := own.whole(ctx)
	if err != nil {
		return err
	}
	cfg := client.Config{Addrs: []string{own.nodes[leader].line.Wire}, Token: own.token}
	elsewhere := client.Config{Addrs: []string{stray.line.Wire}, Token: stray.token}
	for _, c := range []client.Config{cfg, elsewhere} {
		if err := recallable(ctx, a, c); err != nil {
			return err
		}
	}
	readers := map[int][]*loader{}
	for i := range besideReaders {
		follower := client.Config{Addrs: []string{own.nodes[(leader+1+i%2)%3].line.Wire}, Token: own.token}
		for turn, c := range map[int]client.Config{turnStray: elsewhere, turnBeside: follower} {
			cl, err := client.Dial(ctx, c)
			if err != nil {
				return err
			}
			defer cl.Close()
			readers[turn] = append(readers[turn], &loader{c: cl, who: i, rng: rand.New(rand.NewPCG(uint64(i), 7))})
		}
	}
	report := besideReport{Bytes: b.bytes, Target: b.reads, Memories: besideFill}
	for _, n := range b.clients {
		r, err := b.turns(ctx, a, cfg, readers, n)
		if err != nil {
			return err
		}
		report.Runs = append(report.Runs, r)
	}
	return show(a, b.JSON, &report)
}

// recallable stores what the recalls find.
func recallable(ctx context.Context, a *cli.Streams, cfg client.Config) error {
	cl, err := client.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer cl.Close()
	return (&loadBench{fill: besideFill}).prepare(ctx, a, &loader{c: cl, rng: rand.New(rand.NewPCG(9, 7))})
}

// turns measures so many writing clients; which turn comes first changes from round to round.
func (b *writeBench) turns(ctx context.Context, a *cli.Streams, cfg client.Config, readers map[int][]*loader, n int) (r besideRun, err error) {
	runs := make([][]writeRun, len(besides))
	var asked []loadRun
	for round := range b.rounds {
		for i := range besides {
			turn := (round + i) % len(besides)
			fmt.Fprintf(a.Err, "clients: %d, round %d of %d, %s\n", n, round+1, b.rounds, besides[turn])
			w, got, err := b.turn(ctx, cfg, readers[turn], n)
			if err != nil {
				return r, err
			}
			runs[turn] = append(runs[turn], w)
			if turn == turnBeside {
				asked = append(asked, got)
			}
		}
	}
	mid := func(runs []writeRun) (f figures) {
		f.Rate = medianOf(runs, func(r writeRun) float64 { return r.Rate })
		f.P50 = medianOf(runs, func(r writeRun) float64 { return r.P50 })
		f.P99 = medianOf(runs, func(r writeRun) float64 { return r.P99 })
		return f
	}
	to := func(base []writeRun) fraction {
		var p50, p99 []float64
		for i, w := range runs[turnBeside] {
			p50, p99 = append(p50, w.P50/base[i].P50), append(p99, w.P99/base[i].P99)
		}
		return fraction{median(p50), median(p99)}
	}
	return besideRun{Clients: n, Rounds: b.rounds, Alone: mid(runs[turnAlone]), Stray: mid(runs[turnStray]), Beside: mid(runs[turnBeside]),
		ToAlone: to(runs[turnAlone]), ToStray: to(runs[turnStray]),
		Recalls: medianOf(asked, func(l loadRun) float64 { return l.Rate }),
		Recall:  medianOf(asked, func(l loadRun) float64 { return l.P50 })}, nil
}

// turn measures writes once, while the readers, if there are any, recall at their rate.
func (b *writeBench) turn(ctx context.Context, cfg client.Config, readers []*loader, n int) (w writeRun, got loadRun, err error) {
	reading, stop := context.WithCancel(ctx)
	read := make(chan loadRun, 1)
	go func() {
		if len(readers) == 0 {
			read <- loadRun{}
			return
		}
		recall := workload{name: "recall", do: func(_ context.Context, l *loader, k int) error { return l.ask(ctx, k, false) }} // one under way at the end counts
		read <- (&loadBench{long: b.length + time.Minute}).measure(reading, recall, readers, b.reads)
	}()
	begun := time.Now()
	w, err = b.measure(ctx, cfg, n)
	stop()
	got = <-read
	got.Rate = float64(got.Requests) / time.Since(begun).Seconds()
	return w, got, err
}

func (r *besideReport) print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "three nodes, texts of %d bytes; beside: %.0f recalls a second\n", r.Bytes, r.Target)
	w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', tabwriter.AlignRight)
	for _, n := range r.Runs {
		fmt.Fprintf(w, "\nclients: %d\twrites/s\tp50 ms\tp99 ms\t\n", n.Clients)
		for i, f := range []figures{n.Alone, n.Stray, n.Beside} {
			fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.2f\t\n", besides[i], f.Rate, f.P50, f.P99)
		}
		fmt.Fprintf(w, "to alone\t\t%.2f\t%.2f\t\nto elsewhere\t\t%.2f\t%.2f\t\n", n.ToAlone.P50, n.ToAlone.P99, n.ToStray.P50, n.ToStray.P99)
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "followers answered %.0f recalls a second, p50 %.2f ms\n", n.Recalls, n.Recall)
	}
	return nil
}
