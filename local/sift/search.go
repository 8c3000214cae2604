package sift

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// hit is a search result. ID and SummaryID are equal, because clients pass either to get and timeline.
type hit struct {
	ID        oplog.Seq      `json:"id"`
	SummaryID oplog.Seq      `json:"summaryId"`
	EventID   *oplog.EventID `json:"eventId"`
	Text      string         `json:"text"`
	TS        int64          `json:"ts"`
	Score     float64        `json:"score"`
	Recency   float64        `json:"recency"`
	Tool      string         `json:"tool,omitempty"`
	SessionID string         `json:"sessionId,omitempty"`
}

// recencyFloor is the lowest recency. It keeps age alone from hiding an old result.
const recencyFloor = 0.4

func recency(now, ts int64, tool string) float64 {
	age := float64(max(now-ts, 0))
	return recencyFloor + (1-recencyFloor)*math.Exp(-age/float64(halfLife(tool).Milliseconds()))
}

const defaultK, maxK = 10, 1000

func search(ctx context.Context, c *call) (any, error) {
	hits, err := c.search(ctx)
	return kit.Object{"hits", hits}, err
}

func (c *call) search(ctx context.Context) ([]hit, error) {
	query, ok := c.text("query")
	if !ok {
		return nil, badRequest("search: query required")
	}
	k, err := c.count("k", defaultK, maxK)
	if err != nil || k == 0 {
		return []hit{}, err
	}
	if !strings.ContainsFunc(query, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		all, err := c.newest(ctx, k)
		return api.Each(all, func(r row) hit {
			h := r.hit(0)
			h.Score = h.Recency
			return h
		}), err
	}
	rows, score, err := c.find(ctx, api.SearchRequest{Text: query, K: k, Quiet: c.fields.Flag("skip_reinforce", false)})
	hits := api.Each(rows, func(r row) hit { return r.hit(score[r.ID]) })
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), compareNewest(a.TS, b.TS, a.ID, b.ID))
	})
	return hits, err
}

// find searches the memories that the workspace sees. It returns the rows in the order of the search, and the scores.
func (c *call) find(ctx context.Context, q api.SearchRequest) (rows []row, score map[oplog.Seq]float64, err error) {
	q.Private, q.Within = privatePrefix, c.ns
	if c.visible().Alone {
		q.Namespace = c.ns
	}
	found, err := api.Search.Ask(ctx, c.s.cfg.Memory, &q)
	if err != nil {
		return nil, nil, err
	}
	score = map[oplog.Seq]float64{}
	ids := api.Each(found.Hits, func(h api.Hit) oplog.Seq {
		score[h.Memory.Seq] = h.Score
		return h.Memory.Seq
	})
	rows, err = c.rowsByID(ctx, ids)
	return rows, score, err
}

// hit converts a row to a search result.
func (r row) hit(score float64) hit {
	return hit{r.ID, r.ID, r.EventID, r.Text, r.TS, score, recency(time.Now().UnixMilli(), r.TS, r.Tool), r.Tool, r.SessionID}
}

// streamSearch answers a search in several frames: the hits, then the end.
func streamSearch(ctx context.Context, c *call) (any, error) {
	hits, err := c.search(ctx)
	if err != nil {
		return nil, err
	}
	for _, stage := range []string{"bm25", "final"} {
		c.out.parts = append(c.out.parts, kit.Object{"partial", kit.Object{"stage", stage, "hits", hits}})
	}
	return kit.Object{"done", true}, nil
}
