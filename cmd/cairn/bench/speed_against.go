package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
)

// A speedRatio holds an engine's times for the questions of a kind, and their multiple of ours: the geometric mean of
// the ratios question by question, and the interval that holds it with 95 %.
type speedRatio struct {
	Peer  string  `json:"peer"`
	Kind  string  `json:"kind"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// checkEngines says what --against cannot do for speed.
func checkEngines(f *recallBench) error {
	for _, name := range f.against {
		if searchEngines[name] == nil {
			return cli.Usage(fmt.Errorf("--size has nothing to compare with %q: --against takes bleve and fts5", name))
		}
	}
	if len(f.against) > 0 && f.clients > 1 {
		return cli.Usage(errors.New("--against with --size is for one client: an engine answers one question after the other"))
	}
	return nil
}

// compareSpeed asks engines the questions that are words alone. They have the same texts: all, and those of the namespace that is asked for
// once more by themselves.
func compareSpeed(ctx context.Context, a *cli.Streams, f *recallBench, runs []speedRun) (all []speedRatio, err error) {
	for _, name := range f.against {
		ratios, err := compareEngine(ctx, a, name, f, runs)
		if err != nil {
			return all, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, ratios...)
	}
	return all, nil
}

func compareEngine(ctx context.Context, a *cli.Streams, name string, f *recallBench, runs []speedRun) (all []speedRatio, err error) {
	l := &lab{Streams: a} // an engine ends before the next is loaded
	defer func() { err = errors.Join(err, l.close()) }()
	dir, err := l.dir()
	if err != nil {
		return nil, err
	}
	e, err := l.engine(ctx, name, dir)
	if err != nil {
		return nil, err
	}
	if err := loadEngine(a, e, name, newMade(f.dim), f.size); err != nil {
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
		if len(run.questions[0].QueryEmbedding) > 0 {
			continue
		}
		took, err := askMade(ctx, []asker{ask}, run.questions)
		if err != nil {
			return nil, err
		}
		theirs := newSpeedRun(run.Kind, run.questions, took)
		ratio := speedRatio{Peer: name, Kind: run.Kind, P50: theirs.P50, P99: theirs.P99}
		ratio.Ratio, ratio.Low, ratio.High = ratios(took, run.took)
		all = append(all, ratio)
	}
	return all, nil
}

// loadEngine adds the texts that store has stored.
func loadEngine(a *cli.Streams, e searchEngine, name string, g *made, size int) error {
	bar := a.Progress("loading " + name)
	for i := range size {
		m := g.memory(i)
		convs := []string{""}
		if m.Namespace == askedNamespace {
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

// leastTime stands for a time that rounds to nothing, ms.
const leastTime = .001

// ratios are theirs to ours: the geometric mean, and its interval of 95 %.
func ratios(theirs, ours []float64) (mean, low, high float64) {
	logs := make([]float64, len(ours))
	for i := range logs {
		logs[i] = math.Log(max(theirs[i], leastTime) / max(ours[i], leastTime))
	}
	at, half := interval(logs)
	return math.Exp(at), math.Exp(at - half), math.Exp(at + half)
}
