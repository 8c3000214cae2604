package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
)

// A speedRatio is how long an engine took for the questions of a kind, and its times as a multiple of ours: the geometric mean of the
// ratios question by question, and the interval that holds it with 95 %.
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
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e, err := searchEngines[name](ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	if err := loadEngine(a, e, name, newMade(f.dim), f.size); err != nil {
		return nil, err
	}
	for _, run := range runs {
		if len(run.questions[0].QueryEmbedding) > 0 {
			continue
		}
		took, err := askEngine(e, run.questions)
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

// loadEngine adds the texts that loadMade has stored.
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
		if i%madeBatch == madeBatch-1 {
			if err := bar.Add(madeBatch); err != nil {
				return err
			}
		}
	}
	return nil
}

// askEngine asks the questions, and the first fifth of them once before, as askMade does.
func askEngine(e searchEngine, questions []wire.Recall) (took []float64, err error) {
	ask := func(q wire.Recall) (time.Duration, error) {
		conv := ""
		if q.Namespace != nil {
			conv = *q.Namespace
		}
		_, took, err := e.ask(conv, q.Query, q.TopK)
		return took, err
	}
	for _, q := range questions[:len(questions)/5] {
		if _, err := ask(q); err != nil {
			return nil, err
		}
	}
	for _, q := range questions {
		t, err := ask(q)
		if err != nil {
			return nil, err
		}
		took = append(took, float64(t.Microseconds())/1000)
	}
	return took, nil
}

// leastTime stands for a time that rounds to nothing, ms.
const leastTime = .001

// ratios are theirs to ours: the geometric mean, and its interval of 95 %, taking the logarithms' mean as normally distributed.
func ratios(theirs, ours []float64) (mean, low, high float64) {
	logs := make([]float64, len(ours))
	n := float64(len(ours))
	for i := range logs {
		logs[i] = math.Log(max(theirs[i], leastTime) / max(ours[i], leastTime))
		mean += logs[i] / n
	}
	var squares float64
	for _, l := range logs {
		squares += (l - mean) * (l - mean)
	}
	half := 1.96 * math.Sqrt(squares/max(n-1, 1)/n)
	return math.Exp(mean), math.Exp(mean - half), math.Exp(mean + half)
}
