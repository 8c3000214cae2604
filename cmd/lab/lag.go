package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// lagReport reports whether memories are found as soon as they are acknowledged, at a high write rate.
type lagReport struct {
	Passed   bool    `json:"pass"`
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
	lagHeap    = 12 << 10 // bytes per new memory: the tail's words, Bleve's segments in memory, the state's pages
)

type lagBench struct {
	rate   float64
	length time.Duration
	dim    int
}

var lagVerb = bench.Bench{
	Use: "lag", Short: "Write at a rate, and look for every memory once it was acknowledged",
	Start: func() bench.Measurement { return new(lagBench) },
	Long: `Write batches of 100 into a node at a fixed rate. Every memory has a word of its own; while batches are written others ask for
the newest acknowledged ones, and in the end for all the rest. It fails when one is not found, when the rate was not reached,
when the index lag gauge is not 0 within two seconds of the end, or when memory grew by more than 12 KiB a memory.`,
}

func (l *lagBench) Flags(c *cobra.Command) {
	c.Flags().Float64Var(&l.rate, "rate", 4000, "memories a second")
	c.Flags().DurationVar(&l.length, "for", 10*time.Second, "how long")
	c.Flags().IntVar(&l.dim, "dim", 0, "dimensions of their vectors; 0 for none")
}

// lagTask is a run in progress. mu guards the fields below it.
type lagTask struct {
	gateway string

	mu   sync.Mutex
	left []int // acknowledged memories to look for, by number; newest last
	r    lagReport
	err  error
}

// update changes the task under its lock.
func (t *lagTask) update(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
}

func (t *lagTask) nextMemory() (n int, ok bool) {
	t.update(func() {
		if ok = len(t.left) > 0; ok {
			n = t.left[len(t.left)-1]
			t.left = t.left[:len(t.left)-1]
		}
	})
	return n, ok
}

func (b *lagBench) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	if b.rate < lagBatch || b.length <= 0 || b.dim < 0 {
		return nil, cli.Usagef("--rate is at least %d, --for positive, --dim at least 0", lagBatch)
	}
	own, err := l.Cluster(ctx, 1)
	if err != nil {
		return nil, err
	}
	writers, err := l.Loaders(ctx, own.Client, lagWriters, b.dim)
	if err != nil {
		return nil, err
	}
	readers, err := l.Loaders(ctx, own.Client, lagLookers, 0)
	if err != nil {
		return nil, err
	}
	t := &lagTask{gateway: own.Gateway(), r: lagReport{Rate: b.rate}}
	before := bench.HeapInUse()
	writing, written := context.WithCancel(ctx) // ends when the writing is over
	defer written()
	end := make(chan struct{})
	var beside sync.WaitGroup
	for _, c := range readers {
		beside.Go(func() { t.addError(t.recallWritten(ctx, c.Client, writing)) })
	}
	beside.Go(func() { t.watch(ctx, end) })
	start := time.Now()
	err = t.write(ctx, bench.Durations{Measure: b.length}, writers, b.rate)
	took := time.Since(start)
	close(end)
	for err == nil && t.gauge(ctx) > 0 && time.Since(start)-took < 2*lagSettle {
		time.Sleep(5 * time.Millisecond)
	}
	settled := time.Since(start) - took
	after := bench.HeapInUse()
	grew := after - min(before, after)
	written()
	beside.Wait()
	r := &t.r
	r.Settled = settled.Seconds()
	r.Reached = float64(r.Written) / took.Seconds()
	r.HeapGrew = grew / uint64(max(r.Written, 1))
	r.Passed = r.Missing == 0 && r.AtOnce > 0 && r.AtOnce+r.After == r.Written && r.Reached >= .95*b.rate && settled <= lagSettle &&
		r.HeapGrew <= lagHeap
	return r, errors.Join(err, t.err)
}

func (t *lagTask) addError(err error) { t.update(func() { t.err = errors.Join(t.err, err) }) }

// write writes batches at a rate of memories per second. It stops at the first error.
func (t *lagTask) write(ctx context.Context, s bench.Durations, writers []*bench.Loader, rate float64) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	bench.Load(ctx, s, writers, rate/lagBatch, func(ctx context.Context, l *bench.Loader, k int) error {
		var batch wire.RememberBatch
		for n := k * lagBatch; n < (k+1)*lagBatch; n++ {
			m := l.Memory(n)
			m.Namespace, m.Text = "lag", lagWord(n)+" "+m.Text
			batch.Memories = append(batch.Memories, m)
		}
		if _, err := l.Client.RememberBatch(ctx, batch); err != nil {
			stop(err)
			return err
		}
		t.update(func() {
			t.r.Written += lagBatch
			for n := k * lagBatch; n < (k+1)*lagBatch; n++ {
				t.left = append(t.left, n)
			}
		})
		return nil
	})
	return context.Cause(ctx)
}

// recallWritten recalls acknowledged memories, until none is left after the writing.
func (t *lagTask) recallWritten(ctx context.Context, cl *client.Client, writing context.Context) error {
	for {
		early := writing.Err() == nil
		n, ok := t.nextMemory()
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
		t.update(func() {
			if early {
				t.r.AtOnce++
			} else {
				t.r.After++
			}
			if len(found) == 0 || !strings.HasPrefix(found[0].Text, lagWord(n)+" ") {
				t.r.Missing++
			}
		})
	}
}

// watch records the largest index lag that the node reports, until end is closed.
func (t *lagTask) watch(ctx context.Context, end <-chan struct{}) {
	for range pause.Ticks(end, 50*time.Millisecond) {
		v := t.gauge(ctx)
		t.update(func() { t.r.MaxLag = max(t.r.MaxLag, v) })
	}
}

func (t *lagTask) gauge(ctx context.Context) float64 {
	m, err := (&cli.Target{}).Metrics(ctx, t.gateway)
	v, has := m["cairn_index_lag_entries"]
	if err == nil && !has {
		err = errors.New("the node does not say its index lag")
	}
	t.addError(err)
	return v
}

// lagWord returns the unique word of a memory.
func lagWord(n int) string { return fmt.Sprintf("zq%dx", n) }

// Pass reports whether all conditions of the bench hold.
func (r *lagReport) Pass() bool { return r.Passed }

func (r *lagReport) Print(a *cli.Streams) error {
	word := map[bool]string{true: "PASS", false: "FAIL"}[r.Passed]
	_, err := fmt.Fprintf(a.Out,
		"%s: %d memories at %.0f/s of %.0f; %d looked for at once, %d after the end, %d missing; lag at most %.0f entries, 0 after %.2f s; heap %d bytes a memory\n",
		word, r.Written, r.Reached, r.Rate, r.AtOnce, r.After, r.Missing, r.MaxLag, r.Settled, r.HeapGrew)
	return err
}
