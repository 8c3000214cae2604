package node

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// recallRow is one result: exactly these keys, for clients that take the row for a record's arguments.
type recallRow struct {
	RID        string          `json:"rid"`
	Text       string          `json:"text"`
	Type       string          `json:"memory_type"`
	Score      float64         `json:"score"`
	Importance float64         `json:"importance"`
	Created    float64         `json:"created_at"`
	Why        []string        `json:"why_retrieved"`
	Metadata   json.RawMessage `json:"metadata"`
	Namespace  string          `json:"namespace"`
	Domain     string          `json:"domain"`
	Source     string          `json:"source"`
	Certainty  float64         `json:"certainty"`
	Valence    float64         `json:"valence"`
}

// explained is a row with what only those get who ask for it.
type explained struct {
	recallRow
	Emotion *string `json:"emotional_state"`
	Session string  `json:"session_id"`
	Status  string  `json:"status"`
	Shares  shares  `json:"scores"`
	Factors factors `json:"factors"`
	Parts   parts   `json:"parts"`
}

// shares is how much of a score each signal brought: they add up to it.
type shares struct {
	Words   float64 `json:"words"`
	Passage float64 `json:"passage"`
	Around  float64 `json:"around"`
	Session float64 `json:"session"`
	Vector  float64 `json:"vector"`
	Graph   float64 `json:"graph"`
}

// parts is what relevance was computed from: see rank.Parts.
type parts struct {
	Words     float64 `json:"words"`
	Passage   float64 `json:"passage"`
	Around    float64 `json:"around"`
	Session   float64 `json:"session"`
	Factor    float64 `json:"factor"`
	Speaker   bool    `json:"speaker"`
	Date      float64 `json:"date"`
	Vector    float64 `json:"vector"`
	WordsZ    float64 `json:"words_z"`
	VectorZ   float64 `json:"vector_z"`
	Graph     float64 `json:"graph"`
	Relevance float64 `json:"relevance"`
	Alike     float64 `json:"alike"`
}

// factors is what relevance was multiplied by, and how far the memory had faded.
type factors struct {
	Fresh      float64 `json:"fresh"`
	Importance float64 `json:"importance"`
	Valence    float64 `json:"valence"`
	Recency    float64 `json:"recency"`
	Decay      float64 `json:"decay"`
}

func sharesOf(h index.Hit) shares {
	p := h.Parts
	sum := p.Words + p.Passage + p.Around + p.Session + p.Vector + p.Graph
	if sum <= 0 {
		return shares{}
	}
	part := func(v float64) float64 { return v / sum * h.Score }
	return shares{part(p.Words), part(p.Passage), part(p.Around), part(p.Session), part(p.Vector), part(p.Graph)}
}

func partsOf(h index.Hit) parts {
	p := h.Parts
	return parts{p.Words, p.Passage, p.Around, p.Session, p.Factor, p.Named, p.Date, p.Vector, p.WordsZ, p.VectorZ, p.Graph, p.Relevance, p.Alike}
}

func metadata(m *oplog.Memory) json.RawMessage {
	if len(m.Metadata) == 0 {
		return json.RawMessage("{}")
	}
	return m.Metadata
}

func httpRow(h index.Hit, explain bool) any {
	m := h.Memory
	row := recallRow{RID: m.RID, Text: m.Text, Type: m.Type, Score: h.Score, Importance: m.Importance, Created: m.Created.Seconds(), Why: h.Why,
		Metadata: metadata(m), Namespace: m.Namespace, Domain: m.Domain, Source: m.Source, Certainty: m.Certainty, Valence: m.Valence}
	if !explain {
		return row
	}
	return explained{recallRow: row, Emotion: orNil(m.Emotion), Session: m.Session, Status: m.Status.String(), Shares: sharesOf(h),
		Factors: factors{h.Parts.Fresh, h.Parts.Importance, h.Parts.Valence, h.Parts.Recency, h.Parts.Decay}, Parts: partsOf(h)}
}

