package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// A SpeedRun holds the latencies of one kind of question.
type SpeedRun struct {
	Kind string  `json:"kind"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`

	Questions []wire.Recall `json:"-"`
	Took      []float64     `json:"-"` // by question, ms
}

// NewSpeedRun returns the run for questions and their latencies in ms.
func NewSpeedRun(kind string, questions []wire.Recall, took []float64) SpeedRun {
	sorted := slices.Sorted(slices.Values(took))
	return SpeedRun{kind, quantile(sorted, .5), quantile(sorted, .99), questions, took}
}

// Line formats the run as a line of Grid.
func (r SpeedRun) Line() string { return fmt.Sprintf("%s\t%.2f\t%.2f\t", r.Kind, r.P50, r.P99) }

// A SpeedReport holds the speed of storing and recalling generated memories.
type SpeedReport struct {
	Memories int `json:"memories"`
	Dim      int `json:"dim"`
	LoadRate
	HeapBytes uint64     `json:"heap_bytes,omitempty"` // of this process with the node; 0 with --endpoints
	DiskBytes int64      `json:"disk_bytes,omitempty"` // of the node's files; 0 with --endpoints
	Clients   int        `json:"clients"`
	Runs      []SpeedRun `json:"runs"`
}

// A LoadRate holds the number of memories stored per second: overall, and for the first and the last tenth.
type LoadRate struct {
	All   float64 `json:"loaded_per_second"`
	First float64 `json:"first_tenth_per_second"`
	Last  float64 `json:"last_tenth_per_second"`
}

// A Generator generates memories and questions. Words follow Zipf's law; vectors are clustered around random centres.
type Generator struct {
	rng     *rand.Rand
	zipf    *rand.Zipf
	centres [][]float32
	dim     int
}

// GeneratedWords is the number of words of a generated memory.
const GeneratedWords = 45

const (
	vocabularySize = 50_000
	centreCount    = 1000
)

// NewGenerator returns a generator with a fixed seed and vectors of dim dimensions.
func NewGenerator(dim int) *Generator {
	g := &Generator{rng: rand.New(rand.NewPCG(1, 2)), dim: dim}
	g.zipf = rand.NewZipf(g.rng, 1.1, 8, vocabularySize-1)
	if dim > 0 {
		for range centreCount {
			g.centres = append(g.centres, Gauss(g.rng, dim))
		}
	}
	return g
}

// Vector returns a vector near a random centre; nil without dimensions.
func (g *Generator) Vector() []float32 {
	if g.dim == 0 {
		return nil
	}
	centre := g.centres[g.rng.IntN(len(g.centres))]
	v := Gauss(g.rng, g.dim)
	for i := range v {
		v[i] = centre[i] + v[i]/2
	}
	return v
}

// commonWords is the number of most frequent words that questions omit, like stop words.
const commonWords = 50

// FilteredNamespace is the namespace, one of ten, that questions filter by.
const FilteredNamespace = "speed3"

// Memory returns the i-th memory.
func (g *Generator) Memory(i int) wire.Remember {
	m := wire.NewRemember(g.text(GeneratedWords, 0))
	m.Namespace, m.Embedding = fmt.Sprint("speed", i%10), g.Vector()
	return m
}

// Question returns six words that are not among the most frequent.
func (g *Generator) Question() string { return g.text(6, commonWords) }

