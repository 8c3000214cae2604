package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// lagReport says whether memories are found as soon as they are acknowledged, however many come.
type lagReport struct {
	Pass     bool    `json:"pass"`
	Rate     float64 `json:"target_per_second"`
	Written  int     `json:"written"`
	Reached  float64 `json:"reached_per_second"`
	AtOnce   int     `json:"looked_for_at_once"`
	After    int     `json:"looked_for_after"`
	Missing  int     `json:"missing"`
	MaxLag   float64 `json:"max_lag_entries"`
	Settled  float64 `json:"settled_s"` // from the last acknowledgement until the lag gauge is 0
	HeapGrew uint64  `json:"heap_bytes_per_memory"`
}

// Bounds of the run.
const (
	lagBatch   = 100
	lagWriters = 4
	lagLookers = 2
	lagSettle  = 2 * time.Second
	lagHeap    = 12 << 10 // bytes a memory while it is new: the tail's words, Bleve's segments in memory, the state's pages
)

type lagBench struct {
	rate   float64
	length time.Duration
	dim    int
	asJSON bool
}

var lagHelp = help{
	long: `Write batches of 100 into a node at a fixed rate. Every memory has a word of its own; while batches are written others ask for
the newest acknowledged ones, and in the end for all the rest. It fails when one is not found, when the rate was not reached,
when the index lag gauge is not 0 within two seconds of the end, or when memory grew by more than 12 KiB a memory.`,
}

func (l *lagBench) flags(c *cobra.Command) {
	c.Flags().Float64Var(&l.rate, "rate", 4000, "memories a second")
	c.Flags().DurationVar(&l.length, "for", 10*time.Second, "how long")
	c.Flags().IntVar(&l.dim, "dim", 0, "dimensions of their vectors; 0 for none")
	c.Flags().BoolVar(&l.asJSON, "json", false, "print JSON")
}

// lagTask is a run under way.
type lagTask struct {
	*lagBench
	own     *localCluster
	start   time.Time
	batches int

	mu   sync.Mutex
	left []int // what was acknowledged and not looked for yet, by number; the newest is looked for first
	r    lagReport
	err  error
}

// acked notes what was acknowledged.
func (t *lagTask) acked(from, to int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n := from; n < to; n++ {
		t.left = append(t.left, n)
	}
}

func (t *lagTask) take() (n int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.left) == 0 {
		return 0, false
	}
	n = t.left[len(t.left)-1]
	t.left = t.left[:len(t.left)-1]
	return n, true
}

func (l *lagBench) run(ctx context.Context, a *cli.Streams) error {
	if l.rate < lagBatch || l.length <= 0 || l.dim < 0 {
		return cli.Usagef("--rate is at least %d, --for positive, --dim at least 0", lagBatch)
	}
	r, err := l.measure(ctx)
	if err != nil {
		return err
	}
	return judged(a, l.asJSON, &r, r.Pass)
}

func (l *lagBench) measure(ctx context.Context) (r lagReport, err error) {
	own, err := startLocal(ctx, 1)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, own.close()) }()
	t := &lagTask{lagBench: l, own: own, batches: int(l.rate * l.length.Seconds() / lagBatch), r: lagReport{Rate: l.rate}}
	before := heapHeld()
	writing, stop := context.WithCancel(ctx)
	defer stop()
	var writers, lookers sync.WaitGroup
	t.start = time.Now()
	for w := range lagWriters {
		writers.Go(func() { t.with(ctx, func(cl *client.Client) error { return t.write(ctx, cl, w) }) })
	}
	for range lagLookers {
		lookers.Go(func() { t.with(ctx, func(cl *client.Client) error { return t.look(ctx, cl, writing) }) })
	}
	watching := make(chan struct{})
	lookers.Go(func() { t.watch(ctx, watching) })
	writers.Wait()
	end := time.Now()
	close(watching)
	for t.gauge(ctx) > 0 && time.Since(end) < 2*lagSettle {
		time.Sleep(5 * time.Millisecond)
	}
	settled := time.Since(end)
	after := heapHeld()
	grew := after - min(before, after)
	stop()
	lookers.Wait()
	r = t.r
	r.Written, r.Settled = t.batches*lagBatch, settled.Seconds()
	r.Reached = float64(r.Written) / end.Sub(t.start).Seconds()
	r.HeapGrew = grew / uint64(max(r.Written, 1))
	r.Pass = r.Missing == 0 && r.AtOnce > 0 && r.AtOnce+r.After == r.Written && r.Reached >= .95*l.rate && settled <= lagSettle && r.HeapGrew <= lagHeap
	return r, t.err
}

