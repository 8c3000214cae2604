package node

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
)

func (ss *session) think(ctx context.Context, m *wire.Think) (*wire.ThinkResult, error) {
	a, err := api.Think.Do(ctx, ss.w.s, ss.who(), &api.ThinkRequest{Personality: m.RunPersonality, Limit: m.ConsolidationLimit,
		ThinkParts: api.ThinkParts{Consolidate: m.RunConsolidation, Conflicts: m.RunConflictScan, Patterns: m.RunPatternMining}})
	if err != nil {
		return nil, err
	}
	r := &wire.ThinkResult{ConflictsFound: int(a.Conflicts), ConsolidationCount: int(a.Merged), DurationMS: uint64(a.Millis),
		PatternsNew: int(a.New), PatternsUpdated: int(a.Updated), PersonalityUpdated: a.Personality, Triggers: []wire.Trigger{}}
	for _, t := range a.Triggers {
		r.Triggers = append(r.Triggers, wire.Trigger{Reason: t.Reason, SourceRIDs: t.Sources, SuggestedAction: t.Action, TriggerType: t.Type, Urgency: t.Urgency})
	}
	return r, nil
}

func (ss *session) conflicts(ctx context.Context, m *wire.Conflicts) (*wire.ConflictResult, error) {
	a, err := api.Conflicts.Do(ctx, ss.w.s, ss.who(), &api.ConflictsRequest{Status: text(m.Status), Type: text(m.ConflictType), Entity: text(m.Entity), Limit: m.Limit})
	if err != nil {
		return nil, err
	}
	r := &wire.ConflictResult{Conflicts: []wire.Conflict{}}
	for _, c := range a.Conflicts {
		r.Conflicts = append(r.Conflicts, wire.Conflict{ConflictID: c.ID, ConflictType: c.Type, DetectedAt: c.Detected, DetectionReason: c.Reason,
			Entity: c.Entity, MemoryA: c.A, MemoryB: c.B, Priority: c.Priority, Status: c.Status})
	}
	return r, nil
}

func (ss *session) resolve(ctx context.Context, m *wire.Resolve) (*wire.Resolved, error) {
	_, err := api.Resolve.Do(ctx, ss.w.s, ss.who(), &api.ResolveRequest{ID: m.ConflictID, Strategy: m.Strategy, Winner: text(m.WinnerRID), NewText: text(m.NewText), Note: text(m.ResolutionNote)})
	if err != nil {
		return nil, err
	}
	return &wire.Resolved{ConflictID: m.ConflictID, Strategy: m.Strategy}, nil
}

func (ss *session) personality(ctx context.Context) (*wire.Personality, error) {
	a, err := api.Personality.Do(ctx, ss.w.s, ss.who(), &api.PersonalityRequest{})
	if err != nil {
		return nil, err
	}
	r := &wire.Personality{Traits: []wire.Trait{}}
	for _, t := range a.Traits {
		r.Traits = append(r.Traits, wire.Trait{Name: t.Name, Score: t.Score})
	}
	return r, nil
}
