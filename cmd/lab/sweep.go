package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
)

// sweepRow holds the figures of the node at one size.
type sweepRow struct {
	Memories  int              `json:"memories"`
	Rate      float64          `json:"stored_per_second"` // of the memories added since the previous size
	Runs      []bench.SpeedRun `json:"recalls"`
	HeapBytes uint64           `json:"heap_bytes"` // of this process, mostly the node's
	DiskBytes int64            `json:"disk_bytes"`
	Snapshot  float64          `json:"snapshot_s"`
	Restart   float64          `json:"restart_s"` // from the start until the node answers and accepts writes
}

// A growth is the exponent with which a quantity grows with the size: 0 for constant, 1 for linear.
type growth struct {
	Quantity string  `json:"quantity"`
	Exponent float64 `json:"exponent"`
}

type sweepReport struct {
	Dim    int        `json:"dim"`
	Sizes  []sweepRow `json:"sizes"`
	Growth []growth   `json:"growth,omitempty"`       // needs two sizes or more, like Log
	Log    float64    `json:"log_exponent,omitempty"` // exponent of logarithmic growth over these sizes, for comparison
}

type sweepBench struct {
	from, to, dim, asks int
	svg                 string
}

var sweepVerb = bench.Bench{
	Use: "sweep", Short: "Measure one node at sizes that grow by factors of three, and say with which power of the size each figure grows",
	Start: func() bench.Measurement { return new(sweepBench) },
	Long: `Start a node in this process, in a temporary directory that it removes, and let it grow by factors of three: 10,000 memories,
30,000, 100,000 and so on. At each size it measures at which rate memories were stored since the size before, every kind of recall, the
heap, the node's files, a snapshot and a restart. The exponent of a figure is the slope of a line through it and the sizes, both as
logarithms: 1 grows with the size, 0 not at all. That of log n itself between these sizes is printed beside them.`,
	Example: "  go run ./cmd/lab sweep --to 100000\n  go run ./cmd/lab sweep --dim 384 --svg curves",
}

func (b *sweepBench) Flags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&b.from, "from", 10_000, "the first size, in memories")
	f.IntVar(&b.to, "to", 3_000_000, "no size is greater")
	f.IntVar(&b.dim, "dim", 64, "dimensions of their vectors; 0 for none")
	f.IntVar(&b.asks, "asks", 500, "questions of each kind")
	f.StringVar(&b.svg, "svg", "", "draw each figure over the sizes into a file of this directory")
}

func (b *sweepBench) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	if b.from < 100 || b.to < b.from || b.dim < 0 || b.asks < 5 {
		return nil, cli.Usage(errors.New("--from is at least 100 and no more than --to, --asks at least 5, --dim at least 0"))
	}
	own, err := l.Cluster(ctx, 1)
	if err != nil {
		return nil, err
	}
	r := &sweepReport{Dim: b.dim}
	g := bench.NewGenerator(b.dim)
	had := 0
	for _, size := range sweepSizes(b.from, b.to) {
		fmt.Fprintf(l.Err, "%d memories\n", size)
		row, err := b.measure(ctx, l.Streams, own, g, size-had)
		if err != nil {
			return nil, fmt.Errorf("%d memories: %w", size, err)
		}
		row.Memories, had = size, size
		r.Sizes = append(r.Sizes, row)
	}
	r.grow()
	if b.svg == "" {
		return r, nil
	}
	return r, r.draw(b.svg)
}

// grow fits the exponents, for which there must be two sizes.
func (r *sweepReport) grow() {
	if len(r.Sizes) < 2 {
		return
	}
	for _, q := range r.quantities() {
		r.Growth = append(r.Growth, growth{q.name, exponent(q.over(r.Sizes))})
	}
	log := quantity{of: func(n sweepRow) float64 { return math.Log(float64(n.Memories)) }}
	r.Log = exponent(log.over(r.Sizes))
}

// sweepSizes returns the sizes from one to another: 1, 3, 10, 30 and so on times the first.
func sweepSizes(from, to int) (sizes []int) {
	for size := from; size <= to; size *= 10 {
		if sizes = append(sizes, size); 3*size <= to {
			sizes = append(sizes, 3*size)
		}
	}
	return sizes
}

