package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/lab/trial"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/oplog/pause"
)

// snapshotRun measures writes at a steady rate during a snapshot or a backup. Figures are medians over the rounds;
// Ratio is the median of each round's ratio to its writes alone.
type snapshotRun struct {
	While  string  `json:"while"`
	Took   float64 `json:"seconds"`
	Writes int     `json:"writes"` // in all rounds
	Failed int     `json:"failed"`
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	Max    float64 `json:"max_ms"` // of all rounds
	Ratio  float64 `json:"p99_ratio"`
}

type snapshotReport struct {
	Memories int `json:"memories"`
	Dim      int `json:"dim"`
	bench.LoadRate
	Rate       float64       `json:"writes_target_per_second"`
	Clients    int           `json:"clients"`
	Rounds     int           `json:"rounds"`
	StateBytes int64         `json:"state_bytes"`
	Heap       uint64        `json:"heap_bytes"`
	Runs       []snapshotRun `json:"runs"`
	Pauses     pauseReport   `json:"gc_pauses"` // while the writes were measured
}

type snapshotBench struct {
	size, dim, nodes, clients, rounds int
	rate                              float64
	length                            time.Duration
}

var snapshotVerb = bench.Bench{
	Use: "snapshot", Short: "Say what a snapshot and a backup of many memories do to concurrent writes, and how long garbage collection pauses",
	Start: func() bench.Measurement { return new(snapshotBench) },
	Long: `Start nodes in this process, in a temporary directory that it removes, store many memories, and write on at a steady rate:
alone, for as long from the moment at which the leader takes a snapshot for its log, and while it makes a backup. A write's
time counts from when it was due. The pauses of the garbage collector are those of the whole process, clients included, while writes were measured.`,
	Example: "  go run ./cmd/lab snapshot --size 1000000\n  go run ./cmd/lab snapshot --size 100000 --dim 384 --rounds 5",
}

func (b *snapshotBench) Flags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&b.size, "size", 1_000_000, "memories to store first")
	f.IntVar(&b.dim, "dim", 0, "dimensions of their vectors; 0 for none")
	f.IntVar(&b.nodes, "nodes", 1, "how many nodes to start, 1 or 3")
	f.IntVar(&b.clients, "clients", 16, "how many clients write")
	f.IntVar(&b.rounds, "rounds", 3, "how often each is measured")
	f.Float64Var(&b.rate, "rate", 300, "writes a second")
	f.DurationVar(&b.length, "for", 10*time.Second, "how long to write alone in each round")
}

func (b *snapshotBench) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	if b.nodes != 1 && b.nodes != 3 || b.size < 1 || b.dim < 0 || b.clients < 1 || b.rounds < 1 || b.rate <= 0 || b.length <= 0 {
		return nil, cli.Usage(errors.New("--nodes is 1 or 3, --dim at least 0, the others positive"))
	}
	own, err := l.Cluster(ctx, b.nodes)
	if err != nil {
		return nil, err
	}
	loaders, err := l.Loaders(ctx, own.Client, b.clients, b.dim)
	if err != nil {
		return nil, err
	}
	r := &snapshotReport{Memories: b.size, Dim: b.dim, Rate: b.rate, Clients: b.clients, Rounds: b.rounds}
	if r.LoadRate, err = bench.Store(ctx, l.Streams, loaders[0].Client, b.size, bench.NewGenerator(b.dim).Memory,
		func([]string) {}); err != nil {
		return nil, err
	}
	leader := slices.Index(own.Client.Addrs, loaders[0].Client.Addr()) // the client is connected to the leader after writing
	if leader < 0 {
		return nil, fmt.Errorf("%s leads, which was not started here", loaders[0].Client.Addr())
	}
	names := []string{"alone", "a snapshot", "a backup"}
	var took []float64 // durations of the snapshots, which end long before the writes
	steps := []func() error{func() error { return pause.For(ctx, b.length) }, func() error {
		begun := time.Now()
		err := own.Nodes[leader].Snapshot()
		took = append(took, time.Since(begun).Seconds())
		return cmp.Or(err, pause.For(ctx, b.length))
	}, func() error {
		_, _, err := own.Nodes[leader].Service().Backups().BackUp(operate.BackupPlan{Dir: filepath.Join(own.Dir, "backups"), Keep: 1})
		return err
	}}
	before := readPauses()
	runs, err := trial.Rounds(l.Streams, b.rounds, names, func(i int) (bench.LoadRun, error) { return b.write(ctx, loaders, steps[i]) })
	if err != nil {
		return nil, err
	}
	for i := range runs[1] {
		runs[1][i].Seconds = took[i]
	}
	for i, name := range names {
		r.Runs = append(r.Runs, snapshotRunOf(name, runs[i], runs[0]))
	}
	r.Pauses = readPauses().since(before)
	r.StateBytes = bench.DirSize(filepath.Join(own.Configs[leader].Home, "state"))
	r.Heap = bench.HeapInUse()
	return r, nil
}

func snapshotRunOf(name string, runs, alone []bench.LoadRun) snapshotRun {
	r := snapshotRun{While: name}
	var ratios []float64
	for i, n := range runs {
		r.Writes, r.Failed, r.Max = r.Writes+n.Requests, r.Failed+n.Failed, max(r.Max, n.Max)
		ratios = append(ratios, n.P99/alone[i].P99)
	}
	r.Took = trial.MedianOf(runs, func(n bench.LoadRun) float64 { return n.Seconds })
	r.P50 = trial.MedianOf(runs, func(n bench.LoadRun) float64 { return n.P50 })
	r.P99 = trial.MedianOf(runs, func(n bench.LoadRun) float64 { return n.P99 })
	r.Ratio = trial.Median(ratios)
	return r
}

// write writes at the target rate until the step is over. Writes in progress then also count.
func (b *snapshotBench) write(ctx context.Context, loaders []*bench.Loader, step func() error) (bench.LoadRun, error) {
	turn, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	begun := time.Now()
	go func() {
		defer stop()
		over <- step()
	}()
	n := bench.Load(turn, bench.Durations{Measure: 24 * time.Hour}, loaders, b.rate,
		func(_ context.Context, l *bench.Loader, k int) error { return l.Write(ctx, k) })
	err := <-over
	n.Seconds = time.Since(begun).Seconds()
	if n.Requests == 0 && err == nil {
		err = errors.New("nothing was written")
	}
	return n, err
}

func (r *snapshotReport) Print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%d memories of %d words, %d dimensions, loaded at %.0f/s; state %.2f GB, heap %.2f GB; %.0f writes a second from %d clients, %d rounds\n\n",
		r.Memories, bench.GeneratedWords, r.Dim, r.All, float64(r.StateBytes)/1e9, float64(r.Heap)/1e9, r.Rate, r.Clients, r.Rounds)
	if err := bench.Grid(a.Out, "writes beside\tseconds\twrites\tfailed\tp50 ms\tp99 ms\tmax ms\tp99 ratio\t", r.Runs,
		func(n snapshotRun) string {
			return fmt.Sprintf("%s\t%.2f\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t", n.While, n.Took, n.Writes, n.Failed, n.P50, n.P99, n.Max, n.Ratio)
		}); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "\n%d pauses for garbage collection: p99 %.3f ms, longest %.3f ms\n", r.Pauses.Count, r.Pauses.P99, r.Pauses.Max)
	return nil
}
