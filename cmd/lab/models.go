package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// A syntheticModel is a synthetic embedding model for a set with known answers. Its fields set its quality.
type syntheticModel struct {
	name       string
	similarity float64 // similarity of an answer's vector to its question's; 0: none
	wrongLines int     // wrong lines of the conversation per question that are similar too
	wordWeight float64 // weight of the hash of the text's words in a vector
}

var syntheticModels = []syntheticModel{
	{name: "random"},
	{name: "words", wordWeight: 1},
	{name: "weak", similarity: .2, wrongLines: 20},
	{name: "mid", similarity: .3, wrongLines: 10},
	{name: "strong", similarity: .4, wrongLines: 4},
	{name: "mid, words", similarity: .3, wrongLines: 10, wordWeight: .7},
}

const syntheticDims = 256

// modelsReport holds, for each set and model, the recall of words, of the model, and of both together.
type modelsReport struct {
	Rows []modelRow `json:"rows"`
}

type modelRow struct {
	Corpus string  `json:"corpus"`
	Model  string  `json:"model"`
	Words  float64 `json:"words"` // recall@10, as are the others
	Alone  float64 `json:"model_alone"`
	Both   float64 `json:"both"`
	Lost   float64 `json:"lost"` // against the better of the two
}

type modelsBench struct {
	corpus, queries []string
	only            []string
}

var modelsVerb = bench.Bench{
	Use: "models --corpus FILE --queries FILE", Short: "Ask sets with vectors of made models, from useless to strong",
	Start: func() bench.Measurement { return &modelsBench{} },
	Long: `Gives every line and question of a set a vector from a model that is made up: one that knows nothing, one that repeats the words, and
some that know which lines answer a question, well or badly. Reports recall@10 of words alone, of the vectors alone, and of both
together, and what both together lose against the better of the two.`,
	Example: "  go run ./cmd/lab models --corpus corpus.jsonl --queries queries.jsonl",
}

func (f *modelsBench) Flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.corpus, "corpus", nil, "memories, a JSON object a line")
	c.Flags().StringArrayVar(&f.queries, "queries", nil, "questions about them, a JSON object a line")
	c.Flags().StringSliceVar(&f.only, "model", nil, "ask with these models alone")
}

func (f *modelsBench) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	ask := bench.Recall{Corpus: f.corpus, Queries: f.queries, Embedder: "none", K: 20, Asks: 5}
	if err := ask.Validate(); err != nil {
		return nil, err
	}
	var r modelsReport
	for i := range f.corpus {
		set, err := bench.ReadSet(f.corpus[i], f.queries[i])
		if err != nil {
			return nil, err
		}
		words, err := ask.Set(ctx, l.Streams, set, json.NewEncoder(io.Discard))
		if err != nil {
			return nil, err
		}
		for _, m := range syntheticModels {
			if len(f.only) > 0 && !slices.Contains(f.only, m.name) {
				continue
			}
			m.embed(&set)
			ask.Against, ask.Peer = []string{"model"}, func(context.Context, *bench.Rig, string, []bench.CorpusLine) (bench.Answers, error) {
				return byVector(set.Lines), nil
			}
			got, err := ask.Set(ctx, l.Streams, set, json.NewEncoder(io.Discard))
			if err != nil {
				return nil, err
			}
			row := modelRow{Corpus: set.Corpus, Model: m.name, Words: words.Rows[len(words.Rows)-1].Recall10}
			for _, d := range got.Against {
				if d.Measure == "recall@10" {
					row.Alone, row.Both = d.Theirs, d.Ours
				}
			}
			row.Lost = max(row.Words, row.Alone) - row.Both
			r.Rows = append(r.Rows, row)
		}
		ask.Against = nil
	}
	return &r, nil
}