// measure stores some more memories and measures what the node is then.
func (b *sweepBench) measure(ctx context.Context, a *cli.Streams, own *bench.LocalCluster, g *bench.Generator, more int) (row sweepRow, err error) {
	l := &bench.Rig{Streams: a} // closes the clients before the node
	defer func() { err = errors.Join(err, l.Close()) }()
	loaders, err := l.Loaders(ctx, own.Client, 1, 0)
	if err != nil {
		return row, err
	}
	rate, err := bench.Store(ctx, a, loaders[0].Client, more, g.Memory, func([]string) {})
	if err != nil {
		return row, err
	}
	row.Rate = rate.All
	if row.Runs, err = bench.TimeKinds(ctx, bench.Askers(loaders), g, b.asks); err != nil {
		return row, err
	}
	row.HeapBytes = bench.HeapInUse()
	began := time.Now()
	if err := own.Nodes[0].Snapshot(); err != nil {
		return row, err
	}
	row.Snapshot = time.Since(began).Seconds()
	if err := own.Nodes[0].Close(); err != nil {
		return row, err
	}
	row.DiskBytes = bench.DirSize(own.Configs[0].Home)
	q := wire.NewRecall(g.Question())
	q.TopK, q.SkipReinforce = 10, true
	began = time.Now()
	if err := own.Reopen(ctx, 0); err != nil {
		return row, err
	}
	cl, err := l.Dial(ctx, own.Client)
	if err != nil {
		return row, err
	}
	_, _, err = cl.Recall(ctx, q)
	row.Restart = time.Since(began).Seconds()
	return row, err
}

// A quantity is a figure that every size has.
type quantity struct {
	name, unit string
	of         func(sweepRow) float64
}

func (r *sweepReport) quantities() (all []quantity) {
	all = append(all, quantity{"stored", "/s", func(n sweepRow) float64 { return n.Rate }})
	for i, run := range r.Sizes[0].Runs {
		all = append(all, quantity{run.Kind + ", p50", " ms", func(n sweepRow) float64 { return n.Runs[i].P50 }},
			quantity{run.Kind + ", p99", " ms", func(n sweepRow) float64 { return n.Runs[i].P99 }})
	}
	return append(all, quantity{"heap", "B", func(n sweepRow) float64 { return float64(n.HeapBytes) }},
		quantity{"disk", "B", func(n sweepRow) float64 { return float64(n.DiskBytes) }},
		quantity{"snapshot", " s", func(n sweepRow) float64 { return n.Snapshot }},
		quantity{"restart", " s", func(n sweepRow) float64 { return n.Restart }})
}

// over returns the quantity at each size.
func (q quantity) over(sizes []sweepRow) (at []bench.Point) {
	for _, n := range sizes {
		at = append(at, bench.Point{X: float64(n.Memories), Y: q.of(n)})
	}
	return at
}

// exponent returns the slope of the line that fits the logarithms best.
func exponent(at []bench.Point) float64 {
	var x, y, xx, xy float64
	for _, p := range at {
		lx, ly := math.Log(p.X), math.Log(max(p.Y, 1e-9))
		x, y, xx, xy = x+lx, y+ly, xx+lx*lx, xy+lx*ly
	}
	n := float64(len(at))
	return (n*xy - x*y) / (n*xx - x*x)
}

// draw writes a file for each quantity.
func (r *sweepReport) draw(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i, q := range r.quantities() {
		name := q.name
		if i < len(r.Growth) {
			name = fmt.Sprintf("%s: grows with the size to the power of %.2f", name, r.Growth[i].Exponent)
		}
		p := bench.Plot{X: bench.Axis{Log: true}, Y: bench.Axis{Unit: q.unit, Log: true},
			Lines: []bench.Line{{Name: name, At: q.over(r.Sizes)}}}
		file := strings.ReplaceAll(strings.ReplaceAll(q.name, ",", ""), " ", "-") + ".svg"
		if err := os.WriteFile(filepath.Join(dir, file), p.SVG(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (r *sweepReport) Print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "one node, memories of %d words, %d dimensions\n\n", bench.GeneratedWords, r.Dim)
	w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', tabwriter.AlignRight)
	for _, n := range r.Sizes {
		fmt.Fprintf(w, "\t%d", n.Memories)
	}
	fmt.Fprintln(w, "\texponent\t")
	for i, q := range r.quantities() {
		fmt.Fprint(w, q.name)
		for _, n := range r.Sizes {
			fmt.Fprintf(w, "\t%s", bench.Axis{Unit: q.unit}.Label(q.of(n)))
		}
		if i < len(r.Growth) {
			fmt.Fprintf(w, "\t%.2f", r.Growth[i].Exponent)
		}
		fmt.Fprintln(w, "\t")
	}
	if err := w.Flush(); err != nil || len(r.Growth) == 0 {
		return err
	}
	fmt.Fprintf(a.Out, "\nlog n grows between these sizes with the power of %.2f\n", r.Log)
	return nil
}
