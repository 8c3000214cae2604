package main

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
)

// A hundred facts each of a team, a household and a code base, and fifty questions about each, ten of them without an
// answer.
var (
	//go:embed sets/facts-corpus.jsonl
	factLines []byte
	//go:embed sets/facts-queries.jsonl
	factQuestions []byte
)

// factsReport measures how reliable answers and scores are.
type factsReport struct {
	Questions  int       `json:"questions"`
	First      float64   `json:"first"`             // share with an answer in the first row
	Found      float64   `json:"found"`             // share with an answer among the first ten
	Cuts       []factCut `json:"min_scores"`        // by min_score
	Unanswered int       `json:"unanswered"`        // questions without an answer
	Sure       int       `json:"unanswered_sure"`   // of them, those answered with a confidence of .5 or more
	Bins       []factBin `json:"scores"`            // by tenths of the score
	Off        float64   `json:"calibration_error"` // mean difference of score and relevance, weighted by rows
}

type factCut struct {
	Least     float64 `json:"min_score"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	Rows      float64 `json:"rows"` // per question with an answer
}

type factBin struct {
	Rows     int     `json:"rows"`
	Score    float64 `json:"score"`
	Relevant float64 `json:"relevant"`
}

type factsBench struct{}

var factsVerb = bench.Bench{
	Use: "facts", Short: "Ask a list of facts, and say whether scores mean what they say",
	Start: func() bench.Measurement { return factsBench{} },
	Long: `Store 300 facts, ask 150 questions, 30 of which have no answer, and report how many are answered by the first row, what is left
at several values of min_score, and the share of relevant rows by tenths of the score.`,
	Example: "  go run ./cmd/lab facts",
}

func (factsBench) Flags(*cobra.Command) {}

// A factRow is a result row.
type factRow struct {
	score    float64
	relevant bool
}

func (factsBench) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	facts, err := bench.ParseLines[bench.CorpusLine](factLines)
	if err != nil {
		return nil, err
	}
	questions, err := bench.ParseLines[bench.QueryLine](factQuestions)
	if err != nil {
		return nil, err
	}
	cl, ids, err := storeLines(ctx, l, facts)
	if err != nil {
		return nil, err
	}
	r, answers := &factsReport{}, [][]factRow{}
	evidence := 0
	for _, line := range questions {
		q := wire.NewRecall(line.Query)
		q.Namespace, q.SkipReinforce, q.MinScore = &line.Conv, true, new(float64)
		found, _, err := cl.Recall(ctx, q)
		if err != nil {
			return nil, err
		}
		rows := make([]factRow, len(found))
		for i, m := range found {
			rows[i] = factRow{m.Score, slices.Contains(line.Evidence, ids[m.RID])}
		}
		if r.count(rows); len(line.Evidence) == 0 {
			if r.Unanswered++; len(rows) > 0 && rows[0].score >= .5 {
				r.Sure++
			}
			continue
		}
		evidence += len(line.Evidence)
		answers = append(answers, rows)
	}
	r.sum(answers, evidence)
	return r, nil
}

// count adds an answer's rows to the bins of their scores.
func (r *factsReport) count(rows []factRow) {
	if r.Bins == nil {
		r.Bins = make([]factBin, 10)
	}
	for _, row := range rows {
		b := &r.Bins[min(int(row.score*10), 9)]
		b.Rows++
		b.Score += row.score
		if row.relevant {
			b.Relevant++
		}
	}
}

// sum computes the figures over all questions that have an answer.
func (r *factsReport) sum(answers [][]factRow, evidence int) {
	r.Questions = len(answers)
	for _, rows := range answers {
		if len(rows) > 0 && rows[0].relevant {
			r.First += 1 / float64(len(answers))
		}
		if slices.ContainsFunc(rows, func(f factRow) bool { return f.relevant }) {
			r.Found += 1 / float64(len(answers))
		}
	}
	for _, least := range []float64{0, .002, .02, .1} {
		kept, relevant := 0, 0
		for _, rows := range answers {
			for _, row := range rows {
				if row.score >= least {
					if kept++; row.relevant {
						relevant++
					}
				}
			}
		}
		r.Cuts = append(r.Cuts,
			factCut{least, float64(relevant) / float64(max(kept, 1)), float64(relevant) / float64(evidence),
				float64(kept) / float64(len(answers))})
	}
	all := 0
	for i := range r.Bins {
		if b := &r.Bins[i]; b.Rows > 0 {
			r.Off += max(b.Score-b.Relevant, b.Relevant-b.Score)
			all += b.Rows
			b.Score, b.Relevant = b.Score/float64(b.Rows), b.Relevant/float64(b.Rows)
		}
	}
	r.Off /= float64(max(all, 1))
}

func (r *factsReport) Print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%d questions: the first row answers %.3f, one of ten %.3f\n%d questions without an answer: %d are answered with a confidence of .5 or more\n\n",
		r.Questions, r.First, r.Found, r.Unanswered, r.Sure)
	fmt.Fprintf(a.Out, "%9s %9s %9s %9s\n", "min_score", "precision", "recall", "rows")
	for _, c := range r.Cuts {
		fmt.Fprintf(a.Out, "%9.3f %9.3f %9.3f %9.2f\n", c.Least, c.Precision, c.Recall, c.Rows)
	}
	fmt.Fprintf(a.Out, "\n%9s %9s %9s\n", "score", "relevant", "rows")
	for _, b := range r.Bins {
		fmt.Fprintf(a.Out, "%9.2f %9.2f %9d\n", b.Score, b.Relevant, b.Rows)
	}
	fmt.Fprintf(a.Out, "they differ by %.3f\n", r.Off)
	return nil
}
