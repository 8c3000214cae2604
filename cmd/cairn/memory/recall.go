package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/client"
	"github.com/cairndb/cairn/wire/field"
)

// A hit contains the fields of a result that are printed. Shares and Reranked are set with --explain.
type hit struct {
	RID      string        `json:"rid"`
	Score    float64       `json:"score"`
	Text     string        `json:"text"`
	Created  float64       `json:"created_at"`
	Why      []string      `json:"why_retrieved"`
	Shares   api.Scores    `json:"scores"`
	Reranked *api.Reranked `json:"reranked"`
}

// recallFlags maps flags of recall to request fields. --since and --until are separate: together they are
// time_window.
var recallFlags = map[string]string{
	"top": "top_k", "without": "without", "diverse": "diverse", "min-score": "min_score", "namespace": "namespace", "domain": "domain",
	"type": "memory_type", "as-of": "as_of", "include-superseded": "include_superseded", "filter": "filter",
	"consistency": "consistency", "min-index": "min_index",
}

func recall(s *cli.Streams) *cobra.Command {
	var t cli.Target
	given := Given{}
	var explain bool
	dates := map[string]*string{} // the values of --since and --until
	c := &cobra.Command{
		Use: "recall QUESTION...", Short: "Find memories", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			body := given.Body(api.Recall.Op.Takes())
			body["query"], body["explain"] = strings.Join(args, " "), explain
			if top := given["top_k"]; len(top) > 0 {
				if n, err := strconv.Atoi(top[0]); err == nil && n < 1 {
					return cli.Usagef("--top %d: want at least 1", n)
				}
			}
			since, until := 0.0, 0.0
			for name, to := range map[string]*float64{"since": &since, "until": &until} {
				if *dates[name] == "" {
					continue
				}
				at, err := field.ParseWhen(*dates[name], time.Now())
				if err != nil {
					return cli.Usagef("--%s %q: %w", name, *dates[name], err)
				}
				*to = field.Seconds(at)
			}
			if since != 0 && until != 0 && since > until {
				return cli.Usage(errors.New("--since is after --until"))
			}
			if since != 0 || until != 0 {
				body["time_window"] = []float64{since, cmp.Or(until, field.Seconds(time.Now().AddDate(100, 0, 0)))}
			}
			var raw json.RawMessage
			if err := sendRecall(c.Context(), &t, body, &raw); err != nil {
				return err
			}
			if t.JSON {
				return s.JSON(raw)
			}
			return printRecall(s, raw, explain)
		},
	}
	t.Flags(c)
	t.DatabaseFlag(c)
	given = Flags(c.Flags(), api.Recall.Op, recallFlags)
	c.Flags().BoolVar(&explain, "explain", false, "show what each score is made of")
	for name, help := range map[string]string{"since": "only memories created at this `date` or later",
		"until": "only memories created at this `date` or before"} {
		dates[name] = c.Flags().String(name, "", help+dateFormats)
	}
	return c
}

// sendRecall sends the recall over the wire protocol, or with --json over HTTP, where answers have no size limit.
func sendRecall(ctx context.Context, t *cli.Target, body map[string]any, answer *json.RawMessage) error {
	if t.JSON {
		return t.Get(ctx, api.Recall.Method(), t.WithDatabase(api.Recall.Path()), body, answer)
	}
	return t.With(ctx, func(ctx context.Context, cl *client.Client) error {
		return cl.Query(ctx, api.Recall.Name, body, answer)
	})
}

// recallAnswer contains the fields of the answer that are printed.
type recallAnswer struct {
	Results    []hit          `json:"results"`
	Considered uint64         `json:"considered"`
	Below      uint64         `json:"below_min_score"`
	Filtered   []api.Filtered `json:"filtered"`
}

func printRecall(s *cli.Streams, raw json.RawMessage, explain bool) error {
	var f recallAnswer
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}
	if len(f.Results) == 0 {
		fmt.Fprintln(s.Err, "nothing found:", f.emptyReason())
	}
	for _, by := range f.Filtered {
		fmt.Fprintf(s.Err, "filter %s leaves %s\n", by.Filter, api.Many(by.Left, "memory", "memories"))
	}
	for i, r := range f.Results {
		if !explain && i == unlikely(f.Results) {
			fmt.Fprintf(s.Err, "unlikely (--min-score %.2g leaves them out):\n", f.Results[0].Score/10)
		}
		printHit(s, r)
		if !explain {
			continue
		}
		fmt.Fprintf(s.Out, "       from %s\n", formatShares(r.Shares))
		if m := r.Reranked; m != nil {
			fmt.Fprintf(s.Out, "       the reranker gave it %.3f; it was number %d before\n", m.Score, m.Place)
		}
	}
	return nil
}

// unlikely returns the index of the first hit that scores less than a tenth of the top hit; -1 if there is none or
// the top hit itself scores low.
func unlikely(hits []hit) int {
	if len(hits) == 0 || hits[0].Score < .5 {
		return -1
	}
	return slices.IndexFunc(hits, func(h hit) bool { return h.Score < hits[0].Score/10 })
}

func printHit(s *cli.Streams, h hit) {
	at := time.UnixMicro(int64(h.Created * 1e6)).Local().Format(time.DateTime)
	why := slices.Clone(h.Why)
	for i, w := range why {
		if words, ok := reasons[w]; ok {
			why[i] = words
		}
	}
	why = slices.DeleteFunc(why, func(w string) bool { return w == "" })
	text := strings.ReplaceAll(strings.ReplaceAll(h.Text, "\n", "\n       "), "       \n", "\n")
	under := strings.TrimSpace(h.RID + "  " + at + "  " + strings.Join(why, ", "))
	fmt.Fprintf(s.Out, "%.3f  %s\n       %s\n", h.Score, text, under)
}

// reasons maps reason codes of an answer to words. Codes that mean nothing to users map to blank and are omitted.
var reasons = map[string]string{"keyword_match": "same words", "context_match": "next to a match", "session_match": "same conversation",
	"speaker_match": "said by the person in the question", "date_match": "has the date in the question",
	"time_match": "has a time", "matched query": "", "fts_sourced": ""}

// emptyReason explains an empty answer.
func (f *recallAnswer) emptyReason() string {
	switch {
	case f.Below > 0:
		return fmt.Sprintf("--min-score leaves out %s", api.Many(int(f.Below), "memory", "memories"))
	case f.Considered > 0:
		return "none of what was examined, " + api.Many(int(f.Considered), "memory", "memories") + ", matches the question"
	}
	return "no memory that passes the filters shares a word with the question or is close in meaning"
}

// formatShares lists the nonzero parts of a score, which add up to the score.
func formatShares(s api.Scores) string {
	var parts []string
	for _, p := range []struct {
		name string
		of   float64
	}{{"the same words", s.Words}, {"what was said around it", s.Passage + s.Around}, {"the same conversation", s.Session},
		{"likeness", s.Vector},
		{"relations", s.Graph}, {"freshness and importance", s.Worth}} {
		if math.Abs(p.of) >= .0005 {
			parts = append(parts, fmt.Sprintf("%s %.3f", p.name, p.of))
		}
	}
	return strings.Join(parts, " + ")
}
