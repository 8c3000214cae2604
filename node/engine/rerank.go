package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/rerank"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// withoutRerank is the signal by which a question disables the reranker.
const withoutRerank = "rerank"

// prepareRerank makes a question return enough rows for the reranker, if this node has one and the question is not
// about the past.
func (s *Service) prepareRerank(q *index.Query, then time.Time) {
	off := slices.Index(q.Without, withoutRerank)
	if off >= 0 {
		q.Without = slices.Delete(slices.Clone(q.Without), off, off+1)
	}
	if s.cfg.Reranker != nil && off < 0 && then.IsZero() && strings.TrimSpace(q.Text) != "" && q.K > 0 {
		q.Deep = rerank.Depth
	}
}

// rerankHits orders the first hits by the reranker's scores, and cuts the list to the requested number. If the
// reranker fails, the order does not change. Scores stay at their positions: the best hit has the highest score, so
// answers of several nodes can be merged by score.
func (s *Service) rerankHits(ctx context.Context, c api.Caller, q *index.Query, hits []index.Hit) []index.Hit {
	if first := hits[:min(len(hits), rerank.Depth)]; len(first) > 1 {
		texts, err := s.textsOf(c.DB, first)
		var scores []float64
		if err == nil {
			scores, err = s.cfg.Reranker.Scores(ctx, q.Text, texts)
		}
		if err == nil {
			reorder(first, scores)
		} else {
			s.log.Debug("not reranked", "err", err)
		}
	}
	return hits[:min(len(hits), q.K)]
}

// reorder sorts hits by a reranker's scores; equal ones stay in order.
func reorder(hits []index.Hit, scores []float64) {
	own := make([]float64, len(hits))
	for i := range hits {
		own[i] = hits[i].Score
		hits[i].Rerank = &index.Reranked{Score: scores[i], Place: i + 1}
	}
	slices.SortStableFunc(hits, func(a, b index.Hit) int { return cmp.Compare(b.Rerank.Score, a.Rerank.Score) })
	for i := range hits {
		hits[i].Score = own[i]
	}
}

// textsOf reads the texts of hits, because the index returns hits without texts.
func (s *Service) textsOf(db oplog.DB, hits []index.Hit) ([]string, error) {
	return state.Get(s.state, func(v *state.View) []string {
		return api.Each(hits, func(h index.Hit) string {
			if m, ok := v.MemoryAt(db, h.Memory.Seq); ok {
				return m.Text
			}
			return ""
		})
	})
}
