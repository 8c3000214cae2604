// Command etcd measures three Cairn nodes and three etcd members on one machine, in one run, with the same clients:
// how many durable writes of equal size each acknowledges, and how long one takes.
//
//	apt-get install etcd-server
//	cd cmd/lab/etcd && go run . --clients 1,64 --rounds 5 --for 5s
//
// Rounds alternate between the two, so that what else the machine does falls on both; the table shows medians of the
// rounds and their ratio. Every member is its own process with its own directory and syncs what it acknowledges.
// A Cairn write is a memory with a text and a vector, searchable when it is acknowledged; an etcd write is a put of a
// fresh key with a value as long as both. With --bare the same bytes are a memory's metadata, so that there is one
// word to index: what is left is log and state.
//
// This is a module of its own, so that etcd's client does not become a dependency of the server.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/lab/trial"
	"github.com/cairndb/cairn/wire"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	a := &cli.Streams{Out: os.Stdout, Err: os.Stderr}
	c := bench.Verbs(a, verb)[0]
	c.SilenceErrors, c.SilenceUsage = true, true
	os.Exit(cli.Exit(c.ExecuteContext(ctx), a.Err))
}

var verb = bench.Bench{
	Use: "etcd", Short: "Measure writes into three Cairn nodes and into three members of etcd, in turn",
	Start: func() bench.Measurement { return &comparison{} },
}

// comparison is the measurement.
type comparison struct {
	bench.Write
	trial.Cairn
	rounds, dim int
	bare        bool
}

// A store is one of the two systems. It connects n clients, which the rig closes, and returns the function that
// writes with one of them.
type store func(ctx context.Context, l *bench.Rig, n int) ([]*bench.Loader, func(ctx context.Context, l *bench.Loader, k int) error, error)

// row compares the medians of all rounds with one number of clients.
type row struct {
	Clients int           `json:"clients"`
	Cairn   trial.Figures `json:"cairn"`
	Etcd    trial.Figures `json:"etcd"`
}

type report []row

func (b *comparison) Flags(c *cobra.Command) {
	b.WriterFlags(c)
	b.Cairn.Flag(c)
	f := c.Flags()
	f.IntVar(&b.rounds, "rounds", 5, "how often each is measured")
	f.IntVar(&b.dim, "dim", 64, "dimensions of a memory's vector")
	f.BoolVar(&b.bare, "bare", false, "send a memory's bytes as metadata, which no index takes")
}

func (b *comparison) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	if b.rounds < 1 || b.dim < 1 {
		return nil, cli.Usage(errors.New("--rounds and --dim are at least 1"))
	}
	nodes, err := b.Trio(ctx, l, func(*config.NodeFile) {})
	if err != nil {
		return nil, err
	}
	members, err := startEtcd(ctx, l)
	if err != nil {
		return nil, err
	}
	names, stores := []string{"cairn", "etcd"}, []store{b.cairn(nodes), members.store(b.Bytes + 4*b.dim)}
	var rows report
	for _, n := range b.Clients {
		fmt.Fprintf(l.Err, "clients: %d\n", n)
		got, err := trial.Rounds(l.Streams, b.rounds, names, func(i int) (bench.WriteRun, error) {
			var l bench.Rig // its clients end with the round
			defer l.Close()
			loaders, write, err := stores[i](ctx, &l, n)
			if err != nil {
				return bench.WriteRun{}, err
			}
			return bench.MeasureWrites(ctx, loaders, b.Length, write)
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{n, trial.FiguresOf(got[0]), trial.FiguresOf(got[1])})
	}
	return rows, nil
}

// cairn writes memories.
func (b *comparison) cairn(nodes *trial.Trio) store {
	return func(ctx context.Context, l *bench.Rig, n int) ([]*bench.Loader, func(context.Context, *bench.Loader, int) error, error) {
		loaders, err := l.Loaders(ctx, nodes.Client(nodes.Nodes...), n, 0)
		rngs := make([]*rand.Rand, n)
		for i := range rngs {
			rngs[i] = rand.New(rand.NewPCG(uint64(i), 1))
		}
		long := b.Write
		long.Bytes += 4 * b.dim
		return loaders, func(ctx context.Context, l *bench.Loader, k int) error {
			m := b.Memory(l.ID, k)
			if b.bare {
				m.Text, m.Metadata = "bench", wire.JSON(strconv.Quote(long.Memory(l.ID, k).Text))
			} else {
				m.Embedding = bench.Gauss(rngs[l.ID], b.dim)
			}
			_, err := l.Client.Remember(ctx, m)
			return err
		}, err
	}
}

func (rows report) Print(a *cli.Streams) error {
	return bench.Grid(a.Out, "clients\tcairn/s\tetcd/s\tratio\tcairn p50 ms\tetcd p50 ms\tratio\tcairn p99 ms\tetcd p99 ms\tratio\t", rows,
		func(r row) string {
			return fmt.Sprintf("%d\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t", r.Clients, r.Cairn.Rate, r.Etcd.Rate,
				r.Cairn.Rate/r.Etcd.Rate,
				r.Cairn.P50, r.Etcd.P50, r.Cairn.P50/r.Etcd.P50, r.Cairn.P99, r.Etcd.P99, r.Cairn.P99/r.Etcd.P99)
		})
}
