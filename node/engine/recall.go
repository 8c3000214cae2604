package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/prompt"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/oplog/state"
)

func (s *Service) recall(ctx context.Context, c api.Caller, q *api.RecallRequest) (*api.Recalled, error) {
	return s.answerQuestion(ctx, c, &q.Question, q.AsOf.Time, q.Explain)
}

func (s *Service) recallAsOf(ctx context.Context, c api.Caller, q *api.RecallAsOfRequest) (*api.Recalled, error) {
	return s.answerQuestion(ctx, c, &q.Question, q.AsOf.Time, q.Explain)
}

// answerQuestion answers a question, as of now or as of a date.
func (s *Service) answerQuestion(ctx context.Context, c api.Caller, asked *api.Question, then time.Time, explain bool) (*api.Recalled, error) {
	q, err := query(c, asked)
	if err != nil {
		return nil, err
	}
	q.Explain = explain
	q.Bare = asked.Bare && then.IsZero() // an earlier text is compared as a whole
	s.prepareRerank(&q, then)
	var a Answer
	if then.IsZero() {
		if q.Lists() {
			a, err = s.search(ctx, c, q)
		} else {
			a, err = s.searchCurrent(ctx, c, q, asked)
		}
		if err == nil && !q.Lists() && slices.Equal(q.Types, []string{selfModel}) {
			err = s.addSelfModels(ctx, c, q, &a)
		}
	} else {
		a, err = s.searchAsOf(ctx, c, q, then)
	}
	if err == nil && !q.Bare {
		err = s.addCorrectionTimes(c, a.Hits)
	}
	if err != nil {
		return nil, err
	}
	r := &api.Recalled{Results: []api.Result{}, Total: len(a.Hits), Confidence: a.Info.Confidence,
		Index: a.Index, Lag: a.Lag,
		Considered: a.Info.Considered, Below: a.Info.Below, Left: a.Info.Cut, Bounded: a.Bounded}
	if r.Hints, err = s.hints(c, &q, a.Hits); err != nil {
		return nil, err
	}
	for _, l := range a.Info.Left {
		r.Filtered = append(r.Filtered, api.Filtered{Filter: l.Filter, Left: l.Rows})
	}
	if q.Bare {
		r.Pages = s.pages(ctx, c, &q.Filter, a.Hits, explain)
		return r, nil
	}
	r.Results = api.Each(a.Hits, func(h index.Hit) api.Result {
		row := resultOf(h, explain)
		if asked.Whole {
			row.Whole = new(memoryOf(h.Memory))
		}
		return row
	})
	if explain {
		err = s.explainOrigins(c, a.Hits, r.Results)
	}
	if rows := r.Results; asked.Bare { // an earlier text was read with the others
		r.Pages = func(yield func([]api.Result, error) bool) { yield(rows, nil) }
	}
	return r, err
}

// searchCurrent searches, and marks and orders what it finds by the related memories in the state. Rows that are left
// out because their successors are in the answer take no place in it: it searches deeper, until the answer is full.
func (s *Service) searchCurrent(ctx context.Context, c api.Caller, q index.Query, asked *api.Question) (a Answer, err error) {
	for k := q.K; ; k = min(4*k, index.MaxK) {
		deeper := q
		if deeper.K = k; k > q.K {
			c.Quiet = true // the first search has reinforced
		}
		if a, err = s.search(ctx, c, deeper); err != nil {
			return a, err
		}
		more := len(a.Hits) == k && k < index.MaxK
		if err = s.annotateHits(c, &q, asked, &a); err != nil || len(a.Hits) >= q.K || !more || a.Info.Cut > 0 {
			a.Hits = a.Hits[:min(len(a.Hits), q.K)]
			a.Info.Cut = min(a.Info.Cut, q.K-len(a.Hits)) // a deeper search had more than this answer
			return a, err
		}
	}
}

