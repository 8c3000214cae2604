package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/wire/field"
)

// Bounds of a request; oplog bounds the stored values.
const (
	MaxText     = oplog.MaxText
	MaxBatch    = 10_000
	MaxMetadata = oplog.MaxMetadata
	MaxDim      = oplog.MaxDim
	MaxReason   = 4096
	maxName     = oplog.MaxName

	mostHalfLife = 146 * 365 * 86400 // seconds
)

// storeResult holds the ids that drafts got, their index in the log, and the kinds of secrets that were removed.
type storeResult struct {
	RIDs     []string
	Redacted []string
	Held     int // memories that wait in quarantine
	Written
}

// store stores all drafts, or none. key may be empty.
func (s *Service) store(ctx context.Context, c api.Caller, key string, drafts ...api.Draft) (storeResult, error) {
	return s.storeCompared(ctx, c, key, false, drafts)
}

// storeCompared stores drafts and, if compare is set, reports which older memories they supersede.
func (s *Service) storeCompared(ctx context.Context, c api.Caller, key string, compared bool, drafts []api.Draft) (storeResult, error) {
	if len(drafts) > MaxBatch {
		return storeResult{}, oplog.Errorf(oplog.TooLarge, "batch of %d memories is over %d", len(drafts), MaxBatch)
	}
	secrets, err := s.redactor(c.DB)
	if err != nil {
		return storeResult{}, err
	}
	secrets.drafts(drafts)
	w := write{key: key}
	if key != "" {
		w.digest = digestDrafts(drafts)
	}
	ops, err := s.prepareDrafts(ctx, c, drafts)
	if err != nil {
		return storeResult{}, err
	}
	if compared {
		if err := s.supersede(ctx, c.DB, ops); err != nil {
			return storeResult{}, err
		}
	}
	held := 0
	for _, op := range ops {
		if w.ops = append(w.ops, op); op.Held {
			held++
		}
	}
	out, err := s.propose(ctx, c, w)
	if err == nil && compared {
		err = s.addEarlierSuperseded(c.DB, &out)
	}
	return storeResult{Held: held, RIDs: api.Each(out.Results, func(r oplog.Result) string { return r.ID }),
		Redacted: secrets.found.Kinds(), Written: out}, err
}

// digestDrafts returns a digest of the client's drafts, without the ids and times that differ in a retry.
func digestDrafts(drafts []api.Draft) []byte {
	parts := make([]any, 0, 3*len(drafts))
	for _, d := range drafts {
		parts = append(parts, d.Text, d.Namespace, d.Type)
	}
	return digest(parts...)
}

// checkSize rejects a value with more bytes than its bound.
func checkSize(what string, size, most int) error {
	if size > most {
		return oplog.Errorf(oplog.TooLarge, "%s of %d bytes is over %d", what, size, most)
	}
	return nil
}

// checkFinite rejects NaN and the infinities.
func checkFinite(what string, x float64) error {
	if !(math.Abs(x) <= oplog.MaxNumber) {
		return oplog.Errorf(oplog.Invalid, "%s is not a finite number", what)
	}
	return nil
}

var copyDraft = api.Carry[api.Draft, oplog.Content]()

// makeRemember returns the operation of a draft. It decides the id and the times, which Apply must not decide, and
// rejects drafts that can never succeed.
func makeRemember(d *api.Draft, now time.Time, dim int) (*oplog.Remember, error) {
	if strings.TrimSpace(d.Text) == "" && d.History == nil {
		return nil, oplog.Errorf(oplog.Invalid, "text: want words, got a blank text")
	}
	err := cmp.Or(checkSize("text", len(d.Text), MaxText), checkSize("metadata", len(d.Metadata), MaxMetadata))
	if err != nil {
		return nil, err
	}
	if len(d.Metadata) > 0 && !json.Valid(d.Metadata) {
		return nil, oplog.Errorf(oplog.Invalid, "metadata is not valid JSON")
	}
	for _, f := range [...]struct{ name, value string }{{"namespace", d.Namespace}, {"domain", d.Domain}, {"source", d.Source},
		{"memory_type", d.Type}, {"emotional_state", d.Emotion}, {"session_id", d.Session}, {"tier", d.Tier},
		{"rid", d.RID}, {"owner", d.Owner}, {"speaker", d.Speaker}, {"temporal_kind", d.TemporalKind}, {"writer", d.Writer},
		{"dialect", d.Dialect}, {"agent", d.Agent}} {
		if err := checkSize(f.name, len(f.value), maxName); err != nil {
			return nil, err
		}
	}
	if d.Path != "" {
		if err := checkKey(d.Path); err != nil {
			return nil, err
		}
	}
	if len(d.Key) > field.MaxKey+maxKeySuffix {
		return nil, oplog.Errorf(oplog.Invalid, "idempotency key of %d bytes is over %d", len(d.Key), field.MaxKey)
	}
	if err := cmp.Or(checkFinite("importance", d.Importance), checkFinite("valence", d.Valence), checkFinite("certainty", d.Certainty),
		CheckVector(d.Embedding, dim)); err != nil {
		return nil, err
	}
	op := &oplog.Remember{Vector: oplog.MakeVector(d.Embedding), Key: d.Key}
	copyDraft(d, &op.Content)
	if op.Attributes, err = canonicalAttributes(d.Attributes); err != nil {
		return nil, err
	}
	op.Namespace, op.Created, op.Updated = cmp.Or(op.Namespace, "default"), cmp.Or(op.Created, oplog.At(now)), oplog.At(now)
	if op.RID == "" {
		op.RID = oplog.NewID()
	}
	if op.Key != "" {
		op.Digest = digestDrafts([]api.Draft{*d})
	}
	if d.History != nil {
		return op, historyOf(op, d)
	}
	op.HalfLife = max(0, min(op.HalfLife, mostHalfLife))
	return op, nil
}

