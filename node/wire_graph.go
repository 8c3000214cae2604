package node

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

func (ss *session) relate(ctx context.Context, m *wire.Relate) (*wire.RelateOK, error) {
	a, err := api.Relate.Do(ctx, ss.w.s, ss.who(), &api.RelateRequest{Src: m.Entity, Type: m.Relationship, Dst: m.Target, Weight: m.Weight})
	if err != nil {
		return nil, err
	}
	return &wire.RelateOK{EdgeID: a.ID, Index: uint64(a.Index)}, nil
}

func (ss *session) edges(ctx context.Context, m *wire.Entity) (*wire.EdgesResult, error) {
	a, err := api.Edges.Do(ctx, ss.w.s, ss.who(), &api.EdgesRequest{Entity: m.Entity})
	if err != nil {
		return nil, err
	}
	r := &wire.EdgesResult{Edges: []wire.Edge{}}
	for _, e := range a.Edges {
		r.Edges = append(r.Edges, wire.Edge{Dst: e.Dst, EdgeID: e.ID, RelType: e.Type, Src: e.Src, Weight: e.Weight})
	}
	return r, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (ss *session) claim(ctx context.Context, m *wire.Claim) (*wire.ClaimOK, error) {
	a, err := api.Claim.Do(ctx, ss.w.s, ss.who(), &api.ClaimRequest{Namespace: m.Namespace, Src: m.Src, Type: m.RelType, Dst: m.Dst, Polarity: m.Polarity, Modality: m.Modality,
		ValidFrom: dateOf(m.ValidFrom), ValidTo: dateOf(m.ValidTo), Extractor: m.Extractor, Version: text(m.ExtractorVersion), Band: m.ConfidenceBand,
		SourceRID: text(m.SourceMemoryRID), SpanStart: m.SpanStart, SpanEnd: m.SpanEnd, Weight: m.Weight})
	if err != nil {
		return nil, err
	}
	return &wire.ClaimOK{ClaimID: a.ID, Namespace: m.Namespace, Index: uint64(a.Index)}, nil
}

// dateOf is a date of the protocol, none for nil.
func dateOf(seconds *float64) (d field.Date) {
	if seconds != nil {
		d.Time, _ = field.Unix(*seconds) // it was checked
	}
	return d
}

func (ss *session) claims(ctx context.Context, m *wire.Claims) (*wire.ClaimsResult, error) {
	ns := m.Namespace
	if ns == "default" { // what clients send that say nothing: all
		ns = ""
	}
	a, err := api.Claims.Do(ctx, ss.w.s, ss.who(), &api.ClaimsRequest{Entity: m.Entity, Namespace: ns})
	if err != nil {
		return nil, err
	}
	r := &wire.ClaimsResult{Claims: []wire.ClaimRow{}}
	for _, c := range slices.Backward(a.Claims) { // this protocol has the oldest first, and knows two of the suggestions
		status := "active"
		if c.Polarity < 0 {
			status = "negative"
		}
		r.Claims = append(r.Claims, wire.ClaimRow{ClaimID: c.ID, ConfidenceBand: c.Band, CreatedAt: c.Created, Dst: c.Dst,
			Extractor: c.Extractor, Modality: c.Modality, Namespace: c.Namespace, Polarity: c.Polarity, RelType: c.Type,
			SourceMemoryRID: c.SourceRID, Src: c.Src, StatusSuggestion: status, ValidFrom: c.ValidFrom, ValidTo: c.ValidTo, Weight: c.Weight})
	}
	return r, nil
}

func (ss *session) alias(ctx context.Context, m *wire.Alias) (*wire.AliasOK, error) {
	a, err := api.Alias.Do(ctx, ss.w.s, ss.who(), &api.AliasRequest{Namespace: m.Namespace, Alias: m.Alias, Canonical: m.CanonicalName, Source: m.Source})
	if err != nil {
		return nil, err
	}
	return &wire.AliasOK{Added: a.Added, Alias: m.Alias, CanonicalName: m.CanonicalName, Namespace: m.Namespace, Index: uint64(a.Index)}, nil
}

func (ss *session) sessionStart(ctx context.Context, m *wire.SessionStart) (*wire.SessionStarted, error) {
	a, err := api.StartSession.Do(ctx, ss.w.s, ss.who(), &api.StartSessionRequest{ID: m.SessionID, Namespace: m.Namespace, Client: m.ClientID, Metadata: json.RawMessage(m.Metadata)})
	if err != nil {
		return nil, err
	}
	return &wire.SessionStarted{SessionID: a.ID, Index: uint64(a.Index)}, nil
}

func (ss *session) sessionEnd(ctx context.Context, m *wire.SessionEnd) (*wire.SessionEnded, error) {
	a, err := api.EndSession.Do(ctx, ss.w.s, ss.who(), &api.EndSessionRequest{ID: m.SessionID, Summary: text(m.Summary)})
	if err != nil {
		return nil, err
	}
	return &wire.SessionEnded{DurationSecs: a.Duration, MemoryCount: int(a.Memories), SessionID: a.ID, Topics: a.Topics, Index: uint64(a.Index)}, nil
}

func (ss *session) stats(ctx context.Context) (*wire.Stats, error) {
	st, err := api.Stats.Do(ctx, ss.w.s, ss.who(), &api.StatsRequest{})
	if err != nil {
		return nil, err
	}
	return &wire.Stats{ActiveMemories: st.Active, ConsolidatedMemories: st.Consolidated, Edges: st.Edges, Entities: st.Entities,
		OpenConflicts: st.Conflicts, Operations: st.Operations, PendingTriggers: st.Triggers, TombstonedMemories: st.Tombstoned}, nil
}