// annotateHits marks and orders an answer's rows by the related memories in the state.
func (s *Service) annotateHits(c api.Caller, q *index.Query, asked *api.Question, a *Answer) error {
	hits, left, err := s.preferSuccessors(c, q, a.Hits, asked.Superseded)
	if err != nil {
		return err
	}
	a.Info.Cut += left
	if err := s.addCorrectionTimes(c, hits); err != nil {
		return err
	}
	if a.Hits, err = s.markConflicts(c, q, hits); err != nil {
		return err
	}
	markOutdated(asked.Text, a.Hits)
	return nil
}

// selfModel is the kind of memories in which an agent describes itself. Agents ask for them at the start of their
// tasks, with a question about that.
const selfModel = "self_model"

// addSelfModels adds the newest memories of that kind after the matching ones, up to the requested number.
func (s *Service) addSelfModels(ctx context.Context, c api.Caller, q index.Query, a *Answer) error {
	q.Text, q.Vector, q.Deep = "", nil, 0
	rest, err := s.search(ctx, c, q)
	if err != nil {
		return err
	}
	for _, h := range rest.Hits {
		there := slices.ContainsFunc(a.Hits, func(o index.Hit) bool { return o.Memory.Seq == h.Memory.Seq })
		if len(a.Hits) < q.K && !there {
			a.Hits = append(a.Hits, h)
		}
	}
	return nil
}

// listAllWords lists the questions by which clients request a list of all memories.
var listAllWords = []string{"*", "everything"}

// query returns the index query for a caller's question.
func query(c api.Caller, asked *api.Question) (index.Query, error) {
	q := index.Query{Text: asked.Text, K: asked.K, Expand: asked.Expand, Vector: asked.Embedding, Quiet: asked.Quiet,
		Without: asked.Without, Diverse: asked.Diverse, MinScore: asked.MinScore, Skip: asked.Skip,
		Filter: index.Filter{Types: asked.Types, Namespace: strings.TrimSpace(asked.Namespace), Spaces: c.Spaces,
			Domain: asked.Domain, Source: asked.Source, Session: asked.Session,
			Consolidated: asked.Consolidated, Since: timeOrZero(asked.Window.From), Until: timeOrZero(asked.Window.To)}}
	if slices.Contains(listAllWords, strings.ToLower(strings.TrimSpace(asked.Text))) && len(asked.Embedding) == 0 {
		q.Text = ""
	}
	var err error
	if q.Match, err = parseFilter(asked.Filter); err != nil {
		return q, err
	}
	if asked.Type != "" {
		q.Types = append(slices.Clip(q.Types), asked.Type)
	}
	switch {
	case q.K > index.MaxK:
		return q, &api.Refusal{Code: "invalid_request", Err: oplog.Errorf(oplog.Invalid, "top_k is %d: at most %d", q.K, index.MaxK),
			More: map[string]any{"reason": "top_k", "hard_top_k_cap": index.MaxK}}
	case q.K < 0:
		return q, oplog.Errorf(oplog.Invalid, "top_k is %d: at least 0", q.K)
	case !(q.MinScore >= 0) || math.IsInf(q.MinScore, 0): // no number either
		return q, oplog.Errorf(oplog.Invalid, "min_score is %g: at least 0", q.MinScore)
	}
	return q, nil
}

// parseFilter reads the filter of a request; nil for none.
func parseFilter(raw []byte) (*filter.Filter, error) {
	f, err := filter.Parse(raw)
	if err != nil {
		return nil, oplog.Errorf(oplog.Invalid, "%s", err)
	}
	return f, nil
}

// timeOrZero returns a time of the log, or the zero time.
func timeOrZero(t time.Time) oplog.Time {
	if t.IsZero() {
		return 0
	}
	return oplog.At(t)
}

