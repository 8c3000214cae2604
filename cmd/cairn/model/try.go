package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/index/embed/models"
	"github.com/cairndb/cairn/index/vector"
)

// sentences are the test sentences: five pairs. The two of a pair have the same meaning and few words in common.
var sentences = []string{
	"Alice leads the payments team",
	"The person in charge of billing is Alice",
	"The nightly backup failed because the disk was full",
	"No space was left, so last night's copy of the data was not made",
	"She is allergic to peanuts",
	"Nuts make her ill",
	"We deploy every Tuesday morning",
	"A release goes out at the start of each week's second day",
	"The cat sleeps on the warm windowsill",
	"A kitten naps in the sun by the window",
}

// A sentencePair is two of the sentences and the cosine of their vectors.
type sentencePair struct {
	Cosine float64 `json:"cosine"`
	A      string  `json:"a"`
	B      string  `json:"b"`
}

// TestResult is the output of `cairn embed test --json`.
type TestResult struct {
	Model       string         `json:"model"`
	Dim         int            `json:"dimensions"`
	Nearest     []sentencePair `json:"nearest"`
	PairsFound  int            `json:"pairs_found"` // sentences whose nearest one is their partner
	Millis      float64        `json:"ms_a_text"`
	TextsSecond float64        `json:"texts_a_second"`
}

// speedTestTime is the duration of each speed measurement.
const speedTestTime = 500 * time.Millisecond

func embedTest(s *cli.Streams) *cobra.Command {
	var home string
	c := cli.WithJSON(&cobra.Command{Use: "test NAME|DIR", Short: "Embed ten sentences: which are near, and how fast",
		Args: cobra.ExactArgs(1), ValidArgs: models.Names(), RunE: func(c *cobra.Command, args []string) error {
			e, err := Open(home, args[0])
			if err != nil {
				return err
			}
			r := TestResult{Model: e.Identity().String(), Dim: e.Identity().Dim}
			vecs, err := e.Embed(c.Context(), sentences)
			if err != nil {
				return fmt.Errorf("embed ten sentences: %w", err)
			}
			r.Nearest, r.PairsFound = nearest(vecs)
			alone, err := textsPerSecond(c.Context(), e, slices.Collect(slices.Chunk(sentences, 1))) // one by one, like questions
			if err != nil {
				return err
			}
			r.Millis = 1e3 / alone
			if r.TextsSecond, err = textsPerSecond(c.Context(), e, [][]string{slices.Repeat(sentences, 6)}); err != nil { // in batches, like background embedding
				return err
			}
			if cli.AsJSON(c) {
				return s.JSON(r)
			}
			fmt.Fprintf(s.Out, "%s\n\n", r.Model)
			for _, l := range r.Nearest {
				fmt.Fprintf(s.Out, "%.3f  %s\n       %s\n", l.Cosine, l.A, l.B)
			}
			fmt.Fprintf(s.Out, "\n%d of %d sentences are nearest to the one with the same meaning\n%.2f ms a text alone, %.0f texts a second in batches\n",
				r.PairsFound, len(sentences), r.Millis, r.TextsSecond)
			return nil
		}})
	cli.HomeFlag(c.Flags(), &home, homeUsage)
	return c
}

// textsPerSecond embeds the batches repeatedly and returns the rate.
func textsPerSecond(ctx context.Context, e embed.Embedder, batches [][]string) (float64, error) {
	start, texts := time.Now(), 0
	for time.Since(start) < speedTestTime {
		for _, batch := range batches {
			if _, err := e.Embed(ctx, batch); err != nil {
				return 0, err
			}
			texts += len(batch)
		}
	}
	return float64(texts) / time.Since(start).Seconds(), nil
}

// nearest returns the five most similar pairs, and the number of sentences whose nearest one is their partner.
func nearest(vecs [][]float32) (list []sentencePair, found int) {
	for i := range vecs {
		best, at := math.Inf(-1), -1
		for j := range vecs {
			if i == j {
				continue
			}
			cos := cosine(vecs[i], vecs[j])
			if cos > best {
				best, at = cos, j
			}
			if i < j {
				list = append(list, sentencePair{cos, sentences[i], sentences[j]})
			}
		}
		if at == i^1 {
			found++
		}
	}
	slices.SortStableFunc(list, func(a, b sentencePair) int { return cmp.Compare(b.Cosine, a.Cosine) })
	return list[:len(sentences)/2], found
}

// cosine returns the cosine of two vectors; 0 if their lengths differ or one is zero.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	lengths := math.Sqrt(vector.Dot(a, a) * vector.Dot(b, b))
	if lengths == 0 {
		return 0
	}
	return vector.Dot(a, b) / lengths
}
