package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
	"github.com/cairndb/cairn/wire/field"
)

func (a *app) remember() *cobra.Command {
	var t cli.Target
	m := wire.NewRemember("")
	var metadata string
	c := &cobra.Command{
		Use: "remember TEXT...", Short: "Store a memory; - reads it from standard input", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			m.Text = strings.Join(args, " ")
			if m.Text == "-" {
				b, err := io.ReadAll(io.LimitReader(a.Input(c.Context()), 16<<20))
				if err != nil {
					return err
				}
				m.Text = strings.TrimRight(string(b), "\n")
			}
			switch {
			case strings.TrimSpace(m.Text) == "":
				return cli.Usagef("there is no text to remember")
			case m.Importance < 0 || m.Importance > 1:
				return cli.Usagef("--importance %g: 0 to 1", m.Importance)
			case m.Valence < -1 || m.Valence > 1:
				return cli.Usagef("--valence %g: -1 to 1", m.Valence)
			case m.HalfLife <= 0:
				return cli.Usagef("--half-life %g: more than 0 hours", m.HalfLife)
			}
			if metadata != "" {
				if !json.Valid([]byte(metadata)) {
					return cli.Usagef("--metadata is not JSON")
				}
				m.Metadata = wire.JSON(metadata)
			}
			return t.With(c.Context(), func(ctx context.Context, cl *client.Client) error {
				rid, err := cl.Remember(ctx, m)
				if err != nil {
					return err
				}
				if t.JSON {
					return a.JSON(map[string]any{"rid": rid, "index": cl.Index()})
				}
				fmt.Fprintln(a.Out, rid)
				return nil
			})
		},
	}
	t.Flags(c)
	t.InDatabase(c)
	f := c.Flags()
	f.StringVar(&m.MemoryType, "type", m.MemoryType, "episodic, semantic, procedural, emotional, or your own")
	f.StringVarP(&m.Namespace, "namespace", "n", "", "namespace")
	f.StringVar(&m.Domain, "domain", "", "domain")
	f.StringVar(&m.Source, "source", m.Source, "who says it")
	f.StringVar(&m.SessionID, "session", "", "session it belongs to")
	f.Float64Var(&m.Importance, "importance", m.Importance, "0 to 1")
	f.Float64Var(&m.Valence, "valence", 0, "-1 (bad) to 1 (good)")
	f.Float64Var(&m.HalfLife, "half-life", m.HalfLife, "hours after which it counts half")
	f.StringVar(&metadata, "metadata", "", "JSON to keep with it")
	f.StringVar(&m.IdempotencyKey, "key", "", "idempotency key: the same key stores once")
	return c
}

type recalled struct {
	Results []hit    `json:"results"`
	Total   int      `json:"total"`
	Index   uint64   `json:"index"`
	Lag     *float64 `json:"lag_seconds"` // null when the node heard no leader

	Considered    uint64 `json:"considered"`      // memories that were looked at
	BelowMinScore uint64 `json:"below_min_score"` // of them, those that match and score less than --min-score
}

type hit struct {
	RID       string          `json:"rid"`
	Score     float64         `json:"score"`
	Text      string          `json:"text"`
	Type      string          `json:"memory_type"`
	Namespace string          `json:"namespace"`
	Created   float64         `json:"created_at"`
	Metadata  json.RawMessage `json:"metadata"`
	Why       []string        `json:"why_retrieved"`
}

func (a *app) recall() *cobra.Command {
	var t cli.Target
	q := wire.NewRecall("")
	var namespace, domain, kind string
	dates := map[string]*string{}
	c := &cobra.Command{
		Use: "recall QUESTION...", Short: "Find memories", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if q.Query = strings.Join(args, " "); q.TopK < 1 {
				return cli.Usagef("--top %d: at least 1", q.TopK)
			}
			for name, to := range map[string]*float64{"since": &q.Since, "until": &q.Until, "as-of": &q.AsOf} {
				if *dates[name] == "" {
					continue
				}
				at, err := field.ParseDate(*dates[name])
				if err != nil {
					return cli.Usagef("--%s %q: %w", name, *dates[name], err)
				}
				*to = field.Seconds(at)
			}
			if q.Since != 0 && q.Until != 0 && q.Since > q.Until {
				return cli.Usage(errors.New("--since is after --until"))
			}
			for _, o := range []struct {
				from string
				to   **string
			}{{namespace, &q.Namespace}, {domain, &q.Domain}, {kind, &q.MemoryType}} {
				if o.from != "" {
					*o.to = &o.from
				}
			}
			return t.With(c.Context(), func(ctx context.Context, cl *client.Client) error {
				results, end, err := cl.Recall(ctx, q)
				if err != nil {
					return err
				}
				return a.printRecall(t.JSON, results, end)
			})
		},
	}
	t.Flags(c)
	t.InDatabase(c)
	f := c.Flags()
	f.IntVarP(&q.TopK, "top", "k", q.TopK, "how many at the most")
	f.StringSliceVar(&q.Without, "without", nil, "signals that are not to count, such as passage, vector, graph or freshness")
	f.BoolVar(&q.Diverse, "diverse", false, "leave out what nearly repeats something better")
	f.Float64Var(&q.MinScore, "min-score", 0, "leave out what scores less, on the scale of the scores shown; what does not match is never shown")
	f.StringVarP(&namespace, "namespace", "n", "", "only this namespace")
	f.StringVar(&domain, "domain", "", "only this domain")
	f.StringVar(&kind, "type", "", "only this type")
	for name, help := range map[string]string{"since": "only memories created at this date or later", "until": "only memories created at this date or before",
		"as-of": "what was believed at this date"} {
		dates[name] = f.String(name, "", help+": RFC 3339 or Unix seconds")
	}
	f.StringVar(&q.Consistency, "consistency", "", "stale (default) or linearizable")
	f.Uint64Var(&q.MinIndex, "min-index", 0, "wait until the node has reached this log index, which writes print with --json")
	return c
}

