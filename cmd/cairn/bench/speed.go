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
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// speedRun holds the latencies of one kind of question.
type speedRun struct {
	Kind string  `json:"kind"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`

	questions []wire.Recall
	took      []float64 // by question, ms
}

// newSpeedRun is a run of questions.
func newSpeedRun(kind string, questions []wire.Recall, took []float64) speedRun {
	sorted := slices.Sorted(slices.Values(took))
	return speedRun{kind, quantile(sorted, .5), quantile(sorted, .99), questions, took}
}

func (r speedRun) line() string { return fmt.Sprintf("%s\t%.2f\t%.2f\t", r.Kind, r.P50, r.P99) }

type speedReport struct {
	Memories int `json:"memories"`
	Dim      int `json:"dim"`
	loadRate
	HeapBytes uint64       `json:"heap_bytes,omitempty"` // of this process, node included; 0 where the node is another
	DiskBytes int64        `json:"disk_bytes,omitempty"` // of the node's files; 0 with --endpoints
	Clients   int          `json:"clients"`
	Runs      []speedRun   `json:"runs"`
	Against   []speedRatio `json:"against,omitempty"`
	Starts    []startRun   `json:"starts,omitempty"`
}

// loadRate holds the memories stored a second, batch after batch: of all of them, and of the first and the last tenth.
type loadRate struct {
	All   float64 `json:"loaded_per_second"`
	First float64 `json:"first_tenth_per_second"`
	Last  float64 `json:"last_tenth_per_second"`
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
)

func newMade(dim int) *made {
	g := &made{rng: rand.New(rand.NewPCG(1, 2)), dim: dim}
	g.zipf = rand.NewZipf(g.rng, 1.1, 8, madeVocabulary-1)
	if dim > 0 {
		for range madeCentres {
			g.centres = append(g.centres, gauss(g.rng, dim))
		}
	}
	return g
}

// vector is a point near a random centre.
func (g *made) vector() []float32 {
	if g.dim == 0 {
		return nil
	}
	centre := g.centres[g.rng.IntN(len(g.centres))]
	v := gauss(g.rng, g.dim)
	for i := range v {
		v[i] = centre[i] + v[i]/2
	}
	return v
}

// commonWords is the number of commonest words that questions leave out, as they leave out a language's stop words.
const commonWords = 50

// askedNamespace is the namespace, one of ten, that questions filter by.
const askedNamespace = "speed3"

// memory is the i-th memory.
func (g *made) memory(i int) wire.Remember {
	m := wire.NewRemember(g.text(madeWords, 0))
	m.Namespace, m.Embedding = fmt.Sprint("speed", i%10), g.vector()
	return m
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

// heapHeld returns the bytes that this process holds in memory, without garbage.
func heapHeld() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// An asker asks one question and says how long the answer took.
type asker func(context.Context, wire.Recall) (time.Duration, error)

// askersOf ask through a client each.
func askersOf(loaders []*loader) (all []asker) {
	for _, l := range loaders {
		all = append(all, func(ctx context.Context, q wire.Recall) (time.Duration, error) {
			at := time.Now()
			_, _, err := l.c.Recall(ctx, q)
			return time.Since(at), err
		})
	}
	return all
}

// askKinds asks questions of five kinds about generated memories; of two where these have no vectors.
func askKinds(ctx context.Context, askers []asker, g *made, asks int) (runs []speedRun, err error) {
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
				q.Query = g.text(6, commonWords)
			}
			if k.vector {
				q.QueryEmbedding = g.vector()
			}
			if k.namespaceOnly {
				ns := askedNamespace
				q.Namespace = &ns
			}
			questions[i] = q
		}
		took, err := askMade(ctx, askers, questions)
		if err != nil {
			return runs, err
		}
		runs = append(runs, newSpeedRun(k.name, questions, took))
	}
	return runs, nil
}

// askMade asks the questions, shared out among the askers, and returns how long each answer took. The first fifth are asked twice: once to
// warm up.
func askMade(ctx context.Context, askers []asker, questions []wire.Recall) (took []float64, err error) {
	took = make([]float64, len(questions))
	errs := make([]error, len(askers))
	var wg sync.WaitGroup
	for w, ask := range askers {
		wg.Go(func() {
			for i := w; i < len(questions)/5 && errs[w] == nil; i += len(askers) {
				_, errs[w] = ask(ctx, questions[i])
			}
			for i := w; i < len(questions) && errs[w] == nil; i += len(askers) {
				var d time.Duration
				d, errs[w] = ask(ctx, questions[i])
				took[i] = milliseconds(d)
			}
		})
	}
	wg.Wait()
	return took, errors.Join(errs...)
}

