package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

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
	HeapBytes    uint64     `json:"heap_bytes,omitempty"` // of this process, node included; 0 with --addr
	Runs         []speedRun `json:"runs"`
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

// measureSpeed loads memories that it makes up and asks questions of three kinds.
func (a *app) measureSpeed(ctx context.Context, cl *client.Client, f *recallFlags) (r speedReport, err error) {
	if f.dim < 0 || f.size < 1 || f.asks < 1 {
		return r, usageError{errors.New("--size and --asks are at least 1, --dim at least 0")}
	}
	g := newMade(f.dim)
	r = speedReport{Memories: f.size, Dim: f.dim}
	bar := a.progress("loading")
	start := time.Now()
	for at := 0; at < f.size; at += madeBatch {
		var batch wire.RememberBatch
		for i := at; i < min(at+madeBatch, f.size); i++ {
			m := wire.NewRemember(g.text(madeWords, 0))
			m.Namespace, m.Embedding = fmt.Sprint("speed", i%10), g.vector()
			batch.Memories = append(batch.Memories, m)
		}
		if _, err := cl.RememberBatch(ctx, batch); err != nil {
			return r, err
		}
		if err := bar.Add(len(batch.Memories)); err != nil {
			return r, err
		}
	}
	r.LoadedPerSec = float64(f.size) / time.Since(start).Seconds()
	if len(f.addrs) == 0 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		r.HeapBytes = m.HeapAlloc
	}
	kinds := []struct {
		name          string
		text, vector  bool
		namespaceOnly bool
	}{{"words", true, false, false}, {"words, one namespace of ten", true, false, true}, {"vector", false, true, false},
		{"words and vector", true, true, false}, {"words and vector, one namespace", true, true, true}}
	for _, k := range kinds {
		if k.vector && f.dim == 0 {
			continue
		}
		took := make([]float64, 0, f.asks)
		for i := range f.asks + f.asks/5 {
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
			at := time.Now()
			if _, _, err := cl.Recall(ctx, q); err != nil {
				return r, err
			}
			if i >= f.asks/5 { // the first fifth warms up
				took = append(took, float64(time.Since(at).Microseconds())/1000)
			}
		}
		slices.Sort(took)
		at := func(q float64) float64 { return took[int(math.Ceil(q*float64(len(took))))-1] }
		r.Runs = append(r.Runs, speedRun{k.name, at(.5), at(.99)})
	}
	return r, nil
}

func (r *speedReport) print(a *app) error {
	fmt.Fprintf(a.out, "%d memories of %d words, %d dimensions, loaded at %.0f/s", r.Memories, madeWords, r.Dim, r.LoadedPerSec)
	if r.HeapBytes > 0 {
		fmt.Fprintf(a.out, ", heap %d bytes a memory", r.HeapBytes/uint64(r.Memories))
	}
	fmt.Fprint(a.out, "\n\n")
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tp50 ms\tp99 ms\t")
	for _, n := range r.Runs {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t\n", n.Kind, n.P50, n.P99)
	}
	return w.Flush()
}