// text returns words of at least a frequency rank. A word's letters encode its rank, so stemming cannot merge words.
func (g *Generator) text(words int, least uint64) string {
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

// An Asker asks one question and returns the latency.
type Asker func(context.Context, wire.Recall) (time.Duration, error)

// Askers returns an Asker for each client.
func Askers(loaders []*Loader) (all []Asker) {
	for _, l := range loaders {
		all = append(all, func(ctx context.Context, q wire.Recall) (time.Duration, error) {
			at := time.Now()
			_, _, err := l.Client.Recall(ctx, q)
			return time.Since(at), err
		})
	}
	return all
}

// TimeKinds measures five kinds of questions about generated memories, or two kinds if these have no vectors.
func TimeKinds(ctx context.Context, askers []Asker, g *Generator, asks int) (runs []SpeedRun, err error) {
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
				q.Query = g.Question()
			}
			if k.vector {
				q.QueryEmbedding = g.Vector()
			}
			if k.namespaceOnly {
				ns := FilteredNamespace
				q.Namespace = &ns
			}
			questions[i] = q
		}
		took, err := TimeQuestions(ctx, askers, questions)
		if err != nil {
			return runs, err
		}
		runs = append(runs, NewSpeedRun(k.name, questions, took))
	}
	return runs, nil
}

// TimeQuestions distributes the questions among the askers and returns the latency of each in ms. It asks the first
// fifth before, to warm up.
func TimeQuestions(ctx context.Context, askers []Asker, questions []wire.Recall) (took []float64, err error) {
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
				took[i] = InMilliseconds(d)
			}
		})
	}
	wg.Wait()
	return took, errors.Join(errs...)
}

// Speed measures a running cluster, or a node in this process. It stores generated memories and then measures several
// kinds of questions from concurrent clients.
func (f *Recall) Speed(ctx context.Context, l *Rig) (*SpeedReport, error) {
	if f.Clients < 1 {
		return nil, cli.Usage(errors.New("--clients is at least 1"))
	}
	sub, err := l.clusterUnderTest(ctx, &f.Target, 1)
	if err != nil {
		return nil, err
	}
	loaders, err := l.Loaders(ctx, sub.cfg, f.Clients, 0)
	if err != nil {
		return nil, err
	}
	g, r := NewGenerator(f.Dim), &SpeedReport{Memories: f.Size, Dim: f.Dim, Clients: f.Clients}
	if r.LoadRate, err = Store(ctx, l.Streams, loaders[0].Client, f.Size, g.Memory, func([]string) {}); err != nil {
		return nil, err
	}
	if sub.local != nil {
		r.HeapBytes, r.DiskBytes = HeapInUse(), DirSize(sub.local.Configs[0].Home)
	}
	if err := pause.For(ctx, f.rest); err != nil {
		return nil, err
	}
	r.Runs, err = TimeKinds(ctx, Askers(loaders), g, f.Asks)
	return r, err
}

// storeBatch is the number of memories in one request.
const storeBatch = 500

// Store stores size memories in batches, calls stored with the ids of each batch, and returns the speed.
func Store(ctx context.Context, a *cli.Streams, cl *client.Client, size int, memory func(int) wire.Remember, stored func(rids []string)) (rate LoadRate, err error) {
	bar := a.Progress("loading")
	start := time.Now()
	var last time.Time // start of the batch in which the last tenth begins
	var before int     // number of memories before that batch
	for at := 0; at < size; at += storeBatch {
		var batch wire.RememberBatch
		for i := at; i < min(at+storeBatch, size); i++ {
			batch.Memories = append(batch.Memories, memory(i))
		}
		if last.IsZero() && at+storeBatch > size/10*9 {
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

// Print implements Report.
func (r *SpeedReport) Print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%d memories of %d words, %d dimensions, loaded at %.0f/s, the first tenth at %.0f/s and the last at %.0f/s",
		r.Memories, GeneratedWords, r.Dim, r.All, r.First, r.Last)
	if r.HeapBytes > 0 {
		fmt.Fprintf(a.Out, ", heap %d bytes a memory", r.HeapBytes/uint64(r.Memories))
	}
	if r.DiskBytes > 0 {
		fmt.Fprintf(a.Out, ", files %d bytes a memory", r.DiskBytes/int64(r.Memories))
	}
	fmt.Fprintf(a.Out, "; %d clients\n\n", r.Clients)
	return Grid(a.Out, "\tp50 ms\tp99 ms\t", r.Runs, SpeedRun.Line)
}