func (a *app) printRecall(asJSON bool, results []wire.RecallResult, end wire.RecallEnd) error {
	if asJSON {
		out := recalled{Results: []hit{}, Total: end.Total, Index: end.Index, Lag: end.LagSeconds, Considered: end.Considered, BelowMinScore: end.BelowMinScore}
		for _, r := range results {
			h := hit{r.RID, r.Score, r.Text, r.MemoryType, r.Namespace, r.CreatedAt, json.RawMessage(r.Metadata), r.WhyRetrieved}
			if len(h.Metadata) == 0 {
				h.Metadata = json.RawMessage("null")
			}
			out.Results = append(out.Results, h)
		}
		return a.JSON(out)
	}
	if len(results) == 0 {
		fmt.Fprintln(a.Err, "nothing found:", nothingFound(end))
	}
	for _, r := range results {
		at := time.UnixMicro(int64(r.CreatedAt * 1e6)).Local().Format(time.DateTime)
		fmt.Fprintf(a.Out, "%.3f  %s\n       %s  %s  %s\n", r.Score, r.Text, r.RID, at, strings.Join(r.WhyRetrieved, ", "))
	}
	return nil
}

// nothingFound says why an answer is empty.
func nothingFound(end wire.RecallEnd) string {
	switch {
	case end.BelowMinScore > 0:
		return fmt.Sprintf("%d memories match and score less than --min-score", end.BelowMinScore)
	case end.Considered > 0:
		return fmt.Sprintf("of %d memories looked at none matches the question", end.Considered)
	}
	return "no memory that passes the filters has a word of the question or is like it"
}

func (a *app) forget() *cobra.Command {
	var t cli.Target
	c := &cobra.Command{
		Use: "forget RID", Short: "Forget a memory", Args: cobra.ExactArgs(1),
		Long: `Forget a memory: it is recalled and listed no more, and what its text claimed is taken back. It is not erased: it can still
be read by its id, its past can be asked about, and its text stays in the files and backups of all nodes. To erase, purge:
POST /v1/admin/purge, with a token of scope owner.`,
		RunE: func(c *cobra.Command, args []string) error {
			return t.With(c.Context(), func(ctx context.Context, cl *client.Client) error {
				found, err := cl.Forget(ctx, args[0])
				if err != nil {
					return err
				}
				if t.JSON {
					if err := a.JSON(map[string]any{"rid": args[0], "found": found, "index": cl.Index()}); err != nil {
						return err
					}
				} else if found {
					fmt.Fprintln(a.Out, "forgotten")
				}
				if !found {
					return fmt.Errorf("no memory %s", args[0])
				}
				return nil
			})
		},
	}
	t.Flags(c)
	t.InDatabase(c)
	return c
}

func (a *app) relate() *cobra.Command {
	var t cli.Target
	m := wire.Relate{Weight: 1}
	c := &cobra.Command{
		Use: "relate ENTITY RELATION TARGET", Short: "Put two entities into a relation", Args: cobra.ExactArgs(3),
		Example: "  cairn relate Alice leads payments",
		RunE: func(c *cobra.Command, args []string) error {
			m.Entity, m.Relationship, m.Target = args[0], args[1], args[2]
			return t.With(c.Context(), func(ctx context.Context, cl *client.Client) error {
				id, err := cl.Relate(ctx, m)
				if err != nil {
					return err
				}
				if t.JSON {
					return a.JSON(map[string]any{"edge_id": id, "index": cl.Index()})
				}
				fmt.Fprintln(a.Out, id)
				return nil
			})
		},
	}
	t.Flags(c)
	t.InDatabase(c)
	c.Flags().Float64Var(&m.Weight, "weight", m.Weight, "weight of the relation")
	return c
}
