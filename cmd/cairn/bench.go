package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// benchRun is what one number of clients reached.
type benchRun struct {
	Clients int     `json:"clients"`
	Writes  int     `json:"writes"`
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"writes_per_second"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
}

// benchReport is what `bench write` prints.
type benchReport struct {
	Target string     `json:"target"`
	Bytes  int        `json:"text_bytes"`
	Runs   []benchRun `json:"runs"`
	Ratio  float64    `json:"ratio"` // rate of the last run over the first
}

type benchWrite struct {
	target
	clients []int
	nodes   int
	bytes   int
	length  time.Duration
	reads   float64
	rounds  int
}

func (a *app) bench() *cobra.Command {
	group := &cobra.Command{Use: "bench", Short: "Measure and compare"}
	var b benchWrite
	c := &cobra.Command{
		Use: "write", Short: "Measure writes: every client waits for its answer before it writes again", Args: cobra.NoArgs,
		Long: `Measure writes: every client waits for its answer before it writes again.

Without --addr it starts its own nodes on this machine, in a temporary directory that it removes.
With --addr it writes into that cluster, under the namespace "bench".

With --follower-reads it starts three processes and measures writes into the leader alone, beside so many stale recalls a
second on the followers, and beside as many on a node that is no member: on one machine recalls take processors from the
writes, and the last shows how much of the ratio is that. Recalls are due at fixed times, whether or not the last was answered.`,
		Example: "  cairn bench write --nodes 3\n  cairn bench write --nodes 3 --follower-reads 200\n  cairn bench write --addr 127.0.0.1:7437 --clients 1,16,64 --for 10s",
		RunE:    func(c *cobra.Command, _ []string) error { return b.run(c.Context(), a) },
	}
	b.flags(c)
	b.inDatabase(c)
	c.Flags().IntSliceVar(&b.clients, "clients", []int{1, 64}, "numbers of clients to measure, one after the other")
	c.Flags().IntVar(&b.nodes, "nodes", 1, "without --addr: how many nodes to start, 1 or 3")
	c.Flags().IntVar(&b.bytes, "bytes", 200, "length of a memory's text")
	c.Flags().DurationVar(&b.length, "for", 5*time.Second, "how long each number of clients writes")
	c.Flags().Float64Var(&b.reads, "follower-reads", 0, "with --nodes 3: recalls a second on the followers, in turn with none")
	c.Flags().IntVar(&b.rounds, "rounds", 5, "with --follower-reads: how often each is measured")
	group.AddCommand(c, a.benchRecall(), a.benchLag(), a.benchLoad(), a.benchSurfaces(), a.benchGateway(), a.benchFailover(), a.benchSnapshot(), a.benchCompare())
	return group
}

func (b *benchWrite) validate() error {
	switch {
	case b.nodes != 1 && b.nodes != 3:
		return usageError{fmt.Errorf("--nodes %d: 1 or 3", b.nodes)}
	case len(b.clients) == 0 || slices.Min(b.clients) < 1:
		return usageError{errors.New("--clients: one or more, each at least 1")}
	case b.bytes < 32 || b.bytes > 1<<20:
		return usageError{fmt.Errorf("--bytes %d: 32 to 1048576", b.bytes)}
	case b.reads < 0:
		return usageError{fmt.Errorf("--follower-reads %g: it must be positive", b.reads)}
	case b.length <= 0:
		return usageError{fmt.Errorf("--for %s: it must be positive", b.length)}
	}
	return nil
}

func (b *benchWrite) run(ctx context.Context, a *app) (err error) {
	if err := b.validate(); err != nil {
		return err
	}
	if b.reads > 0 {
		return b.beside(ctx, a)
	}
	report := benchReport{Target: fmt.Sprint(b.addrs), Bytes: b.bytes}
	token := ""
	if len(b.addrs) > 0 {
		if token, err = b.token(); err != nil {
			return err
		}
	} else {
		local, err := startLocal(ctx, b.nodes)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, local.close()) }()
		b.addrs, token = local.addrs, local.token
		report.Target = fmt.Sprintf("nodes started here: %d", b.nodes)
	}
	cfg := client.Config{Addrs: b.addrs, Token: token, Database: b.database}
	for _, n := range b.clients {
		fmt.Fprintf(a.err, "clients: %d, for %s\n", n, b.length)
		r, err := b.measure(ctx, cfg, n)
		if err != nil {
			return err
		}
		report.Runs = append(report.Runs, r)
	}
	report.Ratio = report.Runs[len(report.Runs)-1].Rate / report.Runs[0].Rate
	if b.asJSON {
		return a.json(report)
	}
	return report.print(a)
}