// embed sets the vectors of all lines and questions of a set.
func (m *syntheticModel) embed(set *bench.Set) {
	rng, words := rand.New(rand.NewPCG(3, 4)), wordVectors{}
	random := func() []float64 {
		v := make([]float64, syntheticDims)
		for i := range v {
			v[i] = rng.NormFloat64() / math.Sqrt(syntheticDims)
		}
		return v
	}
	vectors, byConv, at := make([][]float64, len(set.Lines)), map[string][]int{}, map[[2]string]int{}
	for i, l := range set.Lines {
		vectors[i] = random()
		byConv[l.Conv] = append(byConv[l.Conv], i)
		at[[2]string{l.Conv, l.ID}] = i
		add(vectors[i], words.of(l.Text), m.wordWeight)
	}
	for i := range set.Questions {
		q := &set.Questions[i]
		v, near := random(), byConv[q.Conv]
		if m.similarity > 0 {
			for _, id := range q.Evidence {
				if line, ok := at[[2]string{q.Conv, id}]; ok {
					add(vectors[line], v, m.similarity*(.5+rng.Float64()))
				}
			}
			for range m.wrongLines {
				add(vectors[near[rng.IntN(len(near))]], v, m.similarity*(.5+rng.Float64()))
			}
		}
		add(v, words.of(q.Query), m.wordWeight)
		q.Embedding = unit(v)
	}
	for i := range set.Lines {
		set.Lines[i].Embedding = unit(vectors[i])
	}
}

func add(to, v []float64, share float64) {
	for i := range to {
		to[i] += share * v[i]
	}
}

// wordVectors caches a random direction for each word.
type wordVectors map[string][]float64

// of returns the mean direction of a text's words.
func (h wordVectors) of(text string) []float64 {
	v := make([]float64, syntheticDims)
	for _, w := range strings.Fields(strings.ToLower(text)) {
		w = strings.Trim(w, ".,?!;:\"'()")
		if h[w] == nil {
			sum := fnv.New64a()
			sum.Write([]byte(w))
			rng := rand.New(rand.NewPCG(sum.Sum64(), 5))
			h[w] = make([]float64, syntheticDims)
			for i := range h[w] {
				h[w][i] = rng.NormFloat64()
			}
		}
		add(v, h[w], 1)
	}
	if n := norm(v); n > 0 {
		for i := range v {
			v[i] /= n
		}
	}
	return v
}

func norm(v []float64) (n float64) {
	for _, x := range v {
		n += x * x
	}
	return math.Sqrt(n)
}

func unit(v []float64) []float32 {
	n, u := norm(v), make([]float32, len(v))
	for i := range v {
		u[i] = float32(v[i] / n)
	}
	return u
}

// byVector returns Answers that rank the lines of a question's conversation by cosine.
func byVector(lines []bench.CorpusLine) bench.Answers {
	byConv := map[string][]int{}
	for i, l := range lines {
		byConv[l.Conv] = append(byConv[l.Conv], i)
	}
	type found struct {
		id     string
		cosine float32
	}
	return func(q bench.QueryLine, k int) ([]string, error) {
		var all []found
		for _, i := range byConv[q.Conv] {
			f := found{id: lines[i].ID}
			for d, x := range lines[i].Embedding {
				f.cosine += x * q.Embedding[d]
			}
			all = append(all, f)
		}
		slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.cosine, a.cosine) })
		ids := make([]string, min(k, len(all)))
		for i := range ids {
			ids[i] = all[i].id
		}
		return ids, nil
	}
}

func (r *modelsReport) Print(a *cli.Streams) error {
	for i, m := range r.Rows {
		if i == 0 || m.Corpus != r.Rows[i-1].Corpus {
			fmt.Fprintf(a.Out, "%s\n%-16s %8s %8s %8s %8s\n", m.Corpus, "recall@10", "words", "model", "both", "lost")
		}
		fmt.Fprintf(a.Out, "%-16s %8.4f %8.4f %8.4f %8.4f\n", m.Model, m.Words, m.Alone, m.Both, m.Lost)
	}
	return nil
}
