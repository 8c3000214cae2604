package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/wire/client"
)

// snapshotRun is writes at a steady rate while something happens to the state. figures are medians of the rounds, ratios
// medians of each round's to the same round's writes alone.
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
	loadRate
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
	asJSON                            bool
}

var snapshotHelp = help{
	long: `Start nodes in this process, in a temporary directory that it removes, store many memories, and write on at a steady rate:
alone, while the leader takes a snapshot for its log, and while it makes a backup. A write's time counts from when it was due.
The pauses of the garbage collector are those of the whole process, clients included, while writes were measured.`,
	example: "  cairn bench snapshot --size 1000000\n  cairn bench snapshot --size 100000 --dim 384 --rounds 5",
}

func (b *snapshotBench) flags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&b.size, "size", 1_000_000, "memories to store first")
	f.IntVar(&b.dim, "dim", 0, "dimensions of their vectors; 0 for none")
	f.IntVar(&b.nodes, "nodes", 1, "how many nodes to start, 1 or 3")
	f.IntVar(&b.clients, "clients", 16, "how many clients write")
	f.IntVar(&b.rounds, "rounds", 3, "how often each is measured")
	f.Float64Var(&b.rate, "rate", 300, "writes a second")
	f.DurationVar(&b.length, "for", 10*time.Second, "how long to write alone in each round")
	f.BoolVar(&b.asJSON, "json", false, "print JSON")
}

func (b *snapshotBench) run(ctx context.Context, a *cli.Streams) (err error) {
	if b.nodes != 1 && b.nodes != 3 || b.size < 1 || b.dim < 0 || b.clients < 1 || b.rounds < 1 || b.rate <= 0 || b.length <= 0 {
		return cli.Usage(errors.New("--nodes is 1 or 3, --dim at least 0, the others positive"))
	}
	own, err := startLocal(ctx, b.nodes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.close()) }()
	all, err := dialAll(ctx, client.Config{Addrs: own.addrs, Token: own.token}, b.clients)
	if err != nil {
		return err
	}
	defer all.close()
	loaders := make([]*loader, b.clients)
	for i, cl := range all {
		loaders[i] = &loader{c: cl, who: i, dim: b.dim, rng: rand.New(rand.NewPCG(uint64(i), 7))}
	}
	r := snapshotReport{Memories: b.size, Dim: b.dim, Rate: b.rate, Clients: b.clients, Rounds: b.rounds}
	if r.loadRate, err = loadMade(ctx, a, loaders[0].c, newMade(b.dim), b.size); err != nil {
		return err
	}
	leader := slices.Index(own.addrs, loaders[0].c.Addr()) // writes have led its client there
	if leader < 0 {
		return fmt.Errorf("%s leads, which was not started here", loaders[0].c.Addr())
	}
	home := own.configs[leader].Home
	steps := []step{
		{"alone", func() error {
			select {
			case <-time.After(b.length):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}},
		{"a snapshot", own.nodes[leader].Snapshot},
		{"a backup", func() error {
			_, _, err := own.nodes[leader].Service().BackupTo(engine.BackupPlan{Dir: filepath.Join(own.dir, "backups"), Keep: 1})
			return err
		}},
	}
	before := readPauses()
	if err := b.measure(ctx, a, &r, loaders, steps); err != nil {
		return err
	}
	r.Pauses = readPauses().since(before)
	r.StateBytes = sizeBelow(filepath.Join(home, "state"))
	r.Heap = heapHeld()
	return show(a, b.asJSON, &r)
}

// step is something to write beside.
type step struct {
	name string
	do   func() error
}

func (b *snapshotBench) measure(ctx context.Context, a *cli.Streams, r *snapshotReport, loaders []*loader, steps []step) error {
	runs := make([][]loadRun, len(steps))
	for round := range b.rounds {
		for i, s := range steps {
			fmt.Fprintf(a.Err, "round %d of %d: writes, %s\n", round+1, b.rounds, s.name)
			n, err := b.write(ctx, loaders, s.do)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			runs[i] = append(runs[i], n)
		}
	}
	for i, s := range steps {
		var ratios []float64
		run := snapshotRun{While: s.name}
		for k, n := range runs[i] {
			run.Writes, run.Failed, run.Max = run.Writes+n.Requests, run.Failed+n.Failed, max(run.Max, n.Max)
			ratios = append(ratios, n.P99/runs[0][k].P99)
		}
		run.Took = medianOf(runs[i], func(n loadRun) float64 { return n.Seconds })
		run.P50 = medianOf(runs[i], func(n loadRun) float64 { return n.P50 })
		run.P99 = medianOf(runs[i], func(n loadRun) float64 { return n.P99 })
		run.Ratio = median(ratios)
		r.Runs = append(r.Runs, run)
	}
	return nil
}

// write keeps the rate until the step is over.
func (b *snapshotBench) write(ctx context.Context, loaders []*loader, do func() error) (loadRun, error) {
	turn, stop := context.WithCancel(ctx)
	defer stop()
	over := make(chan error, 1)
	begun := time.Now()
	go func() {
		err := do()
		stop()
		over <- err
	}()
	// A write that is under way when the step ends is finished, and counts.
	w := workload{do: func(_ context.Context, l *loader, k int) error { return l.write(ctx, k) }}
	n := (&loadBench{long: 24 * time.Hour}).measure(turn, w, loaders, b.rate)
	err := <-over
	n.Seconds = time.Since(begun).Seconds()
	if n.Requests == 0 && err == nil {
		err = errors.New("nothing was written")
	}
	return n, err
}

func (r *snapshotReport) print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%d memories of %d words, %d dimensions, loaded at %.0f/s; state %.2f GB, heap %.2f GB; %.0f writes a second from %d clients, %d rounds\n\n",
		r.Memories, madeWords, r.Dim, r.All, float64(r.StateBytes)/1e9, float64(r.Heap)/1e9, r.Rate, r.Clients, r.Rounds)
	if err := grid(a.Out, "writes beside\tseconds\twrites\tfailed\tp50 ms\tp99 ms\tmax ms\tp99 ratio\t", r.Runs, func(n snapshotRun) string {
		return fmt.Sprintf("%s\t%.1f\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t", n.While, n.Took, n.Writes, n.Failed, n.P50, n.P99, n.Max, n.Ratio)
	}); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "\n%d pauses for garbage collection: p99 %.3f ms, longest %.3f ms\n", r.Pauses.Count, r.Pauses.P99, r.Pauses.Max)
	return nil
}

// sizeBelow is what the files of a directory take.
func sizeBelow(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error { // what is removed meanwhile counts for nothing
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
