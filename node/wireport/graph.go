package wireport

import (
	"encoding/json"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
)

func toRelate(m *wire.Relate) (*api.RelateRequest, error) {
	return &api.RelateRequest{Src: m.Entity, Type: m.Relationship, Dst: m.Target, Weight: m.Weight}, nil
}

func fromRelated(_ *wire.Relate, a *api.Related) *wire.RelateOK {
	return &wire.RelateOK{EdgeID: a.ID, Index: uint64(a.Index)}
}

func toEdges(m *wire.Entity) (*api.EdgesRequest, error) {
	return &api.EdgesRequest{Entity: m.Entity}, nil
}

func fromEdges(_ *wire.Entity, a *api.EdgeList) *wire.EdgesResult {
	r := &wire.EdgesResult{Edges: []wire.Edge{}}
	for _, e := range a.Edges {
		r.Edges = append(r.Edges, wire.Edge{Dst: e.Dst, EdgeID: e.ID, RelType: e.Type, Src: e.Src, Weight: e.Weight})
	}
	return r
}

func toClaim(m *wire.Claim) (*api.ClaimRequest, error) {
	return &api.ClaimRequest{Namespace: m.Namespace, Src: m.Src, Type: m.RelType, Dst: m.Dst, Polarity: m.Polarity, Modality: m.Modality,
		ValidFrom: dateOf(m.ValidFrom), ValidTo: dateOf(m.ValidTo), Extractor: m.Extractor, Version: text(m.ExtractorVersion), Band: m.ConfidenceBand,
		SourceRID: text(m.SourceMemoryRID), SpanStart: m.SpanStart, SpanEnd: m.SpanEnd, Weight: m.Weight}, nil
}

func fromClaimed(m *wire.Claim, a *api.Claimed) *wire.ClaimOK {
	return &wire.ClaimOK{ClaimID: a.ID, Namespace: m.Namespace, Index: uint64(a.Index)}
}

func toClaims(m *wire.Claims) (*api.ClaimsRequest, error) {
	ns := m.Namespace
	if ns == "default" { // what clients send that say nothing: all
		ns = ""
	}
	return &api.ClaimsRequest{Entity: m.Entity, Namespace: ns}, nil
}

// fromClaims has the oldest first, and two of the suggestions, as this protocol knows them.
func fromClaims(_ *wire.Claims, a *api.ClaimList) *wire.ClaimsResult {
	r := &wire.ClaimsResult{Claims: []wire.ClaimRow{}}
	for _, c := range slices.Backward(a.Claims) {
		status := "active"
		if c.Polarity < 0 {
			status = "negative"
		}
		r.Claims = append(r.Claims, wire.ClaimRow{ClaimID: c.ID, ConfidenceBand: c.Band, CreatedAt: c.Created, Dst: c.Dst,
			Extractor: c.Extractor, Modality: c.Modality, Namespace: c.Namespace, Polarity: c.Polarity, RelType: c.Type,
			SourceMemoryRID: c.SourceRID, Src: c.Src, StatusSuggestion: status, ValidFrom: c.ValidFrom, ValidTo: c.ValidTo, Weight: c.Weight})
	}
	return r
}

func toAlias(m *wire.Alias) (*api.AliasRequest, error) {
	return &api.AliasRequest{Namespace: m.Namespace, Alias: m.Alias, Canonical: m.CanonicalName, Source: m.Source}, nil
}

func fromAliased(m *wire.Alias, a *api.Aliased) *wire.AliasOK {
	return &wire.AliasOK{Added: a.Added, Alias: m.Alias, CanonicalName: m.CanonicalName, Namespace: m.Namespace, Index: uint64(a.Index)}
}

func toStartSession(m *wire.SessionStart) (*api.StartSessionRequest, error) {
	return &api.StartSessionRequest{ID: m.SessionID, Namespace: m.Namespace, Client: m.ClientID, Metadata: json.RawMessage(m.Metadata)}, nil
}

func fromStartedSession(_ *wire.SessionStart, a *api.StartedSession) *wire.SessionStarted {
	return &wire.SessionStarted{SessionID: a.ID, Index: uint64(a.Index)}
}

func toEndSession(m *wire.SessionEnd) (*api.EndSessionRequest, error) {
	return &api.EndSessionRequest{ID: m.SessionID, Summary: text(m.Summary)}, nil
}

func fromEndedSession(_ *wire.SessionEnd, a *api.EndedSession) *wire.SessionEnded {
	return &wire.SessionEnded{DurationSecs: a.Duration, MemoryCount: int(a.Memories), SessionID: a.ID, Topics: a.Topics, Index: uint64(a.Index)}
}
