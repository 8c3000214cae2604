package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// speedRun is how fast one kind of question was answered.
type speedRun struct {
	Kind string  `json:"kind"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
}

type speedReport struct {
	Memories     int        `json:"memories"`
	Dim          int        `json:"dim"`
	LoadedPerSec float64    `json:"loaded_per_second"`
	HeapBytes    uint64     `json:"heap_bytes,omitempty"` // of this process, node included; 0 with --endpoints
	Clients      int        `json:"clients"`
	Runs         []speedRun `json:"runs"`
	Starts       []startRun `json:"starts,omitempty"`
}

// made is generated memories: words by Zipf's law, vectors around centres.
type made struct {
	rng     *rand.Rand
	zipf    *rand.Zipf
	centres [][]float32
	dim     int
}

const (
	madeWords      = 45
	madeVocabulary = 50_000
	madeCentres    = 1000
	madeBatch      = 500
)

func newMade(dim int) *made {
	g := &made{rng: rand.New(rand.NewPCG(1, 2)), dim: dim}
	g.zipf = rand.NewZipf(g.rng, 1.1, 8, madeVocabulary-1)
	if dim > 0 {
		for range madeCentres {
			g.centres = append(g.centres, g.gauss(nil))
		}
	}
	return g
}

func (g *made) gauss(around []float32) []float32 {
	v := make([]float32, g.dim)
	for i := range v {
		v[i] = float32(g.rng.NormFloat64())
		if around != nil {
			v[i] = around[i] + v[i]/2
		}
	}
	return v
}

// vector is a point near a random centre.
func (g *made) vector() []float32 {
	if g.dim == 0 {
		return nil
	}
	return g.gauss(g.centres[g.rng.IntN(len(g.centres))])
}

// text is words whose letters follow from their rank, so that stemming leaves them apart.
func (g *made) text(words int, least uint64) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		n := g.zipf.Uint64()
		for n < least {
			n = g.zipf.Uint64()
		}
		for b.WriteByte("bdfgklmnprtv"[n%12]); n > 0; n /= 60 {
			b.WriteByte("aeiou"[n%5])
			b.WriteByte("bdfgklmnprtv"[n/5%12])
		}
		b.WriteByte('o')
	}
	return b.String()
}

// measureSpeed loads memories that it makes up and asks questions of five kinds, from several clients at once.
func measureSpeed(ctx context.Context, a *cli.Streams, cls []*client.Client, f *recallBench) (r speedReport, err error) {
	g := newMade(f.dim)
	r = speedReport{Memories: f.size, Dim: f.dim, Clients: len(cls)}
	if r.LoadedPerSec, err = loadMade(ctx, a, cls[0], g, f.size); err != nil {
		return r, err
	}
	if len(f.Endpoints) == 0 && !f.restart {
		r.HeapBytes = heapHeld()
	}
	r.Runs, err = askKinds(ctx, cls, g, f.asks)
	return r, err
}

// heapHeld is what this process holds in memory, without garbage.
func heapHeld() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// askKinds asks questions of five kinds about generated memories; of two where these have no vectors.
func askKinds(ctx context.Context, cls []*client.Client, g *made, asks int) (runs []speedRun, err error) {
	kinds := []struct {
		name          string
		text, vector  bool
		namespaceOnly bool
	}{{"words", true, false, false}, {"words, one namespace of ten", true, false, true}, {"vector", false, true, false},
		{"words and vector", true, true, false}, {"words and vector, one namespace", true, true, true}}
	for _, k := range kinds {
		if k.vector && g.dim == 0 {
			continue
		}
		questions := make([]wire.Recall, asks)
		for i := range questions {
			q := wire.NewRecall("")
			q.TopK, q.SkipReinforce = 10, true
			if k.text {
				q.Query = g.text(6, 50) // the commonest fifty are what stop words are to a language
			}
			if k.vector {
				q.QueryEmbedding = g.vector()
			}
			if k.namespaceOnly {
				ns := "speed3"
				q.Namespace = &ns
			}
			questions[i] = q
		}
		took, err := askMade(ctx, cls, questions)
		if err != nil {
			return runs, err
		}
		runs = append(runs, speedRun{k.name, quantile(took, .5), quantile(took, .99)})
	}
	return runs, nil
}

// speed measures a cluster that runs, a node in this process, or, to be restarted, one in a process of its own.
func speed(ctx context.Context, a *cli.Streams, f *recallBench) (err error) {
	if f.dim < 0 || f.size < 1 || f.asks < 5 || f.clients < 1 || f.restart && len(f.Endpoints) > 0 {
		return cli.Usage(errors.New("--size and --clients are at least 1, --asks at least 5, --dim at least 0; --restart is for a node of its own"))
	}
	cfg := client.Config{Database: f.Database}
	var child *devNode
	switch {
	case f.restart:
		if child, err = startDevNode(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, child.close()) }()
		cfg.Addrs, cfg.Token = []string{child.line.Wire}, child.token
	case len(f.Endpoints) == 0:
		own, err := startLocal(ctx, 1)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, own.close()) }()
		cfg.Addrs, cfg.Token = own.addrs, own.token
	default:
		if cfg.Addrs, cfg.Token, err = named(ctx, &f.Target); err != nil {
			return err
		}
	}
	cls := make([]*client.Client, f.clients)
	for i := range cls {
		if cls[i], err = client.Dial(ctx, cfg); err != nil {
			return err
		}
		defer cls[i].Close()
	}
	r, err := measureSpeed(ctx, a, cls, f)
	if err == nil && child != nil {
		q := wire.NewRecall(newMade(0).text(6, 50))
		q.TopK, q.SkipReinforce = 10, true
		r.Starts, err = measureStarts(ctx, a, child, q)
	}
	if err != nil {
		return err
	}
	return show(a, f.JSON, &r)
}

// loadMade stores so many memories and returns how many a second.
func loadMade(ctx context.Context, a *cli.Streams, cl *client.Client, g *made, size int) (rate float64, err error) {
	bar := a.Progress("loading")
	start := time.Now()
	for at := 0; at < size; at += madeBatch {
		var batch wire.RememberBatch
		for i := at; i < min(at+madeBatch, size); i++ {
			m := wire.NewRemember(g.text(madeWords, 0))
			m.Namespace, m.Embedding = fmt.Sprint("speed", i%10), g.vector()
			batch.Memories = append(batch.Memories, m)
		}
		if _, err := cl.RememberBatch(ctx, batch); err != nil {
			return 0, err
		}
		if err := bar.Add(len(batch.Memories)); err != nil {
			return 0, err
		}
	}
	return float64(size) / time.Since(start).Seconds(), nil
}

// askMade asks the questions, shared out among the clients, and returns how long the answers took, in order. The first fifth
// are asked twice: once to warm up.
func askMade(ctx context.Context, cls []*client.Client, questions []wire.Recall) (took []float64, err error) {
	each := make([][]float64, len(cls))
	errs := make([]error, len(cls))
	var wg sync.WaitGroup
	for w, cl := range cls {
		wg.Go(func() {
			for i := w; i < len(questions)/5 && errs[w] == nil; i += len(cls) {
				_, _, errs[w] = cl.Recall(ctx, questions[i])
			}
			for i := w; i < len(questions) && errs[w] == nil; i += len(cls) {
				at := time.Now()
				_, _, errs[w] = cl.Recall(ctx, questions[i])
				each[w] = append(each[w], float64(time.Since(at).Microseconds())/1000)
			}
		})
	}
	wg.Wait()
	took = slices.Concat(each...)
	slices.Sort(took)
	return took, errors.Join(errs...)
}

func (r *speedReport) print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%d memories of %d words, %d dimensions, loaded at %.0f/s", r.Memories, madeWords, r.Dim, r.LoadedPerSec)
	if r.HeapBytes > 0 {
		fmt.Fprintf(a.Out, ", heap %d bytes a memory", r.HeapBytes/uint64(r.Memories))
	}
	fmt.Fprintf(a.Out, "; %d clients\n\n", r.Clients)
	w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tp50 ms\tp99 ms\t")
	for _, n := range r.Runs {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t\n", n.Kind, n.P50, n.P99)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range r.Starts {
		fmt.Fprintf(a.Out, "started after %s: first answer in %.1f s, ready to write in %.1f s\n", s.After, s.Read, s.Ready)
	}
	return nil
}
