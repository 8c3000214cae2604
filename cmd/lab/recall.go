package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
)

// A speedRatio holds an engine's latencies for a kind of questions, and their ratio to ours: the geometric mean of
// the ratios by question, and its 95 % confidence interval.
type speedRatio struct {
	Peer  string  `json:"peer"`
	Kind  string  `json:"kind"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// speedAgainst is the node's report with the comparison to the engines.
type speedAgainst struct {
	*bench.SpeedReport
	Against []speedRatio `json:"against"`
}

func (r *speedAgainst) Print(a *cli.Streams) error {
	err := r.SpeedReport.Print(a)
	for _, n := range r.Against {
		fmt.Fprintf(a.Out, "%s, %s: p50 %.2f ms, p99 %.2f ms, %.2f times (%.2f to %.2f)\n", n.Peer, n.Kind, n.P50, n.P99,
			n.Ratio, n.Low, n.High)
	}
	return err
}

// recallBench is `cairn bench recall` with search engines as peers of --against.
type recallBench struct{ bench.Recall }

var recallVerb = bench.Bench{
	Use: bench.RecallVerb.Use, Short: "Do what cairn bench recall does, and ask other search engines the same",
	Start: func() bench.Measurement { return &recallBench{bench.Recall{Peer: openPeer}} },
	Long: bench.RecallVerb.Long + `

With --against bleve every question is also asked of stock Bleve (English analyzer, BM25, an index for each conversation), with
--against fts5 of SQLite's full-text search (Porter stemmer, BM25, a table for each conversation; python3 with its sqlite3 module is
needed). With --size the engines store the same texts in files and answer the same questions of words; the report has their times and
the ratios to those here, question by question. A question here goes over the network, theirs are calls in a process.`,
	Example: "  go run ./cmd/lab recall --size 100000 --against fts5,bleve",
}

func (f *recallBench) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	if f.Size == 0 {
		return f.Recall.Run(ctx, l)
	}
	if err := errors.Join(f.Validate(), f.checkEngines()); err != nil {
		return nil, err
	}
	r, err := f.Speed(ctx, l)
	if err != nil {
		return nil, err
	}
	all := &speedAgainst{SpeedReport: r}
	for _, name := range f.Against {
		ratios, err := f.compareEngine(ctx, l.Streams, name, r.Runs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all.Against = append(all.Against, ratios...)
	}
	return all, nil
}

// checkEngines returns a usage error for values of --against that do not work with --size.
func (f *recallBench) checkEngines() error {
	for _, name := range f.Against {
		if searchEngines[name] == nil {
			return cli.Usage(fmt.Errorf("--size has nothing to compare with %q: --against takes bleve and fts5", name))
		}
	}
	if len(f.Against) > 0 && f.Clients > 1 {
		return cli.Usage(errors.New("--against with --size is for one client: an engine answers one question after the other"))
	}
	return nil
}

// openPeer is a bench.OpenPeer for an engine in memory, or else for rankings in a file.
func openPeer(ctx context.Context, l *bench.Rig, name string, corpus []bench.CorpusLine) (bench.Answers, error) {
	if searchEngines[name] == nil {
		return bench.Rankings(ctx, l, name, corpus)
	}
	e, err := openEngine(ctx, l, name, "")
	if err != nil {
		return nil, err
	}
	for _, c := range corpus {
		if err := e.add(c.Conv, c.ID, c.Memory().Text); err != nil {
			return nil, err
		}
	}
	return func(q bench.QueryLine, k int) ([]string, error) {
		ids, _, err := e.ask(q.Conv, q.Query, k)
		return ids, err
	}, nil
}

// compareEngine asks an engine the questions without vectors. The engine has the same texts in one index, and those
// of the filtered namespace again in another.
func (f *recallBench) compareEngine(ctx context.Context, a *cli.Streams, name string, runs []bench.SpeedRun) (all []speedRatio, err error) {
	l := &bench.Rig{Streams: a} // closes the engine before the next one is loaded
	defer func() { err = errors.Join(err, l.Close()) }()
	dir, err := l.Dir()
	if err != nil {
		return nil, err
	}
	e, err := openEngine(ctx, l, name, dir)
	if err != nil {
		return nil, err
	}
	if err := loadEngine(a, e, name, bench.NewGenerator(f.Dim), f.Size); err != nil {
		return nil, err
	}
	ask := func(_ context.Context, q wire.Recall) (time.Duration, error) {
		conv := ""
		if q.Namespace != nil {
			conv = *q.Namespace
		}
		_, took, err := e.ask(conv, q.Query, q.TopK)
		return took, err
	}
	for _, run := range runs {
		if len(run.Questions[0].QueryEmbedding) > 0 {
			continue
		}
		took, err := bench.TimeQuestions(ctx, []bench.Asker{ask}, run.Questions)
		if err != nil {
			return nil, err
		}
		theirs := bench.NewSpeedRun(run.Kind, run.Questions, took)
		ratio := speedRatio{Peer: name, Kind: run.Kind, P50: theirs.P50, P99: theirs.P99}
		ratio.Ratio, ratio.Low, ratio.High = ratios(took, run.Took)
		all = append(all, ratio)
	}
	return all, nil
}

// loadEngine adds the same texts that bench.Store has stored.
func loadEngine(a *cli.Streams, e searchEngine, name string, g *bench.Generator, size int) error {
	bar := a.Progress("loading " + name)
	for i := range size {
		m := g.Memory(i)
		convs := []string{""}
		if m.Namespace == bench.FilteredNamespace {
			convs = append(convs, m.Namespace)
		}
		for _, conv := range convs {
			if err := e.add(conv, fmt.Sprint(i), m.Text); err != nil {
				return err
			}
		}
		if err := bar.Add(1); err != nil {
			return err
		}
	}
	return nil
}

// leastTime replaces a time that rounds to 0, in ms.
const leastTime = .001

// ratios returns the geometric mean of theirs to ours, and its 95 % confidence interval.
func ratios(theirs, ours []float64) (mean, low, high float64) {
	logs := make([]float64, len(ours))
	for i := range logs {
		logs[i] = math.Log(max(theirs[i], leastTime) / max(ours[i], leastTime))
	}
	at, half := bench.Interval(logs)
	return math.Exp(at), math.Exp(at - half), math.Exp(at + half)
}