func httpQuery(f fields) (index.Query, error) {
	text, err := f.must("query")
	if err != nil {
		return index.Query{}, err
	}
	q := index.Query{Text: text, K: int(min(f.whole("top_k", 10), math.MaxInt32)), Namespace: strings.TrimSpace(f.str("namespace", "")), Domain: f.str("domain", ""),
		Source: f.str("source", ""), Consolidated: f.flag("include_consolidated", false), Expand: f.flag("expand_entities", true), Session: f.str("session_id", ""), Vector: f.vector("query_embedding"),
		Quiet: f.flag("skip_reinforce", false), Diverse: f.flag("diverse", false), MinScore: f.num("min_score", 0)}
	q.Without, _ = decoded[[]string](f, "without")
	if q.K > index.MaxK {
		return q, &statusError{status: http.StatusBadRequest, code: "invalid_request", err: oplog.Errorf(oplog.Invalid, "top_k is %d: at most %d", q.K, index.MaxK),
			more: map[string]any{"reason": "top_k", "hard_top_k_cap": index.MaxK}}
	}
	if t := f.str("memory_type", ""); t != "" {
		q.Types = []string{t}
	}
	if raw := f.raw("time_window"); raw != nil {
		from, to, err := field.WindowJSON(raw)
		if err != nil {
			return q, oplog.Errorf(oplog.Invalid, "time_window: %s", err)
		}
		q.Since, q.Until = atOrNone(from), atOrNone(to)
	}
	return q, nil
}

// atOrNone is a time of the log, zero for none.
func atOrNone(t time.Time) oplog.Time {
	if t.IsZero() {
		return 0
	}
	return oplog.At(t)
}

func httpRecall(g *gateway, q *request) (any, error) {
	query, err := httpQuery(q.body)
	if err != nil {
		return nil, err
	}
	fr, err := q.newEnough()
	if err != nil {
		return nil, err
	}
	then := q.body.date("as_of")
	streams := strings.Contains(q.r.Header.Get("Accept"), "text/event-stream") && then.IsZero() // the past is looked at as a whole
	query.Bare = streams
	ctx, cancel := waiting(q.r.Context(), fr)
	defer cancel()
	a, err := g.s.RecallThen(ctx, q.c, query, then, fr)
	if err != nil {
		return nil, replicaBehind(fr, err)
	}
	explain := q.body.flag("explain", false)
	if streams {
		return streamed{}, g.streamHits(q, a, query.Text, explain)
	}
	rows := make([]any, len(a.Hits))
	for i, h := range a.Hits {
		rows[i] = httpRow(h, explain)
	}
	end := recallEnd(a, query.Text, len(rows))
	end["results"] = rows
	return end, nil
}

// recallEnd is what is said of an answer as a whole.
func recallEnd(a Answer, question string, total int) map[string]any {
	return map[string]any{"total": total, "fallback": nil, "confidence": a.Info.Confidence, "hints": hints(a, question), "index": a.Index, "lag_seconds": a.Lag,
		"considered": a.Info.Considered, "below_min_score": a.Info.Below}
}

// hintEntities bounds the names a hint offers.
const hintEntities = 5

// hints say how to ask better, when the answer is not to be trusted.
func hints(a Answer, question string) []rank.Hint {
	top, created, names := make([]rank.Scored, len(a.Hits)), make([]int64, len(a.Hits)), []string{}
	for i, h := range a.Hits {
		top[i], created[i] = rank.Scored{Score: h.Score, Parts: h.Parts}, int64(h.Memory.Created)
		for _, name := range h.Memory.Entities {
			if len(names) < hintEntities && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if list := rank.Hints(index.Question(question), a.Info.Confidence, top, created, names); list != nil {
		return list
	}
	return []rank.Hint{}
}

// streamPage is how many rows of a streamed answer are read at one view of the state.
const streamPage = 16

// streamHits sends rows as they are read, best first: neither does a client wait for the last row to see the first, nor
// is a large answer ever held as a whole. A client that reads slowly holds no view of the state open; one that takes
// nothing for writeTimeout is cut off. What was forgotten since the ranking is left out.
func (g *gateway) streamHits(q *request, a Answer, question string, explain bool) error {
	out, sent := newSSE(q.w), 0
	for page := range slices.Chunk(a.Hits, streamPage) {
		if err := g.s.readHits(q.r.Context(), q.c, page); err != nil {
			e := g.said(err)
			_ = out.event("", "error", failure{e.Text, kindCodes[e.Kind]})
			return nil
		}
		for _, h := range page {
			if h.Memory.Status == oplog.Tombstoned {
				continue
			}
			if out.event("", "result", httpRow(h, explain)) != nil {
				return nil // the client left
			}
			sent++
		}
	}
	_ = out.event("", "end", recallEnd(a, question, sent))
	return nil
}

// readHits fills in the memories of bare hits.
func (s *Service) readHits(ctx context.Context, c Caller, hits []index.Hit) error {
	return s.read(ctx, c, Stale, func(v *oplog.View) error {
		for i, h := range hits {
			m, ok := v.MemoryAt(c.DB, h.Memory.Seq)
			if !ok {
				return fmt.Errorf("memory %d of the index is not in the state", h.Memory.Seq)
			}
			hits[i].Memory = m
		}
		return nil
	})
}
