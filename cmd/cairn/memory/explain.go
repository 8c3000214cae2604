package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
)

// explained asks a gateway, for the wire's answer has no room for the parts of a score.
func explained(ctx context.Context, s *cli.Streams, t *cli.Target, q *wire.Recall, given Given) error {
	body := given.Body(api.Recall.Op.Takes())
	body["query"], body["explain"] = q.Query, true
	if q.Since != 0 || q.Until != 0 {
		until := q.Until
		if until == 0 {
			until = float64(time.Now().Unix()) + 100*365*24*3600
		}
		body["time_window"] = []float64{q.Since, until}
	}
	var raw json.RawMessage
	if err := t.Get(ctx, api.Recall.Method(), t.In(api.Recall.Path()), body, &raw); err != nil {
		return err
	}
	if t.JSON {
		return s.JSON(raw)
	}
	var found struct {
		Results []struct {
			Hit
			api.Explained
		}
		Considered uint64 `json:"considered"`
		Below      uint64 `json:"below_min_score"`
	}
	if err := json.Unmarshal(raw, &found); err != nil {
		return err
	}
	if len(found.Results) == 0 {
		fmt.Fprintln(s.Err, "nothing found:", nothingFound(wire.RecallEnd{Considered: found.Considered, BelowMinScore: found.Below}))
	}
	for _, r := range found.Results {
		printHit(s, r.Hit)
		fmt.Fprintf(s.Out, "       from %s\n", shares(r.Shares))
		if m := r.Reranked; m != nil {
			fmt.Fprintf(s.Out, "       the reranker gave it %.3f; it was number %d before\n", m.Score, m.Place)
		}
	}
	return nil
}

// shares are the parts of a score that are not nothing; they add up to it.
func shares(s api.Scores) string {
	var parts []string
	for _, p := range []struct {
		name string
		of   float64
	}{{"the same words", s.Words}, {"what was said around it", s.Passage + s.Around}, {"the same conversation", s.Session}, {"likeness", s.Vector},
		{"relations", s.Graph}, {"freshness and importance", s.Worth}} {
		if math.Abs(p.of) >= .0005 {
			parts = append(parts, fmt.Sprintf("%s %.3f", p.name, p.of))
		}
	}
	return strings.Join(parts, " + ")
}
