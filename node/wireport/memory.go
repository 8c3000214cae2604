package wireport

import (
	"context"
	"encoding/json"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

func toDraft(m *wire.Remember) api.Draft {
	return api.Draft{Text: m.Text, Type: m.MemoryType, Importance: m.Importance, HalfLife: m.HalfLife, Valence: m.Valence,
		Certainty: m.Certainty, Namespace: m.Namespace, Domain: m.Domain, Source: m.Source, Metadata: json.RawMessage(m.Metadata), Tier: m.Tier,
		Session: m.SessionID, Speaker: m.Speaker, Due: dated(m.DueAt), Temporal: m.TemporalKind, Created: dated(m.CreatedAt), Embedding: m.Embedding,
		Emotion: text(m.EmotionalState)}
}

// dated is a date of the protocol, none for 0.
func dated(s float64) field.Date { return field.Date{Time: field.UnixOrNone(s)} }

// dateOf is a date of the protocol, none for nil.
func dateOf(seconds *float64) (d field.Date) {
	if seconds != nil {
		d.Time, _ = field.Unix(*seconds) // it was checked
	}
	return d
}

// text is a text that may be left out.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func toRemember(m *wire.Remember) (*api.RememberRequest, error) {
	d := toDraft(m)
	d.Key = m.IdempotencyKey
	return &api.RememberRequest{Draft: d}, nil
}

func fromRemembered(_ *wire.Remember, a *api.Remembered) *wire.RememberOK {
	return &wire.RememberOK{RID: a.RID, Index: uint64(a.Index)}
}

func toRememberBatch(m *wire.RememberBatch) (*api.RememberBatchRequest, error) {
	q := &api.RememberBatchRequest{Memories: make([]api.Draft, len(m.Memories)), Whole: m.IdempotencyKey}
	for i := range m.Memories {
		q.Memories[i] = toDraft(&m.Memories[i])
	}
	return q, nil
}

func fromRememberedBatch(_ *wire.RememberBatch, a *api.RememberedBatch) *wire.RememberBatchOK {
	return &wire.RememberBatchOK{RIDs: a.RIDs, Index: uint64(a.Index)}
}

func toForget(m *wire.Forget) (*api.ForgetRequest, error) { return &api.ForgetRequest{RID: m.RID}, nil }

func fromForgot(m *wire.Forget, a *api.Forgotten) *wire.ForgetOK {
	return &wire.ForgetOK{Found: a.Found, RID: m.RID, Index: uint64(a.Index)}
}

// recall answers with a frame a memory, and one more.
func (ss *session) recall(ctx context.Context, c api.Caller, f wire.Frame) error {
	var m wire.Recall
	if err := ss.unpack(f, &m); err != nil {
		return err
	}
	q, err := toRecall(&m)
	if err != nil {
		return err
	}
	a, err := api.Recall.Do(ctx, ss.w.cfg.Door, c, q)
	if err != nil {
		return err
	}
	return ss.replyAll(f, len(a.Results)+1, func(i int) (wire.Op, wire.Message) {
		if i < len(a.Results) {
			return wire.OpRecallResult, fromResult(&a.Results[i])
		}
		return wire.OpRecallEnd, &wire.RecallEnd{Total: a.Total, Confidence: a.Confidence,
			Index: uint64(a.Index), LagSeconds: a.Lag, Considered: uint64(a.Considered), BelowMinScore: uint64(a.Below)}
	})
}

func toRecall(m *wire.Recall) (*api.RecallRequest, error) {
	window := field.Window{From: field.UnixOrNone(m.Since), To: field.UnixOrNone(m.Until)}
	if err := field.Ordered("since", window.From, "until", window.To); err != nil {
		return nil, oplog.Errorf(oplog.Invalid, "%s", err)
	}
	switch m.Consistency {
	case "", "stale", "linearizable":
	default:
		return nil, oplog.Errorf(oplog.Invalid, "consistency %q: stale, linearizable, or a min_index", m.Consistency)
	}
	return &api.RecallRequest{AsOf: dated(m.AsOf), Fresh: api.Fresh{Consistency: m.Consistency, MinIndex: m.MinIndex},
		Question: api.Question{Text: m.Query, Embedding: m.QueryEmbedding, K: m.TopK, Types: m.Types, Type: text(m.MemoryType), Namespace: text(m.Namespace), Domain: text(m.Domain),
			Source: text(m.Source), Session: m.Session, Consolidated: m.IncludeConsolidated, Expand: m.ExpandEntities, Quiet: m.SkipReinforce, Without: m.Without, Diverse: m.Diverse,
			MinScore: m.MinScore, Window: window}}, nil
}

func fromResult(r *api.Result) *wire.RecallResult {
	return &wire.RecallResult{Certainty: r.Certainty, CreatedAt: r.Created, Domain: r.Domain, Importance: r.Importance,
		MemoryType: r.Type, Metadata: wire.JSON(r.Metadata), Namespace: r.Namespace, RID: r.RID, Score: r.Score, Source: r.Source,
		Text: r.Text, Valence: r.Valence, WhyRetrieved: r.Why}
}