func resultOf(h index.Hit, explain bool) api.Result {
	m := h.Memory
	r := api.Result{Score: h.Score, Why: h.Why}
	if h.Corrected != 0 {
		r.Why = append(slices.Clip(r.Why), prompt.Corrected(h.Corrected.Time()))
	}
	if class := lowTrust(m.Trust); class != "" {
		r.Why = append(slices.Clip(r.Why), prompt.From(class))
	}
	showResult(m, &r)
	if explain {
		p := h.Parts
		r.Explained = &api.Explained{Shares: sharesOf(h), By: h.By.RID, Later: h.Later.RID,
			Against: api.Each(h.Against, func(a index.Against) string { return a.RID }), Reranked: (*api.Reranked)(h.Rerank),
			Factors: api.Factors{Fresh: p.Fresh, Importance: p.Importance, Recency: p.Recency, Decay: p.Decay, Trust: p.Trust},
			Parts: api.Parts{Words: p.Words, Passage: p.Passage, Around: p.Around, Session: p.Session, Factor: p.Factor,
				Speaker: p.Named, Date: p.Date, When: p.When, Vector: p.Vector,
				Lift: p.Lift, Graph: p.Graph, Relevance: p.Relevance, Alike: p.Alike}}
		showMore(m, r.Explained)
	}
	return r
}

// sharesOf divides a score by signal; the parts add up to the score.
func sharesOf(h index.Hit) api.Scores {
	return api.Scores(h.Parts.Shares(h.Score))
}

// hintEntities bounds the names in a hint.
const hintEntities = 5

// hints returns suggestions for a better question, if the answer's confidence is low.
func (s *Service) hints(c api.Caller, q *index.Query, hits []index.Hit) (list []api.Hint, err error) {
	top, created := make([]rank.Scored, len(hits)), make([]int64, len(hits))
	for i, h := range hits {
		top[i], created[i] = rank.Scored{Score: h.Score, Parts: h.Parts}, int64(h.Memory.Created)
	}
	hints := rank.Hints(index.Question(q.Text), top, created, func() (names []string) {
		err = s.state.Inspect(func(v *state.View) { names = namesIn(v, c.DB, q, hits) })
		return names
	})
	return api.Each(hints, func(h rank.Hint) api.Hint {
		return api.Hint{Type: h.Type, Suggestion: h.Suggestion, Related: h.Entities}
	}), err
}

// namesIn returns the first names in an answer. The rows of a bare answer are read for them.
func namesIn(v *state.View, db oplog.DB, q *index.Query, hits []index.Hit) (names []string) {
	for _, h := range hits {
		m, ok := h.Memory, true
		if q.Bare {
			m, ok = v.MemoryAt(db, m.Seq)
		}
		if !ok || q.Bare && !q.Shows(m) {
			continue
		}
		for _, name := range m.Entities {
			if len(names) == hintEntities {
				return names
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Bounds of a page of a streamed answer: so many rows, or the first that together have so many bytes. Each page is
// read from one view of the state.
const (
	pageRows  = 16
	pageBytes = 512 << 10
)

// pages reads an answer's memories while it is sent, best first. So a large answer is never in memory as a whole, and
// a slow client holds no view of the state open. Memories that were forgotten since the ranking, or no longer pass the
// question's filter, are left out.
func (s *Service) pages(ctx context.Context, c api.Caller, f *index.Filter, hits []index.Hit, explain bool) func(yield func([]api.Result, error) bool) {
	return func(yield func([]api.Result, error) bool) {
		for len(hits) > 0 {
			var rows []api.Result
			err := s.state.Read(func(v *state.View) error {
				for bytes := 0; len(hits) > 0 && len(rows) < pageRows && bytes < pageBytes; hits = hits[1:] {
					h := hits[0]
					m, ok := v.MemoryAt(c.DB, h.Memory.Seq)
					if !ok {
						return fmt.Errorf("memory %d of the index is not in the state", h.Memory.Seq)
					}
					if bytes += m.Weight(); !c.Hold.FitsFirst(bytes) {
						return errManyAnswers
					}
					if h.Memory, h.Corrected = m, v.Corrected(c.DB, m); f.Shows(m) {
						row := resultOf(h, explain)
						if explain {
							row.Origins = origins(v, c, m)
						}
						rows = append(rows, row)
					}
				}
				return ctx.Err()
			})
			if !yield(rows, err) || err != nil {
				return
			}
		}
	}
}