func (r *benchReport) print(a *app) error {
	fmt.Fprintf(a.out, "%s, texts of %d bytes\n\n", r.Target, r.Bytes)
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "clients\twrites/s\tp50 ms\tp99 ms\t")
	for _, n := range r.Runs {
		fmt.Fprintf(w, "%d\t%.0f\t%.2f\t%.2f\t\n", n.Clients, n.Rate, n.P50, n.P99)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(r.Runs) > 1 {
		fmt.Fprintf(a.out, "\n%d clients write %.1f times as fast as %d\n", r.Runs[len(r.Runs)-1].Clients, r.Ratio, r.Runs[0].Clients)
	}
	return nil
}

// measure lets n connected clients write until the time is up. A write under way then is finished and counted.
func (b *benchWrite) measure(ctx context.Context, cfg client.Config, n int) (benchRun, error) {
	clients := make([]*client.Client, n)
	took := make([][]time.Duration, n)
	errs := make([]error, n)
	defer func() {
		for _, c := range clients {
			if c != nil {
				c.Close()
			}
		}
	}()
	for i := range clients {
		c, err := client.Dial(ctx, cfg)
		if err != nil {
			return benchRun{}, err
		}
		clients[i] = c
		if _, err := c.Remember(ctx, b.memory(i, -1)); err != nil { // finds the leader before the clock runs
			return benchRun{}, err
		}
	}
	start := time.Now()
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			for k := 0; k == 0 || time.Since(start) < b.length; k++ {
				at := time.Now()
				if _, errs[i] = c.Remember(ctx, b.memory(i, k)); errs[i] != nil {
					return
				}
				took[i] = append(took[i], time.Since(at))
			}
		})
	}
	wg.Wait()
	secs := time.Since(start).Seconds()
	all := slices.Concat(took...)
	slices.Sort(all)
	if err := errors.Join(errs...); err != nil || len(all) == 0 {
		return benchRun{}, cmp.Or(err, errors.New("nothing was written"))
	}
	ms := func(q float64) float64 { return all[int(q*float64(len(all)-1))].Seconds() * 1000 }
	return benchRun{Clients: n, Writes: len(all), Seconds: secs, Rate: float64(len(all)) / secs, P50: ms(0.5), P99: ms(0.99)}, nil
}

// memory is a text of its own, so that no two writes are alike.
func (b *benchWrite) memory(who, k int) wire.Remember {
	text := []byte("writer " + strconv.Itoa(who) + " memory " + strconv.Itoa(k))
	for i := 0; len(text) < b.bytes; i++ {
		text = append(text, " word"...)
		text = strconv.AppendInt(text, int64((who*31+k*7+i*i)%5000), 10)
	}
	m := wire.NewRemember(string(text[:b.bytes]))
	m.Namespace = "bench"
	return m
}

// localCluster is nodes of this process, for measuring.
type localCluster struct {
	dir, token string
	configs    []node.Config
	nodes      []*node.Node
	addrs      []string
}

func startLocal(ctx context.Context, n int, edit ...func(*node.Config)) (_ *localCluster, err error) {
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err != nil {
		return nil, err
	}
	l := &localCluster{dir: dir, token: node.NewSecret()}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	base, err := freeRow(n) // members must know each other's addresses before any of them listens
	if err != nil {
		return nil, err
	}
	for i := range n {
		cfg := node.Config{Home: filepath.Join(dir, fmt.Sprint("node", i+1)), NodeID: uint32(i + 1), Secret: l.token,
			Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: loopback(base + i), Heartbeat: devHeartbeat, Election: devElection,
			Version: buildVersion(), Logger: slog.New(slog.DiscardHandler)}
		for j := range n {
			if j != i {
				cfg.Peers = append(cfg.Peers, node.Peer{Addr: loopback(base + j)})
			}
		}
		for _, f := range edit {
			f(&cfg)
		}
		nd, err := node.Open(ctx, cfg)
		if err != nil {
			return nil, err
		}
		l.configs = append(l.configs, cfg)
		l.nodes = append(l.nodes, nd)
		l.addrs = append(l.addrs, nd.Addrs().Wire)
	}
	for _, nd := range l.nodes {
		if err := nd.Ready(ctx); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// reopen starts a node again that was closed.
func (l *localCluster) reopen(ctx context.Context, i int) error {
	nd, err := node.Open(ctx, l.configs[i])
	if err != nil {
		return err
	}
	l.nodes[i], l.addrs[i] = nd, nd.Addrs().Wire
	return nd.Ready(ctx)
}

func (l *localCluster) close() error {
	var errs []error
	for _, n := range l.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(l.dir))...)
}
