package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/lab/trial"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// failoverRound is the loss of one leader. Gap is the time without acknowledged writes.
type failoverRound struct {
	Leader uint32  `json:"leader"`
	Gap    float64 `json:"gap_s"`
}

type failoverReport struct {
	How       string          `json:"how"`
	Heartbeat int             `json:"heartbeat_interval_ms"`
	Election  int             `json:"election_timeout_ms"`
	Rounds    []failoverRound `json:"rounds"`
	Median    float64         `json:"median_s"`
	Max       float64         `json:"max_s"`
	Writes    int             `json:"writes"`
}

type failoverBench struct {
	rounds              int
	heartbeat, election int
	silent              bool

	trial.Cairn
	cluster *trial.Trio

	mu   sync.Mutex
	acks []time.Time
}

// The default timings of a node.
const (
	serveHeartbeatMS = 400
	serveElectionMS  = 1200
)

var failoverVerb = bench.Bench{
	Use: "failover", Short: "Kill the leader of three nodes, and say for how long no write was acknowledged",
	Start: func() bench.Measurement { return new(failoverBench) },
	Long: `Start three nodes on this machine, in a temporary directory that it removes, and let one client that knows all of them
write without a pause. Each round kills the leader (SIGKILL), or with --silent stops it (SIGSTOP) as if its machine had gone
without a word, and takes the time between the last acknowledgement before and the first one after. Then the node comes back.

Timings are those of a node whose configuration says nothing of them, unless others are given.`,
	Example: "  go run ./cmd/lab failover\n  go run ./cmd/lab failover --silent --heartbeat-ms 250 --election-ms 1000",
}

func (b *failoverBench) Flags(c *cobra.Command) {
	b.Flag(c)
	f := c.Flags()
	f.IntVar(&b.rounds, "rounds", 5, "how many leaders die")
	f.IntVar(&b.heartbeat, "heartbeat-ms", serveHeartbeatMS, "heartbeat_interval_ms of the nodes")
	f.IntVar(&b.election, "election-ms", serveElectionMS, "election_timeout_ms of the nodes")
	f.BoolVar(&b.silent, "silent", false, "stop leaders instead of killing them: their connections stay open and nothing comes")
}

func (b *failoverBench) Run(ctx context.Context, l *bench.Rig) (_ bench.Report, err error) {
	if b.rounds < 1 || b.heartbeat < 1 || b.election < 2*b.heartbeat {
		return nil, cli.Usage(errors.New("--rounds and --heartbeat-ms are at least 1, --election-ms at least twice the heartbeat"))
	}
	if b.cluster, err = b.Trio(ctx, l, func(n *config.NodeFile) { n.HeartbeatMS, n.ElectionMS = b.heartbeat, b.election }); err != nil {
		return nil, err
	}
	c, err := l.Dial(ctx, b.cluster.Client(b.cluster.Nodes...))
	if err != nil {
		return nil, err
	}
	writing, stop := context.WithCancel(ctx)
	wrote := make(chan error, 1)
	go func() { wrote <- b.write(writing, c) }()
	r := &failoverReport{How: "SIGKILL", Heartbeat: b.heartbeat, Election: b.election}
	if b.silent {
		r.How = "SIGSTOP"
	}
	for i := 0; i < b.rounds && err == nil; i++ {
		var n failoverRound
		if n, err = b.round(ctx); err == nil {
			fmt.Fprintf(l.Err, "round %d of %d: node %d led, no acknowledgement for %.2f s\n", i+1, b.rounds, n.Leader, n.Gap)
			r.Rounds, r.Max = append(r.Rounds, n), max(r.Max, n.Gap)
		}
	}
	stop()
	if err := errors.Join(err, <-wrote); err != nil {
		return nil, err
	}
	r.Median, r.Writes = trial.MedianOf(r.Rounds, func(n failoverRound) float64 { return n.Gap }), len(b.acks)
	return r, nil
}

// write stores one memory after the other until ctx ends.
func (b *failoverBench) write(ctx context.Context, c *client.Client) error {
	for k := 0; ; k++ {
		if _, err := c.Remember(ctx, wire.NewRemember(fmt.Sprintf("note %d of a cluster whose leaders die", k))); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		b.mu.Lock()
		b.acks = append(b.acks, time.Now())
		b.mu.Unlock()
	}
}

// The bounds of a round.
const (
	failoverTimeout = trial.WholeIn          // until writes go on
	calmTime        = 500 * time.Millisecond // of normal writes before and after, to isolate the failover
)

// round ends the leader of a complete cluster and waits until writes continue.
func (b *failoverBench) round(ctx context.Context) (r failoverRound, err error) {
	leader, err := b.cluster.Whole(ctx)
	if err != nil {
		return r, err
	}
	if err := pause.For(ctx, calmTime); err != nil {
		return r, err
	}
	n := b.cluster.Nodes[leader]
	at := time.Now()
	if b.silent {
		err = n.Signal(syscall.SIGSTOP)
	} else {
		err = n.End(syscall.SIGKILL)
	}
	if err != nil {
		return r, err
	}
	gap, err := b.gap(ctx, at)
	if err != nil {
		return r, err
	}
	if b.silent {
		err = n.Signal(syscall.SIGCONT)
	} else {
		err = <-n.Launch(ctx)
	}
	return failoverRound{Leader: uint32(leader + 1), Gap: gap.Seconds()}, err
}

// gap returns the longest time between acknowledgements around a time, once writes have continued for a while after
// it.
func (b *failoverBench) gap(ctx context.Context, at time.Time) (time.Duration, error) {
	limit := at.Add(failoverTimeout)
	for ; time.Now().Before(limit) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		b.mu.Lock()
		first, _ := slices.BinarySearchFunc(b.acks, at, time.Time.Compare)
		around := slices.Clone(b.acks[max(0, first-1):])
		b.mu.Unlock()
		var longest time.Duration
		var end time.Time
		for i := 1; i < len(around); i++ {
			if d := around[i].Sub(around[i-1]); d > longest {
				longest, end = d, around[i]
			}
		}
		// An acknowledgement may still arrive after the leader's end, so the longest gap must itself be over.
		if len(around) > 1 && time.Since(at) > 2*calmTime && around[len(around)-1].Sub(end) > calmTime {
			return longest, nil
		}
	}
	return 0, cmp.Or(ctx.Err(), fmt.Errorf("no write was acknowledged for %s", failoverTimeout))
}

func (r *failoverReport) Print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "leaders ended by %s, heartbeat %d ms, election timeout %d ms, %d writes\n\n", r.How, r.Heartbeat,
		r.Election, r.Writes)
	lines := []string{fmt.Sprintf("median\t%.2f\t", r.Median), fmt.Sprintf("max\t%.2f\t", r.Max)}
	for i, n := range r.Rounds {
		lines = slices.Insert(lines, i, fmt.Sprintf("node %d\t%.2f\t", n.Leader, n.Gap))
	}
	return bench.Grid(a.Out, "led\tgap s\t", lines, func(line string) string { return line })
}