// speed measures a cluster that runs, a node in this process, or, to be restarted, one in a process of its own: it
// loads memories that it makes up and asks questions of five kinds, from several clients at once.
func speed(ctx context.Context, l *lab, f *recallBench) (report, error) {
	if f.dim < 0 || f.size < 1 || f.asks < 5 || f.clients < 1 || f.restart && len(f.Endpoints) > 0 {
		return nil, cli.Usage(errors.New("--size and --clients are at least 1, --asks at least 5, --dim at least 0; --restart is for a node of its own"))
	}
	if err := checkEngines(f); err != nil {
		return nil, err
	}
	var sub subject
	var child *devNode
	var home string // its files, if it was started here
	var err error
	if f.restart {
		if child, err = l.devNode(ctx); err == nil {
			sub.cfg, home = child.client(), child.home
			sub.cfg.Database = f.Database
		}
	} else if sub, err = l.subject(ctx, &f.Target, 1); sub.own != nil && err == nil {
		home = sub.own.configs[0].Home
	}
	if err != nil {
		return nil, err
	}
	loaders, err := l.loaders(ctx, sub.cfg, f.clients, 0)
	if err != nil {
		return nil, err
	}
	g, r := newMade(f.dim), &speedReport{Memories: f.size, Dim: f.dim, Clients: f.clients}
	if r.loadRate, err = store(ctx, l.Streams, loaders[0].c, f.size, g.memory, func([]string) {}); err != nil {
		return nil, err
	}
	if sub.own != nil {
		r.HeapBytes = heapHeld()
	}
	if home != "" {
		r.DiskBytes = sizeBelow(home)
	}
	if err := rest(ctx, l.Streams, f.rest); err != nil {
		return nil, err
	}
	if r.Runs, err = askKinds(ctx, askersOf(loaders), g, f.asks); err != nil {
		return nil, err
	}
	if r.Against, err = compareSpeed(ctx, l.Streams, f, r.Runs); err != nil || child == nil {
		return r, err
	}
	q := wire.NewRecall(newMade(0).text(6, commonWords))
	q.TopK, q.SkipReinforce = 10, true
	r.Starts, err = measureStarts(ctx, child, q)
	return r, err
}

// rest waits, and ends early with its context.
func rest(ctx context.Context, a *cli.Streams, wait time.Duration) error {
	bar := a.Progress("resting")
	for end := time.Now().Add(wait); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(time.Second, time.Until(end))):
			if err := bar.Add(1); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeBatch is the number of memories in one entry.
const storeBatch = 500

// store stores so many memories, tells their ids batch after batch, and says how fast it was.
func store(ctx context.Context, a *cli.Streams, cl *client.Client, size int, memory func(int) wire.Remember, stored func(rids []string)) (rate loadRate, err error) {
	bar := a.Progress("loading")
	start := time.Now()
	var last time.Time // when the last tenth began,
	var before int     // behind so many
	for at := 0; at < size; at += storeBatch {
		var batch wire.RememberBatch
		for i := at; i < min(at+storeBatch, size); i++ {
			batch.Memories = append(batch.Memories, memory(i))
		}
		if last.IsZero() && at >= size/10*9 {
			last, before = time.Now(), at
		}
		rids, err := cl.RememberBatch(ctx, batch)
		if err != nil {
			return rate, err
		}
		stored(rids)
		if done := at + len(rids); rate.First == 0 && done >= size/10 {
			rate.First = float64(done) / time.Since(start).Seconds()
		}
		if err := bar.Add(len(rids)); err != nil {
			return rate, err
		}
	}
	rate.All, rate.Last = float64(size)/time.Since(start).Seconds(), float64(size-before)/time.Since(last).Seconds()
	return rate, nil
}

func (r *speedReport) print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%d memories of %d words, %d dimensions, loaded at %.0f/s, the first tenth at %.0f/s and the last at %.0f/s", r.Memories, madeWords, r.Dim, r.All, r.First, r.Last)
	if r.HeapBytes > 0 {
		fmt.Fprintf(a.Out, ", heap %d bytes a memory", r.HeapBytes/uint64(r.Memories))
	}
	if r.DiskBytes > 0 {
		fmt.Fprintf(a.Out, ", files %d bytes a memory", r.DiskBytes/int64(r.Memories))
	}
	fmt.Fprintf(a.Out, "; %d clients\n\n", r.Clients)
	if err := grid(a.Out, "\tp50 ms\tp99 ms\t", r.Runs, speedRun.line); err != nil {
		return err
	}
	for _, n := range r.Against {
		fmt.Fprintf(a.Out, "%s, %s: p50 %.2f ms, p99 %.2f ms, %.2f times (%.2f to %.2f)\n", n.Peer, n.Kind, n.P50, n.P99, n.Ratio, n.Low, n.High)
	}
	for _, s := range r.Starts {
		fmt.Fprintf(a.Out, "started after %s: first answer in %.1f s, ready to write in %.1f s\n", s.After, s.Read, s.Ready)
	}
	return nil
}