// with has a task do something as a client of its own, and keeps what went wrong.
func (t *lagTask) with(ctx context.Context, do func(*client.Client) error) {
	cl, err := client.Dial(ctx, client.Config{Addrs: t.own.addrs, Token: t.own.token})
	if err == nil {
		err = do(cl)
		cl.Close()
	}
	t.note(err)
}

func (t *lagTask) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = errors.Join(t.err, err)
}

// write writes a share of the batches, each when it is due.
func (t *lagTask) write(ctx context.Context, cl *client.Client, w int) error {
	rng := rand.New(rand.NewPCG(uint64(w), 3))
	for b := w; b < t.batches && ctx.Err() == nil; b += lagWriters {
		time.Sleep(time.Until(t.start.Add(time.Duration(float64(b*lagBatch) / t.rate * float64(time.Second)))))
		if _, err := cl.RememberBatch(ctx, t.batch(b, rng)); err != nil {
			return err
		}
		t.acked(b*lagBatch, (b+1)*lagBatch)
	}
	return nil
}

// look asks for what was acknowledged, until nothing is left after the writing.
func (t *lagTask) look(ctx context.Context, cl *client.Client, writing context.Context) error {
	for {
		early := writing.Err() == nil
		n, ok := t.take()
		if !ok && !early {
			return nil
		}
		if !ok {
			time.Sleep(time.Millisecond)
			continue
		}
		q := wire.NewRecall(lagWord(n))
		q.TopK, q.SkipReinforce = 1, true
		found, _, err := cl.Recall(ctx, q)
		if err != nil {
			return err
		}
		t.looked(early, len(found) > 0 && strings.HasPrefix(found[0].Text, lagWord(n)+" "))
	}
}

func (t *lagTask) looked(early, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if early {
		t.r.AtOnce++
	} else {
		t.r.After++
	}
	if !found {
		t.r.Missing++
	}
}

// watch keeps the largest lag the node has said.
func (t *lagTask) watch(ctx context.Context, end <-chan struct{}) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return
		case <-tick.C:
			v := t.gauge(ctx)
			t.mu.Lock()
			t.r.MaxLag = max(t.r.MaxLag, v)
			t.mu.Unlock()
		}
	}
}

func (t *lagTask) gauge(ctx context.Context) float64 {
	m, err := (&cli.Target{}).Metrics(ctx, "http://"+t.own.nodes[0].Addrs().HTTP)
	v, has := m["cairn_index_lag_entries"]
	if err == nil && !has {
		err = errors.New("the node does not say its index lag")
	}
	t.note(err)
	return v
}

// lagWord is the word that only one memory has.
func lagWord(n int) string { return fmt.Sprintf("zq%dx", n) }

func (l *lagBench) batch(b int, rng *rand.Rand) (out wire.RememberBatch) {
	for n := b * lagBatch; n < (b+1)*lagBatch; n++ {
		var text strings.Builder
		text.WriteString(lagWord(n))
		for range 40 {
			text.WriteString(" " + words[rng.IntN(len(words))])
		}
		m := wire.NewRemember(text.String())
		if m.Namespace = "lag"; l.dim > 0 {
			m.Embedding = make([]float32, l.dim)
			for i := range m.Embedding {
				m.Embedding[i] = float32(rng.NormFloat64())
			}
		}
		out.Memories = append(out.Memories, m)
	}
	return out
}

func (r *lagReport) print(a *cli.Streams) error {
	word := map[bool]string{true: "PASS", false: "FAIL"}[r.Pass]
	_, err := fmt.Fprintf(a.Out, "%s: %d memories at %.0f/s of %.0f; %d looked for at once, %d after the end, %d missing; lag at most %.0f entries, 0 after %.2f s; heap %d bytes a memory\n",
		word, r.Written, r.Reached, r.Rate, r.AtOnce, r.After, r.Missing, r.MaxLag, r.Settled, r.HeapGrew)
	return err
}
