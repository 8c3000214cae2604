package node

import (
	"context"
	"encoding/json"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

func (ss *session) relate(ctx context.Context, m *wire.Relate) (*wire.RelateOK, error) {
	id, w, err := ss.w.s.Relate(ctx, ss.who(), m.Entity, m.Relationship, m.Target, m.Weight)
	if err != nil {
		return nil, err
	}
	return &wire.RelateOK{EdgeID: id, Index: uint64(w.Index)}, nil
}

func (ss *session) edges(ctx context.Context, m *wire.Entity) (*wire.EdgesResult, error) {
	edges, err := ss.w.s.Edges(ctx, ss.who(), m.Entity, Stale)
	if err != nil {
		return nil, err
	}
	r := &wire.EdgesResult{Edges: []wire.Edge{}}
	for _, e := range edges {
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
	if m.Polarity < -1 || m.Polarity > 1 {
		return nil, oplog.Errorf(oplog.Invalid, "polarity is 1, 0 or -1")
	}
	id, w, err := ss.w.s.Claim(ctx, ss.who(), oplog.Claim{Namespace: m.Namespace, Src: m.Src, Type: m.RelType, Dst: m.Dst,
		Polarity: int8(m.Polarity), Modality: m.Modality, ValidFrom: m.ValidFrom, ValidTo: m.ValidTo, Extractor: m.Extractor,
		Version: text(m.ExtractorVersion), Band: m.ConfidenceBand, SourceRID: text(m.SourceMemoryRID), SpanStart: m.SpanStart,
		SpanEnd: m.SpanEnd, Weight: m.Weight})
	if err != nil {
		return nil, err
	}
	return &wire.ClaimOK{ClaimID: id, Namespace: m.Namespace, Index: uint64(w.Index)}, nil
}

func (ss *session) claims(ctx context.Context, m *wire.Claims) (*wire.ClaimsResult, error) {
	claims, err := ss.w.s.Claims(ctx, ss.who(), m.Entity, m.Namespace, Stale)
	if err != nil {
		return nil, err
	}
	r := &wire.ClaimsResult{Claims: []wire.ClaimRow{}}
	for _, c := range claims {
		status := "active"
		if c.Polarity < 0 {
			status = "negative"
		}
		r.Claims = append(r.Claims, wire.ClaimRow{ClaimID: c.ID, ConfidenceBand: c.Band, CreatedAt: c.At.Seconds(), Dst: c.Dst,
			Extractor: c.Extractor, Modality: c.Modality, Namespace: c.Namespace, Polarity: int(c.Polarity), RelType: c.Type,
			SourceMemoryRID: orNil(c.SourceRID), Src: c.Src, StatusSuggestion: status, ValidFrom: c.ValidFrom, ValidTo: c.ValidTo, Weight: c.Weight})
	}
	return r, nil
}

func (ss *session) alias(ctx context.Context, m *wire.Alias) (*wire.AliasOK, error) {
	added, w, err := ss.w.s.Alias(ctx, ss.who(), oplog.Alias{Namespace: m.Namespace, Alias: m.Alias, Canonical: m.CanonicalName, Source: m.Source})
	if err != nil {
		return nil, err
	}
	return &wire.AliasOK{Added: added, Alias: m.Alias, CanonicalName: m.CanonicalName, Namespace: m.Namespace, Index: uint64(w.Index)}, nil
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
	st, err := ss.w.s.Stats(ctx, ss.who(), Stale)
	if err != nil {
		return nil, err
	}
	return &wire.Stats{ActiveMemories: st.Active, ConsolidatedMemories: st.Consolidated, Edges: st.Edges, Entities: st.Entities,
		OpenConflicts: st.OpenConflicts, Operations: st.Operations, PendingTriggers: st.PendingTriggers, TombstonedMemories: st.Tombstoned}, nil
}