// canonicalAttributes returns the stored form of attributes; nil for none.
func canonicalAttributes(attributes []byte) ([]byte, error) {
	b, err := filter.Canonical(attributes)
	if err != nil {
		return nil, oplog.Errorf(oplog.Invalid, "attributes: %s", err)
	}
	return b, nil
}

// CheckVector rejects a vector whose dimension differs from the database's; dim 0 means that the database has no
// vectors yet.
func CheckVector(v []float32, dim int) error {
	if len(v) == 0 {
		return nil
	}
	if len(v) > MaxDim {
		return oplog.Errorf(oplog.Invalid, "embedding of %d dimensions is over %d", len(v), MaxDim)
	}
	if dim != 0 && len(v) != dim {
		return oplog.Errorf(oplog.Invalid, "embedding has %d dimensions, the database has %d", len(v), dim)
	}
	for _, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return oplog.Errorf(oplog.Invalid, "embedding holds a number that is not finite")
		}
	}
	return nil
}

// An Answer holds the results of a recall, best first.
type Answer struct {
	Hits  []index.Hit
	Info  index.Info
	Index oplog.Index // the answer reflects the log up to here
	Lag   *float64    // seconds this node was behind the leader; nil when it heard none
	api.Bounded
}

// search finds memories. The door has waited for the freshness that the request asks for.
func (s *Service) search(ctx context.Context, c api.Caller, q index.Query) (Answer, error) {
	q.Text = index.Question(q.Text)
	s.load.asking.Add(1)
	defer s.load.asking.Add(-1)
	now, err := s.state.Current(c.DB)
	if err != nil {
		return Answer{}, err
	}
	q.Spaces = c.Spaces
	if err := CheckVector(q.Vector, int(now.Database.Dim)); err != nil {
		return Answer{}, err
	}
	if err := s.vectors.Question(ctx, now, &q); err != nil {
		return Answer{}, err
	}
	if l := now.Weights; l != nil {
		q.Weights = &rank.Weights{Sim: l.Sim, Decay: l.Decay, Recency: l.Recency, GateTau: l.GateTau, AlphaImp: l.AlphaImp,
			KeywordBoost: l.KeywordBoost, Generation: l.Generation}
	}
	a := Answer{Index: s.commit.Indexed(), Lag: s.cluster.LagSeconds()}
	searching := time.Now()
	if q.Now.IsZero() {
		q.Now = s.now()
	}
	done, err := s.acquireReader(ctx, c)
	if err != nil {
		return a, err
	}
	q.Room = c.Hold.Fits
	a.Hits, a.Info, err = s.index.Search(ctx, c.DB, q)
	done()
	if err == nil && len(a.Hits) == 0 && a.Info.Cut > 0 {
		err = errManyAnswers
	}
	s.observeStage("search", searching)
	if err == nil && q.Deep > 0 {
		a.Hits = s.rerankHits(ctx, c, &q, a.Hits)
	}
	if err == nil && !c.Quiet && !q.Quiet && !q.Lists() { // a list reinforces nothing
		s.reinforcer.noteRecall(c.DB, a.Hits, searching)
		s.questions.note(c.DB, cmp.Or(q.Namespace, c.Spaces.First()), q.Text, a.Hits, searching)
	}
	return a, err
}
